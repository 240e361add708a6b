// An unknown version of NCCL, compared with forecasts for each single version.
#include "fabricast/report/versions.hpp"

#include <catch2/catch.hpp>

#include "fabricast/report/report.hpp"
#include "fabricast/report/what_if.hpp"

namespace fabricast {
namespace {

/// Eight nodes like those of Polaris, where choices and times of NCCL 2.18 and 2.21.5 differed widely
/// [accuracy-study-7].
Forecast forecast(const std::string& version) {
  const auto world = build_world(
      parse_scenario("fabricast: 1\nnode: {gpu: a100-sxm, gpus: 4, intranode: nvlink_mesh, cpu: amd, "
                     "nics: {count: 2, rate: 200Gbps, link: slingshot}}\ncluster: {nodes: 8}\nnccl: {version: \"" +
                         version + "\"}\nworkload: {collective: all_reduce, sizes: [1MiB, 1GiB]}\n",
                     "s.yaml")
          .scenario);
  Forecast f = run_forecast(world);
  forecast_versions(f);
  return f;
}

TEST_CASE("a range of versions is forecast version by version", "[report]") {
  const Forecast old = forecast("2.18"), range = forecast("2.18-2.21.5"), recent = forecast("2.21.5");
  CHECK(old.rows[0].by_version.empty());
  CHECK(range.versions == std::vector<NcclVersion>{{2, 18, 0}, {2, 20, 0}});
  for (std::size_t r = 0; r < 2; ++r) {
    const ForecastRow& row = range.rows[r];
    REQUIRE(row.by_version.size() == 2);
    CHECK(row.time == recent.rows[r].time);  // the newest, as 2.8 is usual with A100
    CHECK(row.by_version[0].time == old.rows[r].time);
    CHECK(row.by_version[1].time == recent.rows[r].time);
    CHECK(fastest_version(row).time == std::min(old.rows[r].time, recent.rows[r].time));
    CHECK(slowest_version(row).time == std::max(old.rows[r].time, recent.rows[r].time));
  }
  // With the older constants, the tree with its 28 us per hop is not chosen.
  CHECK(range.rows[0].by_version[0].algorithm == Algorithm::ring);
  CHECK(range.rows[0].by_version[0].protocol == Protocol::ll);
  CHECK(range.rows[0].by_version[1].algorithm == Algorithm::tree);
  CHECK(range.rows[0].by_version[1].protocol == Protocol::simple);
}

TEST_CASE("on EFA versions differ by the OFI plugin, and reports name its tuner", "[report]") {
  const auto forecast_of = [](const std::string& nccl) {
    auto world = build_world(parse_scenario("fabricast: 1\nnode: {profile: p5}\ncluster: {nodes: 16}\nnccl: {" + nccl +
                                                "}\nworkload: {collective: all_reduce, sizes: [1GiB, 200GiB]}\n",
                                            "s.yaml")
                                 .scenario);
    Forecast f = run_forecast(world);
    forecast_versions(f);
    return std::pair(std::move(world), std::move(f));
  };
  const auto [world, range] = forecast_of("version: 2.18-2.19");
  CHECK(range.versions == std::vector<NcclVersion>{{2, 18, 0}, {2, 18, 5}, {2, 19, 0}});
  // NVLS is off in the first, and 1 GiB is in a region of rings with LL128 from 2.19 on.
  const std::vector<VersionTime>& by_version = range.rows[0].by_version;
  REQUIRE(by_version.size() == 3);
  CHECK(by_version[0].algorithm != Algorithm::nvlstree);
  CHECK(by_version[1].algorithm == Algorithm::nvlstree);
  CHECK(by_version[2].algorithm == Algorithm::ring);
  CHECK(by_version[2].protocol == Protocol::ll128);

  const auto count = [](const std::string& text, const std::string& part) {
    std::size_t found = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
    return found;
  };
  // 200 GiB is beyond all regions.
  CHECK(count(forecast_json(range), "\"chosen_by\": \"ofi_tuner\"") == 1);
  CHECK(count(forecast_text(range), "  (OFI tuner)\n") == 1);
  const auto [plain, own] = forecast_of("version: 2.19, env: {NCCL_TUNER_PLUGIN: none}");
  CHECK(count(forecast_json(own), "chosen_by") == 0);
  CHECK(count(forecast_text(own), "OFI tuner") == 0);
  // A run without the tuner is tried only where the tuner chose.
  const auto tries_without = [](const World& w, const Forecast& f) {
    for (const Alternatives& kind : trials_for({w, f, f}))
      for (const Trial& trial : kind)
        if (trial.set == std::vector<std::string>{"nccl.env.NCCL_TUNER_PLUGIN=none"}) return true;
    return false;
  };
  CHECK(tries_without(world, range));
  CHECK_FALSE(tries_without(plain, own));
  // The fastest, compared with the tuner's choice.
  const auto [best, fastest] = forecast_of("version: 2.21, selection: best");
  REQUIRE(fastest.rows[0].nccl);
  CHECK(fastest.rows[0].nccl->protocol == Protocol::ll128);
  CHECK(count(forecast_text(fastest), "(OFI tuner: ring/ll128, ") == 1);
}

}  // namespace
}  // namespace fabricast
