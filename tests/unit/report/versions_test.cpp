// An unknown version of NCCL, compared with forecasts for each single version.
#include "fabricast/report/versions.hpp"

#include <algorithm>
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
  const Forecast old = forecast("2.18.1"), range = forecast("2.18.1-2.21.5"), recent = forecast("2.21.5");
  CHECK(old.rows[0].by_version.empty());
  REQUIRE(range.versions == std::vector<NcclVersion>{{2, 18, 1}, {2, 18, 3}, {2, 19, 0}});
  for (std::size_t r = 0; r < 2; ++r) {
    const ForecastRow& row = range.rows[r];
    REQUIRE(row.by_version.size() == range.versions.size());
    CHECK(row.time == recent.rows[r].time);  // the newest, as 2.8 is usual with A100
    CHECK(row.by_version.front().time == old.rows[r].time);
    CHECK(row.by_version.back().time == recent.rows[r].time);
    for (const VersionTime& v : row.by_version) {
      CHECK(fastest_version(row).time <= v.time);
      CHECK(slowest_version(row).time >= v.time);
    }
  }
  // 2.18.3 states 14 us for a tree's hop over the network, the releases before it and until 2.22 state 28 us.
  const std::vector<VersionTime>& small = range.rows[0].by_version;
  CHECK(small[0].algorithm == Algorithm::ring);
  CHECK(small[0].protocol == Protocol::ll);
  CHECK(small[1].algorithm == Algorithm::tree);
  CHECK(small[1].protocol == Protocol::simple);
  CHECK(small[2].algorithm == Algorithm::ring);
  CHECK(small[2].protocol == Protocol::ll);
}

// Independent of the list of changes: every release that NVIDIA tagged is forecast on its own.
TEST_CASE("releases between two entries are forecast alike", "[report]") {
  const std::vector<std::string> releases = {
      "2.7.8",  "2.8.3",  "2.8.4",  "2.9.6",  "2.9.9",  "2.10.3", "2.11.4", "2.12.7", "2.12.12", "2.13.4",
      "2.14.3", "2.15.1", "2.15.5", "2.16.2", "2.16.5", "2.17.1", "2.18.1", "2.18.3", "2.18.5",  "2.18.6",
      "2.19.1", "2.19.3", "2.19.4", "2.20.3", "2.20.5", "2.21.5", "2.22.3", "2.23.4", "2.24.3",  "2.25.1",
      "2.26.2", "2.26.5", "2.27.3", "2.27.5", "2.27.6", "2.27.7", "2.28.3", "2.28.7", "2.28.9",  "2.29.2",
      "2.29.3", "2.29.7", "2.30.3", "2.30.4", "2.30.7", "2.31.1", "2.32.3"};
  const auto forecast_of = [](const std::string& node, const std::string& version, const std::string& op) {
    Forecast f = run_forecast(build_world(parse_scenario("fabricast: 1\nnode: {profile: " + node +
                                                             "}\ncluster: {nodes: 4}\nnccl: {version: \"" + version +
                                                             "\"}\nworkload: {collective: " + op +
                                                             ", sizes: [8KiB, 512KiB, 4MiB, 64MiB, 1GiB]}\n",
                                                         "s.yaml")
                                              .scenario));
    forecast_versions(f);
    return f;
  };
  for (const std::string node : {"hgx-a100", "hgx-h100", "hgx-b200"})
    for (const std::string op : {"all_reduce", "all_gather", "broadcast", "alltoall"}) {
      const Forecast all = forecast_of(node, "unknown", op);
      for (const std::string& release : releases) {
        const NcclVersion version = *parse_nccl_version(release);
        if (version < all.versions.front()) continue;
        INFO(node << " " << op << " " << release);
        const auto after = std::upper_bound(all.versions.begin(), all.versions.end(), version);
        const auto entry = static_cast<std::size_t>(after - all.versions.begin()) - 1;
        const Forecast one = forecast_of(node, release, op);
        for (std::size_t r = 0; r < one.rows.size(); ++r) {
          CHECK(one.rows[r].time == all.rows[r].by_version[entry].time);
          CHECK(one.rows[r].algorithm == all.rows[r].by_version[entry].algorithm);
          CHECK(one.rows[r].channels == all.rows[r].by_version[entry].channels);
        }
      }
    }
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
  CHECK(range.versions == std::vector<NcclVersion>{{2, 18, 0}, {2, 18, 3}, {2, 18, 5}, {2, 19, 0}});
  // NVLS is off in the first, and 1 GiB is in a region of rings with LL128 from 2.19 on.
  const std::vector<VersionTime>& by_version = range.rows[0].by_version;
  REQUIRE(by_version.size() == 4);
  CHECK(by_version[0].algorithm != Algorithm::nvlstree);
  CHECK(by_version[2].algorithm == Algorithm::nvlstree);
  CHECK(by_version[3].algorithm == Algorithm::ring);
  CHECK(by_version[3].protocol == Protocol::ll128);

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
