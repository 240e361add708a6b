// Forecasts for each version of NCCL that the scenario allows (report/versions.hpp). Only versions that change a rule of
// the model are run, and of neighbours with equal forecasts the oldest stands for all.
#include "fabricast/report/versions.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace fabricast {

namespace {

auto by_time = [](const VersionTime& a, const VersionTime& b) { return a.time < b.time; };

bool alike(const VersionTime& a, const VersionTime& b) {
  return a.time == b.time && a.algorithm == b.algorithm && a.protocol == b.protocol && a.channels == b.channels;
}

/// Drops each version whose rows are all those of the version before it.
void join_alike(Forecast& forecast) {
  for (std::size_t i = forecast.versions.size(); i-- > 1;) {
    const auto same = [i](const ForecastRow& row) { return alike(row.by_version[i - 1], row.by_version[i]); };
    if (!std::all_of(forecast.rows.begin(), forecast.rows.end(), same)) continue;
    const auto at = static_cast<std::ptrdiff_t>(i);
    forecast.versions.erase(forecast.versions.begin() + at);
    for (ForecastRow& row : forecast.rows) row.by_version.erase(row.by_version.begin() + at);
  }
}

}  // namespace

void forecast_versions(Forecast& forecast, const RunOptions& options) {
  const World& world = forecast.world;
  const NcclVersions versions = nccl_versions(world.scenario());
  if (versions.known()) return;
  forecast.versions = distinct_versions(versions, world.planner().comm.node.gpu.compute_capability);
  const NcclVersion main = main_version(world.scenario());
  for (std::size_t i = 0; i < forecast.versions.size(); ++i) {
    const NcclVersion from = forecast.versions[i];
    // The forecast itself is that of the main version, so its interval of versions needs no run of its own.
    const bool is_main = from <= main && (i + 1 == forecast.versions.size() || main < forecast.versions[i + 1]);
    Forecast other;
    if (!is_main) {
      Scenario scenario = world.scenario();
      scenario.nccl.version = fmt::format("{}.{}.{}", from.major, from.minor, from.patch);
      other = run_forecast(build_world(std::move(scenario)), options);
    }
    for (std::size_t r = 0; r < forecast.rows.size(); ++r) {
      ForecastRow& row = forecast.rows[r];
      const ForecastRow& that = is_main ? row : other.rows[r];
      row.by_version.push_back({from, that.time, that.algorithm, that.protocol, that.channels});
    }
  }
  join_alike(forecast);
}

const VersionTime& fastest_version(const ForecastRow& row) {
  return *std::min_element(row.by_version.begin(), row.by_version.end(), by_time);
}

const VersionTime& slowest_version(const ForecastRow& row) {
  return *std::max_element(row.by_version.begin(), row.by_version.end(), by_time);
}

}  // namespace fabricast
