#include <set>

#include "fabricast/calibrate/steps.hpp"
#include "fabricast/report/step.hpp"
#include "fabricast/step/flow_traffic.hpp"

namespace fabricast {

/// Exchanges do not depend on what is fitted: they are timed once, in the first draw of the network.
struct StepRunner::State {
  std::unique_ptr<World> world;
  Program program;
  std::unique_ptr<Traffic> traffic;
  std::vector<std::string> prefixes;
};

StepRunner::StepRunner(const StepCase& step) : state_(std::make_unique<State>()) {
  ReadResult read = parse_scenario(step.scenario, step.id);
  const Scenario& s = read.scenario;
  const GpuKind& gpu = s.hardware.gpus.find(s.node.spec.gpu)->second;
  state_->prefixes = {"stacks." + s.workload.training.stack + ".", "compute." + gpu.architecture + "."};
  state_->world = build_world(std::move(read.scenario));
  state_->program = training_program(step_of(*state_->world));
  state_->traffic = make_flow_traffic(*state_->world, state_->program, state_->world->draws.first_seed);
}
StepRunner::~StepRunner() = default;
StepRunner::StepRunner(StepRunner&&) noexcept = default;

double StepRunner::seconds(const Hardware& hardware) {
  const Scenario& s = state_->world->scenario;
  TrainingSpec spec = s.workload.training;
  const auto stack = hardware.stacks.find(spec.stack);
  // The scenario holds the constant cost of the stack as it was when it was read.
  if (spec.fixed.value == s.hardware.stacks.find(spec.stack)->second.step_fixed.value)
    spec.fixed.value = stack->second.step_fixed.value;
  const TrainingStep step = training_step(spec, s.node.spec, hardware);
  const Program program = training_program(step);
  return run_program(program, *state_->traffic,
                     timeline_options(step.stack.interference.value, program, *state_->traffic))
      .seconds;
}

std::string StepRunner::stack() const { return state_->world->scenario.workload.training.stack; }

bool StepRunner::uses(const std::string& parameter) const {
  return std::any_of(state_->prefixes.begin(), state_->prefixes.end(),
                     [&](const std::string& p) { return parameter.starts_with(p); });
}

}  // namespace fabricast
