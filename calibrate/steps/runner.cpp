// Forecasts one step or kernel with many values of its parameters. A fit runs each step hundreds of times, so
// everything that the fitted parameters do not change is done once: parsing, the world, and the times of all
// collectives.
#include <bit>
#include <unordered_map>

#include "fabricast/calibrate/steps.hpp"
#include "fabricast/core/rng.hpp"
#include "fabricast/report/step.hpp"
#include "fabricast/report/step_interval.hpp"
#include "fabricast/traffic/flow_traffic.hpp"

namespace fabricast {

/// Collectives do not depend on the fitted parameters, so they are timed once, in the first sample of the network.
struct StepRunner::State {
  KernelCase kernel;
  std::optional<World> world;  ///< empty: this is a kernel
  Program program;
  std::unique_ptr<Traffic> traffic;
  std::vector<std::string> prefixes;  ///< of the paths of parameters that it uses
  /// Step times by fingerprint of the program. Most parameters do not change most programs, and equal programs take the
  /// same time.
  std::unordered_map<std::uint64_t, Seconds> known;
};

namespace {

/// A hash of everything that the time of a program depends on, besides its collectives.
std::uint64_t fingerprint(const Program& program, double interference) {
  std::uint64_t hash = mix64(std::bit_cast<std::uint64_t>(interference));
  for (const Activity& a : program.activities) {
    // Parameters change durations and numbers of calls of activities, not the graph of the program.
    hash = mix64(hash ^ std::bit_cast<std::uint64_t>(a.time.value));
    hash = mix64(hash ^ std::bit_cast<std::uint64_t>(a.calls));
  }
  return hash;
}

}  // namespace

StepRunner::StepRunner(const StepCase& step) : state_(std::make_unique<State>()) {
  if (step.scenario.empty()) {
    state_->kernel = step.kernel;
    const Hardware& hardware = shipped_hardware();
    (void)kernel_time(step.kernel, hardware);  // throws if the kernel is not possible on this GPU
    state_->prefixes = hardware.parameters_of("compute", hardware.gpus.at(step.kernel.gpu).compute);
    return;
  }
  ReadResult read = parse_scenario(step.scenario, step.id);
  const Scenario& s = read.scenario;
  // Of the GPU and of the software, each with the sets from which it inherits: these are all that a fit may move here.
  state_->prefixes = s.hardware->parameters_of("compute", s.hardware->gpus.at(s.node.spec.gpu).compute);
  for (std::string& of_stack : s.hardware->parameters_of("stacks", s.workload.training.stack))
    state_->prefixes.push_back(std::move(of_stack));
  state_->world = build_world(std::move(read.scenario));
  state_->program = training_program(step_of(*state_->world));
  // Times of collectives are taken with the scenario's parameters of the network and kept for all later runs.
  state_->traffic = make_flow_traffic(*state_->world, state_->program, state_->world->samples().first_seed);
}
StepRunner::~StepRunner() = default;
StepRunner::StepRunner(StepRunner&&) noexcept = default;

Seconds StepRunner::time(const Hardware& hardware) {
  if (!state_->world) return kernel_time(state_->kernel, hardware);
  const TrainingStep step = step_with(state_->world->scenario(), hardware);
  const Program program = training_program(step);
  constexpr std::size_t most_known = 256;
  // A bound on memory. Emptying is good enough, because repeats follow each other within one set of derivatives.
  if (state_->known.size() >= most_known) state_->known.clear();
  const auto [it, fresh] = state_->known.try_emplace(fingerprint(program, step.stack.interference.value), Seconds{});
  if (!fresh) return it->second;
  it->second =
      run_program(program, *state_->traffic, timeline_options(step.stack.interference.value, program, *state_->traffic))
          .time;
  return it->second;
}

void StepRunner::check_memory() const {
  if (state_->world) require_memory(*state_->world);
}

std::string StepRunner::stack() const {
  return state_->world ? state_->world->scenario().workload.training.stack : std::string();
}

bool StepRunner::experts() const { return state_->world && step_of(*state_->world).model.experts > 0; }

double StepRunner::spread(const Hardware& hardware) const {
  return state_->world ? spread_of_steps(*state_->world, hardware) : 0;
}

bool StepRunner::uses(const std::string& parameter) const {
  return std::any_of(state_->prefixes.begin(), state_->prefixes.end(),
                     [&](const std::string& p) { return parameter.starts_with(p); });
}

}  // namespace fabricast
