// Forecasts one row of a study (plan/evaluate.hpp): a world from the row's keys, its bill and cost, the traffic of
// other jobs, risk if it is wanted, and the forecast of the workload. A configuration that does not fit in memory is
// refused before anything is simulated.
#include "fabricast/plan/evaluate.hpp"

#include <fmt/format.h>

#include "fabricast/bill/cost.hpp"
#include "fabricast/core/quantity.hpp"
#include "fabricast/jobs/others.hpp"
#include "fabricast/plan/metric.hpp"
#include "fabricast/report/interval.hpp"
#include "fabricast/report/step_interval.hpp"

namespace fabricast {

namespace {

constexpr int digits = 10;  // as in measure(): the same text on every machine

SizeResult size_result(const Forecast& forecast, const ForecastRow& row) {
  SizeResult size;
  size.bytes = row.bytes;
  size.time = rounded(microseconds(row.time), digits);
  size.time_p95 = rounded(microseconds(row.time_p95), digits);
  size.time_worst = rounded(microseconds(row.time_worst), digits);
  size.interval = rounded(row.factor, digits);
  size.bus_bandwidth = rounded(gigabytes_per_second(forecast.bus_bandwidth(row)), digits);
  size.algorithm = name_of(row.algorithm);
  size.protocol = name_of(row.protocol);
  size.bottleneck = row.result.bottleneck.name;
  return size;
}

/// Runs the forecast of the workload and reads all metrics from it, before it goes out of scope.
void forecast_into(SweepRow& row, Measured& measured, const EvaluateOptions& how) {
  const World& world = measured.world;
  RunOptions run;
  run.threads = how.threads;
  // Metrics are read while the forecast lives. Keeping all forecasts of a study would take too much memory.
  const auto done = [&](auto Measured::*part, const auto& forecast) {
    measured.*part = &forecast;
    row.values = measure(measured);
  };
  switch (world.scenario().workload.kind) {
    case WorkloadKind::collective: {
      Forecast forecast = run_forecast(world, run);
      if (how.intervals && world.scenario().network.engine == EngineKind::flow)
        add_intervals(forecast, how.site && tells_of(*how.site, world.scenario()) ? *how.site : unmeasured_site(), run);
      for (const ForecastRow& size : forecast.rows) row.sizes.push_back(size_result(forecast, size));
      return done(&Measured::collective, forecast);
    }
    case WorkloadKind::training_step: {
      StepForecast step = run_step(world, run);
      if (how.intervals) add_interval(step, run);
      return done(&Measured::step, step);
    }
    case WorkloadKind::trace: return done(&Measured::step, run_trace(world, run));
    case WorkloadKind::inference: {
      // The batches are a table of the report of one scenario; no metric reads them.
      constexpr bool other_batches = false;
      return done(&Measured::inference, run_inference(world, run, other_batches));
    }
  }
}

/// Why a row is refused: the first error with its hint.
/// A configuration may have many faults. The first one, with its hint, is enough in a table.
std::string reason(const UserError& e) {
  const Diagnostic& d = e.diagnostics().front();
  return (d.path.empty() ? "" : d.path + ": ") + d.message + (d.hint.empty() ? "" : " (" + d.hint + ")");
}

}  // namespace

SweepRow evaluate(const Study& study, std::size_t number, const EvaluateOptions& options) {
  SweepRow row;
  row.row = number;
  try {
    const World alone = build_world(scenario_of(study, number));
    require_memory(alone);
    const auto prices = alone.scenario().prices.empty() ? std::nullopt : std::optional(prices_of(alone.scenario()));
    const Bill bill = bill_of(alone, prices ? &*prices : nullptr);
    const auto cost = prices ? std::optional(cost_of(bill, *prices)) : std::nullopt;
    RunOptions others;
    others.threads = options.threads;
    const World world = with_others(alone, others);
    Measured measured{world};
    measured.bill = &bill;
    measured.cost = cost ? &*cost : nullptr;
    const auto risk = options.risk ? std::optional(assess(world, quick_risk())) : std::nullopt;
    measured.risk = risk ? &*risk : nullptr;
    forecast_into(row, measured, options);
    row.state = RowState::done;
    // A refused row has no values at all, even if its bill was computed before the fault.
  } catch (const UserError& e) { row = {number, RowState::refused, reason(e), {}, {}}; }
  return row;
}

}  // namespace fabricast
