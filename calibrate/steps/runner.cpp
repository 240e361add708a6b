#include "fabricast/calibrate/steps.hpp"
#include "fabricast/report/step.hpp"
#include "fabricast/report/step_interval.hpp"
#include "fabricast/traffic/flow_traffic.hpp"

namespace fabricast {

/// Exchanges do not depend on what is fitted: they are timed once, in the first draw of the network.
struct StepRunner::State {
  KernelCase kernel;
  std::unique_ptr<World> world;  ///< none: a kernel
  Program program;
  std::unique_ptr<Traffic> traffic;
  std::vector<std::string> prefixes;  ///< of parameters that it uses
};

StepRunner::StepRunner(const StepCase& step) : state_(std::make_unique<State>()) {
  if (step.scenario.empty()) {
    state_->kernel = step.kernel;
    const Hardware& hardware = shipped_hardware();
    (void)kernel_seconds(step.kernel, hardware);  // refuses what can not be
    state_->prefixes = hardware.parameters_of("compute", hardware.gpus.at(step.kernel.gpu).compute);
    return;
  }
  ReadResult read = parse_scenario(step.scenario, step.id);
  const Scenario& s = read.scenario;
  state_->prefixes = s.hardware.parameters_of("compute", s.hardware.gpus.at(s.node.spec.gpu).compute);
  for (std::string& of_stack : s.hardware.parameters_of("stacks", s.workload.training.stack))
    state_->prefixes.push_back(std::move(of_stack));
  state_->world = build_world(std::move(read.scenario));
  state_->program = training_program(step_of(*state_->world));
  state_->traffic = make_flow_traffic(*state_->world, state_->program, state_->world->draws.first_seed);
}
StepRunner::~StepRunner() = default;
StepRunner::StepRunner(StepRunner&&) noexcept = default;

double StepRunner::seconds(const Hardware& hardware) {
  if (!state_->world) return kernel_seconds(state_->kernel, hardware);
  const TrainingStep step = step_with(state_->world->scenario, hardware);
  const Program program = training_program(step);
  return run_program(program, *state_->traffic,
                     timeline_options(step.stack.interference.value, program, *state_->traffic))
      .seconds;
}

void StepRunner::check_memory() const {
  if (state_->world) require_memory(*state_->world);
}

std::string StepRunner::stack() const {
  return state_->world ? state_->world->scenario.workload.training.stack : std::string();
}

bool StepRunner::experts() const {
  return state_->world && step_of(*state_->world).model.experts > 0;
}

bool StepRunner::uses(const std::string& parameter) const {
  return std::any_of(state_->prefixes.begin(), state_->prefixes.end(),
                     [&](const std::string& p) { return parameter.starts_with(p); });
}

}  // namespace fabricast
