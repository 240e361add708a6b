// Intervals of collectives: evaluates the distribution of errors for each row, given the measured rows of the site.
//
//    m       = median of ln(measured / forecast), given the measured rows
//    time    = time as simulated x exp(m)
//    factor  = exp(q_95 sqrt(v))               v: conditional scale, q_95: quantile of Student's t
//
// The distribution is residual/residual.hpp, what it needs to know of a row residual_rows.cpp, and the equations
// docs/models/intervals.md [Shah2014].
#include "fabricast/report/interval.hpp"

#include <cmath>

#include "fabricast/report/residual_rows.hpp"
#include "fabricast/report/unstated.hpp"

namespace fabricast {

namespace {

/// The measured row that informs a forecast most: of the same collective if there is one, then by distance in plan,
/// nodes and size.
KnownNear nearest(const MeasuredSite& site, const ForecastRow& row, CollectiveOp op, std::int64_t nodes) {
  const auto octaves = [](double a, double b) { return std::abs(std::log2(a / b)); };
  KnownNear best;
  double least = 0;
  for (const MeasuredSite::Row& known : site.rows) {
    KnownNear near{known.op, known.bytes, known.nodes,
                   known.algorithm == row.algorithm && known.protocol == row.protocol, 0};
    near.octaves = octaves(static_cast<double>(known.bytes), static_cast<double>(std::max<std::int64_t>(1, row.bytes)));
    // Another collective outweighs any distance. Another algorithm or protocol counts as ten octaves of size, an octave
    // of nodes as four. The choice is only shown to the user; the conditioning uses all measured rows with their
    // covariances.
    constexpr double other_op = 1000, other_plan = 10, per_node_octave = 4;
    const double distance = (known.op == op ? 0 : other_op) + (near.same_plan ? 0 : other_plan) + near.octaves +
                            per_node_octave * octaves(static_cast<double>(known.nodes), static_cast<double>(nodes));
    if (best.bytes == 0 || distance < least) {
      best = near;
      least = distance;
    }
  }
  return best;
}

// `result` and `nccl` stay as simulated, so that the breakdown still adds up and choices are compared on equal terms.
void scale_times(ForecastRow& row, double by) {
  row.time *= by;
  row.time_p5 *= by;
  row.time_p95 *= by;
  row.time_worst *= by;
  for (Seconds& time : row.sample_times) time *= by;
  for (VersionTime& version : row.by_version) version.time *= by;
}

}  // namespace

MeasuredSite measured_site(const ResidualModel& model, const std::vector<MeasuredSeries>& series,
                           const RunOptions& options) {
  std::vector<MeasuredSite::Row> rows;
  std::vector<ResidualRow> residual;
  std::vector<double> logs;
  for (std::size_t s = 0; s < series.size(); ++s) {
    const auto count = static_cast<double>(series.size());
    const RunOptions own = part_of(options, static_cast<double>(s) / count, static_cast<double>(s + 1) / count);
    const auto world = build_world(series[s].scenario);
    Forecast forecast = run_forecast(world, own);
    add_unstated(forecast, own);
    for (ResidualRow& row : residual_rows(forecast, own)) residual.push_back(std::move(row));
    for (std::size_t i = 0; i < forecast.rows.size(); ++i) {
      const ForecastRow& row = forecast.rows[i];
      rows.push_back({forecast.op, row.bytes, world.scenario().cluster.nodes, row.algorithm, row.protocol,
                      series[s].times[i], row.time});
      // The data y_i of the conditional distribution. Measured rows are compared with the forecast of their own
      // scenario, with its unstated inputs at their assumed values, exactly as the row asked for.
      logs.push_back(std::log(series[s].times[i] / row.time));
    }
  }
  // All series are of one site. Parameters of another GPU generation are others, so its rows say nothing about a
  // scenario with this one (tells_of).
  const std::string gpu = series.empty() ? std::string() : series.front().scenario.node.spec.gpu;
  return {std::move(rows), SiteResiduals(model, std::move(residual), logs), gpu};
}

MeasuredSite unmeasured_site(const ResidualModel& model) { return {{}, SiteResiduals(model, {}, {}), {}}; }

bool tells_of(const MeasuredSite& site, const Scenario& scenario) {
  return !site.rows.empty() && site.gpu == scenario.node.spec.gpu;
}

void add_intervals(Forecast& forecast, const MeasuredSite& site, const RunOptions& options) {
  const World& world = forecast.world;
  constexpr double own_part = 0.3;  // of the progress, for unstated inputs
  add_unstated(forecast, part_of(options, 0, own_part));
  const std::vector<Residual> known = site.residuals.of(residual_rows(forecast, part_of(options, own_part, 1)));
  for (std::size_t i = 0; i < forecast.rows.size(); ++i) {
    ForecastRow& row = forecast.rows[i];
    // The factor comes before the shift and is relative, so it holds for the shifted time as well.
    row.factor = std::exp(known[i].half_width());
    row.residual = known[i];
    if (site.rows.empty()) continue;
    row.near = nearest(site, row, forecast.op, world.scenario().cluster.nodes);
    row.level = std::exp(known[i].median);
    scale_times(row, row.level);
  }
}

void add_intervals(Forecast& forecast, const RunOptions& options) {
  add_intervals(forecast, unmeasured_site(), options);
}

}  // namespace fabricast
