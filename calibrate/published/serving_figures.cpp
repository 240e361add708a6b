// Forecasts the scenario of a published row of serving, in the units of the tables.
//
// One scenario may have rows of several metrics, so all metrics that it determines are computed at once; 0 stands for
// those that it does not determine.
#include "fabricast/calibrate/published_serving_validation.hpp"
#include "fabricast/planner/search.hpp"
#include "fabricast/report/forecast.hpp"
#include "fabricast/report/inference.hpp"
#include "fabricast/report/step.hpp"

namespace fabricast {

namespace serving {

namespace {

constexpr double ms = 1e3;

double& of(ServingFigures& figures, ServingMetric metric) { return figures[static_cast<std::size_t>(metric)]; }

World world_of(const std::string& scenario, const std::string& id, const Hardware& hardware,
               const std::vector<std::string>& set = {}) {
  ReadResult read = parse_scenario(scenario, id, set);
  read.scenario.hardware = hardware;
  return build_world(std::move(read.scenario));
}

InferenceForecast forecast_of(const World& world) {
  try {
    require_memory(world);
  } catch (const UserError& error) {
    // The path of the message is a key of the model or the split; reports count the refusal under memory.
    Diagnostic first = error.diagnostics().front();
    first.path = "memory";
    throw UserError({std::move(first)});
  }
  return run_inference(world, one_thread, false);
}

ServingFigures of_requests(const InferenceForecast& f) {
  // Phase `both` has exactly one of the two.
  const Serving& s = *f.serving();
  ServingFigures figures{};
  of(figures, ServingMetric::tpot_ms) = milliseconds(s.inter_token.mean);
  of(figures, ServingMetric::itl_p50_ms) = milliseconds(s.inter_token_median);
  of(figures, ServingMetric::ttft_ms) = milliseconds(s.first_token.mean);
  of(figures, ServingMetric::latency_ms) = milliseconds(s.request.mean);
  of(figures, ServingMetric::out_tok_s) = s.tokens_per_second;
  of(figures, ServingMetric::out_tok_s_gpu) = s.tokens_per_second / static_cast<double>(f.gpus);
  of(figures, ServingMetric::req_s) = s.requests_per_second;
  if (f.disaggregated) of(figures, ServingMetric::kv_transfer_ms) = milliseconds(f.disaggregated->transfer);
  return figures;
}

/// A static batch: the prompts give one token each, and every further token takes a step.
ServingFigures of_batch(const InferenceForecast& decode, double prompts, const InferenceSpec& spec) {
  // T = prefill + (output - 1) t_step
  const double output = static_cast<double>(spec.output), step = decode.step.time.value;
  const double seconds = prompts + (output - 1) * step;
  const double sequences = static_cast<double>(spec.batch) * spec.parallel.data;
  ServingFigures figures{};
  of(figures, ServingMetric::tpot_ms) = ms * step;
  of(figures, ServingMetric::ttft_ms) = ms * prompts;
  of(figures, ServingMetric::latency_ms) = ms * seconds;
  of(figures, ServingMetric::out_tok_s) = sequences * output / seconds;
  of(figures, ServingMetric::req_s) = sequences / seconds;
  // Rows per GPU are of GPUs that only decode; the prompts ran elsewhere.
  of(figures, ServingMetric::out_tok_s_gpu) = decode.tokens_per_second / static_cast<double>(decode.gpus);
  return figures;
}

/// `outside` is the time that a request spends outside of passes (s).
ServingFigures of_prompts(const InferenceForecast& f, double outside) {
  ServingFigures figures{};
  of(figures, ServingMetric::ttft_ms) = ms * (outside + f.step.time.value);
  of(figures, ServingMetric::in_tok_s_gpu) = f.tokens_per_second / static_cast<double>(f.gpus);
  return figures;
}

}  // namespace

}  // namespace serving

ServingFigures serving_figures(const std::string& scenario, const std::string& id, const Hardware& hardware) {
  using namespace serving;
  const auto world = world_of(scenario, id, hardware);
  if (world.scenario().workload.kind == WorkloadKind::collective) {
    ServingFigures figures{};
    of(figures, ServingMetric::allreduce_us) = microseconds(run_forecast(world, one_thread).rows.front().time);
    return figures;
  }
  const InferenceSpec& spec = world.scenario().workload.inference;
  const InferenceForecast f = forecast_of(world);
  switch (spec.phase) {
    case InferencePhase::prefill:
      return of_prompts(
          f, find_serving_stack(world.scenario().hardware, spec.framework, spec.stack).request_fixed.us().value);
    case InferencePhase::both: return of_requests(f);
    case InferencePhase::all_reduce: {
      ServingFigures figures{};
      of(figures, ServingMetric::allreduce_us) = microseconds(f.step.time);
      return figures;
    }
    case InferencePhase::decode: break;
  }
  // The prompts of a static batch are one pass of phase prefill with the same batch.
  const auto prompts =
      world_of(scenario, id, hardware, {"workload.phase=prefill", "workload.batch=" + std::to_string(spec.batch)});
  return of_batch(f, run_inference(prompts, one_thread, false).step.time.value, spec);
}

}  // namespace fabricast
