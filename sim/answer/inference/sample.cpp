// Runs passes of a serving engine on one sample of the network: program, timeline, collectives (sample.hpp).
// Programs are models/workload/inference.cpp; run_program overlaps computation with collectives as the program says.
#include "sample.hpp"

#include <algorithm>

#include "../step/parts.hpp"
#include "fabricast/core/stop.hpp"
#include "fabricast/traffic/flow_traffic.hpp"

namespace fabricast {

namespace {

/// Of a program of that many rounds of passes.
OwnAllReduces own_all_reduces(const RanProgram& ran, int rounds) {
  const Program& program = ran.program;
  const auto label = static_cast<std::uint32_t>(
      std::find(program.labels.begin(), program.labels.end(), own_all_reduce_label) - program.labels.begin());
  std::vector<OwnAllReduces> by_actor(program.actors.size());
  for (std::size_t i = 0; i < program.activities.size(); ++i) {
    const Activity& a = program.activities[i];
    if (a.is_collective() || a.label != label) continue;
    OwnAllReduces& own = by_actor[program.places_of(i).front().actor];
    own.calls += a.calls / rounds;
    own.time += (ran.timeline.end[i] - ran.timeline.start[i]) / rounds;
  }
  return *std::max_element(by_actor.begin(), by_actor.end(),
                           [](const OwnAllReduces& a, const OwnAllReduces& b) { return a.time < b.time; });
}

TimedPasses timed(RanProgram ran) {
  TimedPasses t;
  t.own = own_all_reduces(ran, 1);
  t.time = ran.timeline.time;
  t.stages = std::move(ran.timeline.actors);
  t.mean = mean_of(ran.program, t.stages);
  t.collectives = std::move(ran.collectives);
  t.program = std::move(ran.program);
  return t;
}

}  // namespace

TimedPasses ServingSample::steady(const InferenceStep& step, const std::vector<InferencePass>& passes,
                                  bool graph) const {
  // Without a pipeline, passes do not overlap, since scheduling needs the tokens of the previous pass.
  if (step.layout.pipeline == 1) return once(step, passes, graph);
  // With p stages, p passes are in flight. The first rounds fill the pipeline; the increment from two rounds to three
  // is the period of a full one. Breakdowns are differences in the same way. Collectives are averaged over the rounds.
  const int rounds = rounds_of(step);
  const RanProgram fewer = run(step, passes, rounds - 1, graph);
  RanProgram more = run(step, passes, rounds, graph);
  TimedPasses t;
  t.time = more.timeline.time - fewer.timeline.time;
  t.stages = more.timeline.actors;
  for (std::size_t s = 0; s < t.stages.size(); ++s) {
    ActorTimes& stage = t.stages[s];
    const ActorTimes& before = fewer.timeline.actors[s];
    for (std::size_t p = 0; p < part_count; ++p) {
      stage.busy[p] -= before.busy[p];
      stage.exposed[p] -= before.exposed[p];
    }
    stage.interference -= before.interference;
    stage.bubble -= before.bubble;
  }
  t.mean = mean_of(more.program, t.stages);
  t.own = own_all_reduces(more, rounds);
  t.collectives = std::move(more.collectives);
  t.program = std::move(more.program);
  for (CollectiveUse& use : t.collectives) {
    use.calls /= rounds;
    use.time /= rounds;
  }
  return t;
}

TimedPasses ServingSample::once(const InferenceStep& step, const std::vector<InferencePass>& passes, bool graph) const {
  return timed(run(step, passes, 1, graph));
}

TimedPasses ServingSample::all_reduce(const InferenceStep& step, Bytes bytes) const {
  return timed(run(all_reduce_program(step, bytes, step.graph), step.stack.interference.value));
}

// A pipeline works on `pipeline` passes at once, so a round has that many times `together` prompts.
Seconds ServingSample::prompt_interval(const InferenceStep& step, std::int64_t together) const {
  const std::int64_t prompts = together * step.layout.pipeline;
  return steady(step, prefill_passes(step, prompts), false).time / static_cast<double>(prompts);
}

RanProgram ServingSample::run(const InferenceStep& step, const std::vector<InferencePass>& passes, int rounds,
                              bool graph, const KvTransfer* kv_transfer) const {
  return run(inference_program(step, passes, rounds, graph, kv_transfer), step.stack.interference.value);
}

RanProgram ServingSample::run(InferenceProgram built, double interference) const {
  stop_if_requested();
  RanProgram ran;
  ran.program = std::move(built.program);
  const auto traffic = make_flow_traffic(world_, ran.program, seed_);
  // Host-launched collectives: the host's time to launch depends on NCCL's plan, which is known only here, not when the
  // program is built.
  for (const auto& [activity, kind] : built.launches)
    ran.program.activities[activity].time = traffic->alone(kind).launch;
  ran.timeline = run_program(ran.program, *traffic, timeline_options(interference, ran.program, *traffic));
  ran.collectives = uses_of(ran.program, ran.timeline, *traffic);
  return ran;
}

}  // namespace fabricast
