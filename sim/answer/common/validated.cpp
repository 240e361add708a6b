// Sentences on what a step's forecast rests on without any measurement (report/validated.hpp). Origins are the word
// `guess` in the source of a parameter (origin_of); fits replace the source, so a fitted value is no longer a guess.
#include "fabricast/report/validated.hpp"

#include <fmt/format.h>

#include "fabricast/report/inference.hpp"
#include "fabricast/report/step_interval.hpp"

namespace fabricast {

namespace {

bool is_guess(const Parameter& p) { return origin_of(p) == ParameterOrigin::guess; }

// One sentence at most: where GEMMs are guessed, attention is not known better, and the reader needs the first warning
// only.
void say_kernels(const Kernels& kernels, const GpuKind& gpu, Precision precision, std::vector<std::string>& out) {
  if (is_guess(kernels.model.gemms(precision)))
    out.push_back(fmt::format("the GEMM rate of {} in {} is a guess: no kernel or step was measured on such GPUs",
                              gpu.name, name_of(precision)));
  else if (!gpu.measured)
    out.push_back(
        fmt::format("no kernel or step was measured on {}: its rates are those of other {} GPUs, relative to "
                    "the data sheet",
                    gpu.name, gpu.compute));
  else if (is_guess(kernels.model.flash))
    out.push_back(fmt::format("the rate of attention on {} is a guess: it was not measured on such GPUs", gpu.name));
}

// `spread` is set by the fit from steps of that software, so a guessed spread means that there were none.
void say_step(const TrainingStep& step, std::vector<std::string>& out) {
  const Stack& stack = step.stack;
  if (is_guess(stack.spread)) out.push_back(fmt::format("no step was measured with {}", stack.name));
  // The parameters of experts are then those of NeMo and Megatron.
  if (step.model.experts > 0 && !stack.measured_experts)
    out.push_back(fmt::format("no MoE step was measured with {}", stack.name));
}

/// A guessed rate of GEMMs means that no serving results were fitted for this engine.
void say_serving(const InferenceStep& step, const InferenceSpec& spec, std::vector<std::string>& out) {
  const ServingStack& stack = step.stack;
  if (is_guess(stack.gemm)) out.push_back(fmt::format("no serving was measured with {}", stack.name));
  if (spec.disaggregated.prefill.gpus > 0 && step.model.experts == 0)
    out.emplace_back("no dense model was measured with disaggregated prefill");
  if (spec.offload_weights > 0) out.emplace_back("no serving was measured with weights in host memory");
  if (spec.speculation.tokens > 0) out.emplace_back("no serving was measured with speculative decoding");
}

}  // namespace

std::vector<std::string> not_validated(const Scenario& s) {
  const GpuKind& gpu = gpu_of(s);
  std::vector<std::string> out;
  if (s.workload.kind == WorkloadKind::training_step) {
    const TrainingStep step = step_with(s, s.hardware);
    say_kernels(step.kernels, gpu, step.precision, out);
    say_step(step, out);
  } else if (s.workload.kind == WorkloadKind::inference) {
    const InferenceSpec& spec = s.workload.inference;
    // Without the batch that fits in memory, unlike inference_of: nothing here depends on it, and a case that does not
    // fit should also be warned about.
    const InferenceStep step = inference_step(spec, s.node.spec, s.nvlink_domain.nodes, s.hardware);
    say_kernels(step.kernels, gpu, spec.precision, out);
    say_serving(step, spec, out);
  }
  return out;
}

std::string not_validated_text(const Scenario& scenario) {
  std::string text;
  for (const std::string& sentence : not_validated(scenario)) text += fmt::format("# not validated: {}\n", sentence);
  return text;
}

}  // namespace fabricast
