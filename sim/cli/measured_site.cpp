// Collects the measurements of a site from all places where they may be, and compares them with their forecasts
// (report/interval.hpp).
#include "measured_site.hpp"

#include <fmt/format.h>

#include "fabricast/calibrate/measured.hpp"
#include "fabricast/core/file.hpp"
#include "log_file.hpp"

namespace fabricast {

namespace {

/// The files of the fitted profiles that the scenario uses.
std::vector<std::string> profiles_of(const Scenario& scenario) {
  std::vector<std::string> files;
  for (const std::string* file : {&scenario.node.spec.profile, &scenario.profile})
    if (file->ends_with(".json")) files.push_back(beside(scenario.file, *file));
  return files;
}

void append(std::vector<MeasuredSeries>& list, std::vector<MeasuredSeries> more) {
  for (MeasuredSeries& series : more) list.push_back(std::move(series));
}

}  // namespace

void add_measured_option(Options& options) {
  options.add()(
      "measured", takes_many("FILE")->multitoken(),
      "measurements of this site, on which forecasts are conditioned: logs of nccl-tests, cases (JSON), or CSV "
      "of bytes,time_us");
}

MeasuredSite site_of(const Options& options, const World& world, const RunOptions& how,
                     const std::vector<std::string>& further) {
  std::vector<MeasuredSeries> series;
  std::vector<std::string> files = options.list("measured");
  files.insert(files.end(), further.begin(), further.end());
  for (const std::string& path : files) {
    append(series, holds_cases(beginning_of(path)) ? series_of_cases(read_cases(path), world)
                                                   : series_of_log(read_log(path), path, world));
  }
  const bool collective = world.scenario().workload.kind == WorkloadKind::collective;
  if (!series.empty() && !collective)
    throw UserError("--measured is for collectives, but the workload is not a collective",
                    "`fabricast calibrate fit` makes a profile from measured collectives");
  // Steps are affected by the parameters of a profile only.
  if (!collective) return unmeasured_site();
  append(series, series_of_scenario(world));
  if (!series.empty() && world.scenario().network.engine != EngineKind::flow)
    throw UserError::at("network.engine", "only forecasts of the flow engine can be conditioned on measured rows",
                        "leave out the measured rows, or use --set network.engine=flow");
  // A fitted profile keeps the cases that it was fitted to. Its parameters are in the hardware already; its rows
  // condition what the parameters leave open.
  for (const std::string& path : profiles_of(world.scenario()))
    append(series, series_of_cases(cases_in_profile(read_file(path), path), world));
  return measured_site(shipped_residuals(), series, how);
}

}  // namespace fabricast
