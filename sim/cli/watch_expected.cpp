// Forecasts for communicators of a job. A shape that is seen for the first time takes as long as `fabricast run`.
#include "watch_expected.hpp"

#include <fmt/format.h>

#include <map>
#include <memory>
#include <tuple>

#include "fabricast/calibrate/measured.hpp"
#include "fabricast/core/error.hpp"
#include "fabricast/gate/gate.hpp"
#include "fabricast/report/forecast.hpp"

namespace fabricast {

namespace {

using Shape = std::tuple<CollectiveOp, std::int64_t, int, int>;

/// A table of one row, so that the scenario of its shape is made as for any log. Its time is judged and not used.
Imported one_row(CollectiveOp op, std::int64_t bytes, int ranks, int nodes) {
  LogTable table;
  table.tool = "inspector";
  table.operation = name_of(op);
  table.live = true;
  table.ranks = ranks;
  table.nodes = nodes;
  LogRow row;
  row.bytes = bytes;
  row.time_us = 1;
  table.rows.push_back(row);
  Imported log;
  log.tables.push_back(std::move(table));
  return log;
}

std::optional<live::Expected> expected_of(const World& world, const MeasuredSite& site, double probability,
                                          const Shape& shape) {
  const auto& [op, bytes, ranks, nodes] = shape;
  try {
    const std::vector<MeasuredSeries> series = series_of_log(one_row(op, bytes, ranks, nodes), "telemetry", world);
    const GateVerdict verdict = judge(series, site, probability);
    Forecast forecast = run_forecast(build_world(series.at(0).scenario));
    add_intervals(forecast, site);
    if (verdict.rows.empty() || forecast.rows.empty()) return std::nullopt;
    const GateJudgement& row = verdict.rows[0];
    const double bus = static_cast<double>(bytes) * bus_factor(op, ranks);
    return live::Expected{bus / row.expected.value, forecast.rows[0].factor, bus / row.ceiling.value};
  } catch (const UserError&) {
    // A communicator of another shape than whole nodes, or one that the scenario cannot run.
    return std::nullopt;
  }
}

}  // namespace

live::ExpectedOf expectations(const World& world, const MeasuredSite& site, double probability) {
  auto known = std::make_shared<std::map<Shape, std::optional<live::Expected>>>();
  return [&world, &site, probability, known](CollectiveOp op, std::int64_t bytes, int ranks, int nodes) {
    constexpr std::size_t most_shapes = 10'000;
    const Shape shape{op, bytes, ranks, nodes};
    if (const auto it = known->find(shape); it != known->end()) return it->second;
    if (known->size() >= most_shapes) return std::optional<live::Expected>();
    return known->emplace(shape, expected_of(world, site, probability, shape)).first->second;
  };
}

}  // namespace fabricast
