// The figure by which settings of a step are judged (report/step_settings.hpp), for training and inference alike, and
// what it says about SMs and buffers.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "fabricast/planner/group_buffers.hpp"
#include "fabricast/report/inference_advice.hpp"
#include "fabricast/report/step_settings.hpp"
#include "step_time.hpp"

namespace fabricast {

namespace {

constexpr Bytes nvls_chunk{131072};  // NCCL's default [NCCL-env]

/// NCCL nodes and ranks of the first group.
TunedShape shape_of(const World& world, const RankGroups& groups) {
  const auto gpus = static_cast<std::uint32_t>(std::max(1, world.planner().comm.gpus()));
  std::set<std::uint32_t> nodes;
  for (const std::uint32_t rank : groups.front()) nodes.insert(rank / gpus);
  return {nodes.size(), groups.front().size()};
}

StepCollective collective_of(const World& world, const Program& program, const CollectiveUse& use, double ranks) {
  const RankGroups& groups = program.groups[use.kind.groups];
  double callers = 0;
  for (const auto& group : groups) callers += static_cast<double>(group.size());
  return {use, shape_of(world, groups), std::min(1.0, callers / ranks)};
}

/// SMs that a kind of collective keeps while it runs.
double sms_of(const World& world, const CollectiveUse& use) {
  const auto all = static_cast<double>(gpu_of(world.scenario()).sheet.multiprocessors);
  return use.kind.sms > 0 ? use.kind.sms * all : blocks_of(use.alone);
}

StepTime made_of(const World& world, const Program& program, const std::vector<CollectiveUse>& uses,
                 const ActorTimes& mean, Seconds time) {
  StepTime t;
  t.time = t.passes = time;
  const auto ranks = static_cast<double>(ranks_of(program));
  for (const CollectiveUse& use : uses) {
    t.collectives.push_back(collective_of(world, program, use, ranks));
    t.sms += t.collectives.back().callers * sms_of(world, use) * (use.time / time);
  }
  for (std::size_t p = 0; p < part_count; ++p) t.exposed[p] = mean.exposed[p] / time;
  return t;
}

}  // namespace

void require_step(const World& world) {
  const WorkloadKind kind = world.scenario().workload.kind;
  if (kind == WorkloadKind::trace)
    throw UserError::at("workload.kind", "a trace's computation was recorded with its own NCCL settings",
                        "describe the step as a training_step");
  if (kind == WorkloadKind::collective)
    throw UserError::at("workload.kind", "is a collective, next to which no computation runs",
                        "for a step: training_step or inference");
  require_flow_engine(world);
}

StepTime step_time_of(const StepForecast& f) { return made_of(f.world, f.program, f.collectives, f.mean, f.time); }

StepTime step_time_of(const InferenceForecast& f) {
  const TimedPasses& passes = binding_passes(f);
  StepTime t = made_of(f.world, passes.program, passes.collectives, passes.mean, passes.time);
  if (goal_of(f.world) == InferenceGoal::tokens) t.time = Seconds{1 / tokens_per_gpu(f)};
  return t;
}

StepTime step_time_of(const World& world, const RunOptions& options) {
  if (world.scenario().workload.kind == WorkloadKind::inference)
    return step_time_of(run_inference(world, options, false));
  return step_time_of(run_step(world, options));
}

Bytes buffers_of(const World& world, const StepTime& time) {
  const NcclSettings& settings = world.planner().settings;
  // A communicator connects each of its algorithms once, on the most channels that one of its calls has. Trees are
  // counted on top of rings, which other sizes run on.
  struct Connected {
    BufferedGroup group;
    double callers = 1;
  };
  enum class Kind { ring, tree, nvls };
  std::map<std::pair<std::uint32_t, Kind>, Connected> connected;
  for (const StepCollective& c : time.collectives) {
    if (is_point_to_point(c.use.kind.op)) continue;
    const auto nodes = static_cast<std::int64_t>(c.shape.nodes), ranks = static_cast<std::int64_t>(c.shape.ranks);
    const auto connect = [&](Kind kind) {
      Connected& known = connected[{c.use.kind.groups, kind}];
      const int channels = std::max(known.group.channels, c.use.alone.channels);
      known = {{nodes, std::max<std::int64_t>(1, ranks / nodes), channels, world.planner().comm.gdr}, c.callers};
    };
    const std::string& algorithm = c.use.alone.algorithm;
    if (algorithm.starts_with("nvls")) connect(Kind::nvls);
    if (algorithm == "ring" || algorithm == "tree") connect(Kind::ring);
    if (algorithm.ends_with("tree")) connect(Kind::tree);
  }
  double sum = 0;
  for (const auto& [key, c] : connected) {
    Bytes bytes;
    switch (key.second) {
      case Kind::ring: bytes = ring_buffers(c.group, settings); break;
      case Kind::tree: bytes = tree_buffers(c.group, settings); break;
      case Kind::nvls: bytes = nvls_buffers(c.group, settings.nvls_chunk.value_or(nvls_chunk)); break;
    }
    sum += c.callers * fractional(bytes);
  }
  return whole_bytes(std::round(sum));
}

}  // namespace fabricast
