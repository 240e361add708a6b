// Floors and ceilings from the distribution of errors (gate/gate.hpp has the equations, docs/gate.md the use).
//
//    ceiling  = time that a healthy cluster exceeds with probability p       tails.hpp, over samples of ECMP
//    floor    = expected bandwidth x expected time / ceiling
#include "fabricast/gate/gate.hpp"

#include <fmt/format.h>

#include <cmath>

#include "fabricast/core/error.hpp"
#include "fabricast/report/harness.hpp"
#include "fabricast/scenario/trial.hpp"
#include "gate_rows.hpp"

namespace fabricast {

namespace {

// Each operation has its own plans and errors, so each has a world.
World world_of(const ScenarioChanges& changes, CollectiveOp op) {
  return build_world(changes.with({fmt::format("workload.collective={}", name_of(op))}));
}

/// The bandwidths of the rows are b_i e^(-y_i), with y a multivariate Student t. Because exp is convex, ln of their
/// mean is at least ln(mean b) - sum w_i y_i, where w_i is row i's share of the mean. That sum is a Student t whose
/// scale is at most sum w_i s_i. The result is therefore a lower bound of the mean's quantile for any correlation of
/// the rows. The mean of the rows' own floors would not be.
void fill_averages(GateSweep& sweep) {
  double sum = 0, logs = 0;
  for (const GateRow& row : sweep.rows) {
    sum += row.expected_bandwidth.value;
    logs += row.expected_bandwidth.value * std::log(row.ceiling / row.expected);
  }
  sweep.expected_average = BytesPerSecond{sum / static_cast<double>(sweep.rows.size())};
  sweep.floor_average = sweep.expected_average * std::exp(-logs / sum);
}

/// The number of sizes from `first` on that grow by one integer factor, and that factor.
/// nccl-tests multiplies the size by `-f`, a whole number, from `-b` up to `-e` [nccl-tests-min-bw]. Sizes that it
/// cannot reach in this way need another run.
std::pair<std::size_t, std::int64_t> steps_from(const std::vector<const GateRow*>& rows, std::size_t first) {
  if (first + 1 == rows.size() || rows[first + 1]->asked % rows[first]->asked != 0) return {1, 1};
  const std::int64_t factor = rows[first + 1]->asked / rows[first]->asked;
  if (factor < 2) return {1, 1};
  std::size_t last = first + 1;
  while (last + 1 < rows.size() && rows[last + 1]->asked == rows[last]->asked * factor) ++last;
  return {last + 1 - first, factor};
}

}  // namespace

std::vector<GateRow> gate_rows(const World& world, const Forecast& forecast, double probability) {
  const HarnessSpec& harness = world.scenario().workload.harness;
  std::vector<GateRow> rows;
  for (const ForecastRow& row : forecast.rows) {
    GateRow g;
    g.op = forecast.op;
    g.asked = row.bytes;
    g.bytes = row.plan.bytes;
    g.expected = row.time;
    g.ceiling = time_exceeded_by(*row.residual, row.sample_times, probability);
    g.expected_bandwidth = forecast.bus_bandwidth(row);
    g.floor_bandwidth = g.expected_bandwidth * (g.expected / g.ceiling);
    // How much of the variance the measurements of this site have removed.
    g.known = row.residual->stated;
    // A size that the tool rounds to nothing has a row here, but none in its table, and must not count for the mean.
    g.printed = harness_calls(harness, forecast.op, forecast.ranks, row.bytes);
    rows.push_back(g);
  }
  return rows;
}

Forecast forecast_with_residuals(const World& world, const MeasuredSite& site, const RunOptions& options) {
  if (world.scenario().network.engine != EngineKind::flow)
    throw UserError::at("network.engine", "floors need the flow engine", "--set network.engine=flow");
  // Of the progress: the forecast itself. Derivatives for the intervals take the rest.
  constexpr double own_part = 0.3;
  Forecast forecast = run_forecast(world, part_of(options, 0, own_part));
  add_intervals(forecast, site, part_of(options, own_part, 1));
  return forecast;
}

std::vector<GateSweep> sweeps_of(const std::vector<GateRow>& rows) {
  std::vector<const GateRow*> called;
  for (const GateRow& row : rows)
    if (row.printed) called.push_back(&row);
  std::vector<GateSweep> sweeps;
  for (std::size_t first = 0; first < called.size();) {
    const auto [count, factor] = steps_from(called, first);
    GateSweep sweep;
    sweep.op = called[first]->op;
    sweep.from = called[first]->asked;
    sweep.to = called[first + count - 1]->asked;
    sweep.factor = factor;
    for (std::size_t i = first; i < first + count; ++i) sweep.rows.push_back(*called[i]);
    fill_averages(sweep);
    sweeps.push_back(std::move(sweep));
    first += count;
  }
  return sweeps;
}

Gate gate_of(const World& world, const std::vector<CollectiveOp>& operations, const MeasuredSite& site,
             double probability, const RunOptions& options) {
  Gate gate;
  gate.world = world;
  gate.probability = probability;
  gate.measured = site.rows.size();
  const ScenarioChanges changes(world.scenario());
  const auto count = static_cast<double>(operations.size());
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const auto at = static_cast<double>(i);
    const auto own = world_of(changes, operations[i]);
    const Forecast forecast = forecast_with_residuals(own, site, part_of(options, at / count, (at + 1) / count));
    const std::vector<GateRow> rows = gate_rows(own, forecast, probability);
    gate.rows.insert(gate.rows.end(), rows.begin(), rows.end());
    // Another tool has no command line to print.
    if (world.scenario().workload.harness.tool != Tool::nccl_tests) continue;
    for (GateSweep& sweep : sweeps_of(rows)) gate.sweeps.push_back(std::move(sweep));
  }
  return gate;
}

}  // namespace fabricast
