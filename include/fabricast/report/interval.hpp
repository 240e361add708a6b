// How far a forecast may be off: its 90 % interval, conditioned on measured rows of the same site.
//
// ln(measured / forecast) has the distribution of residual/residual.hpp. Without measured rows, its median is 0: the
// forecast stays as it is. With measured rows, the distribution is conditioned on them. Times shift by the median for
// their size, collective, algorithm and number of nodes, and intervals become narrower near measured rows. The physical
// parameters do not change.
//
// Variation by random ECMP hashes is not part of the interval. The percentiles over samples show it.
//
// Results do not depend on the number of threads. The functions may run concurrently on one World and one MeasuredSite.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fabricast/report/forecast.hpp"
#include "fabricast/residual/residual.hpp"

namespace fabricast {

/// Measured rows of one collective on some hosts of a site.
struct MeasuredSeries {
  Scenario scenario;                     ///< with that collective and the measured sizes
  std::vector<Seconds> times;            ///< one per size of the scenario
  std::string from;                      ///< file or key, for messages
  std::vector<std::string> hosts, nics;  ///< names, if a log contains them
  std::vector<int> lines = {};           ///< of the times in that file, by row; empty: not in a file
  bool live = false;                     ///< telemetry of a job: a time begins when the last rank joins
};

/// Results of a size that the benchmark tool counted as wrong.
struct WrongRow {
  CollectiveOp op = CollectiveOp::all_reduce;
  std::int64_t bytes = 0, results = 0;
};

/// The measured rows of a site, compared with their forecasts. Immutable; threads may share it.
struct MeasuredSite {
  /// A measured size, with its forecast.
  struct Row {
    CollectiveOp op{};
    std::int64_t bytes = 0, nodes = 0;
    Algorithm algorithm{};
    Protocol protocol{};
    Seconds measured, forecast;
  };
  std::vector<Row> rows;
  SiteResiduals residuals;  ///< the distribution, conditioned on the rows
  std::string gpu;          ///< the kind of its GPUs; empty: nothing is measured
};

/// Forecasts the measured rows and conditions the distribution on them.
/// \throws UserError if the scenario of a series cannot run; Interrupted on Ctrl-C
MeasuredSite measured_site(const ResidualModel& model, const std::vector<MeasuredSeries>& series,
                           const RunOptions& options = {});
/// A site without measured rows.
MeasuredSite unmeasured_site(const ResidualModel& model = shipped_residuals());

/// Whether the measured rows say something about a scenario: whether there are any, from the same kind of GPU.
bool tells_of(const MeasuredSite& site, const Scenario& scenario);

/// Sets `factor` and `residual` of each row, and `unstated` of the forecast. With measured rows it also sets `near` and
/// `level`, and multiplies all times of the row by `level`, except those of `result` and `nccl`. A second call would
/// shift the times again. Whether the site informs the scenario is not checked (tells_of).
void add_intervals(Forecast& forecast, const MeasuredSite& site, const RunOptions& options = {});
/// The same without measured rows.
void add_intervals(Forecast& forecast, const RunOptions& options = {});

}  // namespace fabricast
