// Forecasts for each version of NCCL that the scenario allows (report/versions.hpp). Only versions between which the
// model differs are run: of those that behave alike, the oldest stands for all.
#include "fabricast/report/versions.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace fabricast {

void forecast_versions(Forecast& forecast, const RunOptions& options) {
  const World& world = forecast.world;
  const NcclVersions versions = nccl_versions(world.scenario());
  if (versions.known()) return;
  forecast.versions =
      distinct_versions(versions, world.scenario().workload.buffers, world.planner().ofi != OfiPlatform::none);
  const NcclVersion main = main_version(world.scenario());
  for (std::size_t i = 0; i < forecast.versions.size(); ++i) {
    const NcclVersion from = forecast.versions[i];
    // The forecast itself is that of the main version, so its interval of versions needs no run of its own.
    const bool is_main = from <= main && (i + 1 == forecast.versions.size() || main < forecast.versions[i + 1]);
    Forecast other;
    if (!is_main) {
      Scenario scenario = world.scenario();
      scenario.nccl.version = fmt::format("{}.{}.{}", from.major, from.minor, from.patch);
      other = run_forecast(build_world(std::move(scenario), world.searches()), options);
    }
    for (std::size_t r = 0; r < forecast.rows.size(); ++r) {
      ForecastRow& row = forecast.rows[r];
      const ForecastRow& that = is_main ? row : other.rows[r];
      row.by_version.push_back({from, that.time, that.algorithm, that.protocol, that.channels});
    }
  }
}

namespace {

auto by_time = [](const VersionTime& a, const VersionTime& b) { return a.time < b.time; };

}  // namespace

const VersionTime& fastest_version(const ForecastRow& row) {
  return *std::min_element(row.by_version.begin(), row.by_version.end(), by_time);
}

const VersionTime& slowest_version(const ForecastRow& row) {
  return *std::max_element(row.by_version.begin(), row.by_version.end(), by_time);
}

}  // namespace fabricast
