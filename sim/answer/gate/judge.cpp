// Verdicts on logs: each measured row against the ceiling of its own size and number of nodes (gate/gate.hpp).
//
// `site` should not contain the judged rows: a distribution conditioned on a slow row expects slow rows.
#include <algorithm>

#include "fabricast/gate/gate.hpp"
#include "gate_rows.hpp"

namespace fabricast {

std::size_t GateVerdict::below() const {
  return static_cast<std::size_t>(
      std::count_if(rows.begin(), rows.end(), [](const GateJudgement& row) { return row.below(); }));
}

GateVerdict judge(const std::vector<MeasuredSeries>& measured, const MeasuredSite& site, double probability,
                  const RunOptions& options) {
  GateVerdict verdict;
  verdict.probability = probability;
  const auto count = static_cast<double>(measured.size());
  for (std::size_t s = 0; s < measured.size(); ++s) {
    const auto at = static_cast<double>(s);
    const auto world = build_world(measured[s].scenario);
    const Forecast forecast = forecast_with_residuals(world, site, part_of(options, at / count, (at + 1) / count));
    const std::vector<GateRow> rows = gate_rows(world, forecast, probability);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const ForecastRow& row = forecast.rows[i];
      GateJudgement judged;
      judged.op = rows[i].op;
      judged.bytes = rows[i].asked;
      judged.nodes = world.scenario().cluster.nodes;
      judged.measured = measured[s].times[i];
      judged.expected = rows[i].expected;
      judged.ceiling = rows[i].ceiling;
      // The bus factor cancels: bandwidth scales with the inverse of the time.
      judged.bandwidth = rows[i].expected_bandwidth * (judged.expected / judged.measured);
      judged.floor_bandwidth = rows[i].floor_bandwidth;
      judged.chance = share_slower(*row.residual, row.sample_times, judged.measured);
      judged.from = measured[s].from;
      verdict.rows.push_back(std::move(judged));
    }
  }
  return verdict;
}

}  // namespace fabricast
