// A NCCL version that is not known, against forecasts with each version by itself.
#include "fabricast/report/versions.hpp"

#include <catch2/catch.hpp>

namespace fabricast {
namespace {

/// Eight nodes as those of Polaris, where NCCL 2.18 and 2.21.5 chose and took so different times [accuracy-study-7].
Forecast forecast(const std::string& version) {
  const auto world = build_world(
      parse_scenario("fabricast: 1\nnode: {gpu: a100-sxm, gpus: 4, intranode: nvlink_mesh, cpu: amd, "
                     "nics: {count: 2, rate: 200Gbps, link: slingshot}}\ncluster: {nodes: 8}\nnccl: {version: \"" +
                         version + "\"}\nworkload: {collective: all_reduce, sizes: [1MiB, 1GiB]}\n",
                     "s.yaml")
          .scenario);
  Forecast f = run_forecast(*world);
  forecast_versions(*world, f);
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
  // The older constants keep the tree and its 28 us a hop from being chosen.
  CHECK(range.rows[0].by_version[0].algorithm == Algorithm::ring);
  CHECK(range.rows[0].by_version[0].protocol == Protocol::ll);
  CHECK(range.rows[0].by_version[1].algorithm == Algorithm::tree);
  CHECK(range.rows[0].by_version[1].protocol == Protocol::simple);
}

}  // namespace
}  // namespace fabricast
