// How far a forecast may be off: its 90 % interval, and what measured rows of the same site make of both.
//
// The distribution of ln(measured / forecast) is that of residual/residual.hpp. Without measured rows its median is the
// forecast. With some, it is conditioned on them: physical parameters stay as they are, times move by what the rows tell of
// that size, collective, algorithm and number of nodes, and intervals narrow near them. The chance of hashes is not part of
// it: percentiles over samples of the network tell that.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fabricast/report/forecast.hpp"
#include "fabricast/residual/residual.hpp"

namespace fabricast {

/// Measured rows of one collective on some hosts of a site.
struct MeasuredSeries {
  Scenario scenario;                     ///< of that collective and of these sizes
  std::vector<double> seconds;           ///< by size
  std::string from;                      ///< file or key, for messages
  std::vector<std::string> hosts, nics;  ///< by name, where a log tells them
};

/// Results of a size that the tool counted as wrong.
struct WrongRow {
  CollectiveOp op = CollectiveOp::all_reduce;
  std::int64_t bytes = 0, results = 0;
};

/// What is measured of a site, against its forecasts. Immutable, so that threads may share it.
struct MeasuredSite {
  struct Row {
    CollectiveOp op;
    std::int64_t bytes, nodes;
    Algorithm algorithm;
    Protocol protocol;
    double seconds, forecast;
  };
  std::vector<Row> rows;
  SiteResiduals residuals;
  std::string gpu;  ///< kind of its GPUs; empty: nothing is measured
};

/// \throws UserError if a series' scenario does not run
MeasuredSite measured_site(const ResidualModel& model, const std::vector<MeasuredSeries>& series,
                           const RunOptions& options = {});
/// Of which nothing is measured.
MeasuredSite unmeasured_site(const ResidualModel& model = shipped_residuals());

/// Whether what is measured tells of a scenario: rows of other GPUs do not.
bool tells_of(const MeasuredSite& site, const Scenario& scenario);

/// Fills in what is not stated, `factor`, and what measured rows tell; with such rows, moves all times of the row by it. The
/// same for any number of threads.
void add_intervals(const World& world, Forecast& forecast, const MeasuredSite& site, const RunOptions& options = {});
void add_intervals(const World& world, Forecast& forecast, const RunOptions& options = {});

}  // namespace fabricast
