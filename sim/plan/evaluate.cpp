#include "fabricast/plan/evaluate.hpp"

#include <fmt/format.h>

#include "fabricast/core/quantity.hpp"
#include "fabricast/plan/metric.hpp"
#include "fabricast/report/interval.hpp"
#include "fabricast/report/step_interval.hpp"

namespace fabricast {

namespace {

constexpr int digits = 10;

SizeResult size_result(const Forecast& forecast, const ForecastRow& row) {
  SizeResult size;
  size.bytes = row.bytes;
  size.time = rounded(row.time * 1e6, digits), size.time_p95 = rounded(row.time_p95 * 1e6, digits);
  size.time_worst = rounded(row.time_worst * 1e6, digits), size.interval = rounded(row.factor, digits);
  size.bus_bandwidth = rounded(forecast.bus_bandwidth(row) * 1e-9, digits);
  size.algorithm = name_of(row.algorithm), size.protocol = name_of(row.protocol);
  size.bottleneck = row.result.bottleneck.name;
  return size;
}

void forecast_into(SweepRow& row, const World& world, const EvaluateOptions& how) {
  RunOptions run;
  run.threads = how.threads;
  switch (world.scenario.workload.kind) {
    case WorkloadKind::collective: {
      Forecast forecast = run_forecast(world, run);
      if (how.intervals && world.scenario.network.engine == EngineKind::flow)
        add_intervals(world, forecast, interval_draws(world), run);
      for (const ForecastRow& size : forecast.rows) row.sizes.push_back(size_result(forecast, size));
      row.values = measure({world, &forecast, nullptr, nullptr});
      return;
    }
    case WorkloadKind::training_step: {
      require_memory(world);
      StepForecast step = run_step(world, run);
      if (how.intervals) add_interval(world, step, run);
      row.values = measure({world, nullptr, &step, nullptr});
      return;
    }
    case WorkloadKind::trace: {
      const StepForecast step = run_trace(world, run);
      row.values = measure({world, nullptr, &step, nullptr});
      return;
    }
    case WorkloadKind::inference: {
      require_memory(world);
      constexpr bool other_batches = false;
      const InferenceForecast forecast = run_inference(world, run, other_batches);
      row.values = measure({world, nullptr, nullptr, &forecast});
      return;
    }
  }
}

std::string reason(const UserError& e) {
  const Diagnostic& d = e.diagnostics().front();
  return (d.path.empty() ? "" : d.path + ": ") + d.message + (d.hint.empty() ? "" : " (" + d.hint + ")");
}

}  // namespace

SweepRow evaluate(const Study& study, std::size_t number, const EvaluateOptions& options) {
  SweepRow row;
  row.row = number;
  try {
    const auto world = build_world(scenario_of(study, number));
    forecast_into(row, *world, options);
    row.state = RowState::done;
  } catch (const UserError& e) {
    row = {number, RowState::refused, reason(e), {}, {}};
  }
  return row;
}

}  // namespace fabricast
