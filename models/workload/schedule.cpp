// Orders of pipeline schedules: which pass of which chunk and micro-batch a stage runs after which. They depend on the
// schedule and the degrees alone, not on times; a stage that is ready early waits, as in Megatron, and does not run
// ahead.
#include "fabricast/workload/schedule.hpp"

#include <algorithm>

namespace fabricast {

namespace {

using Kind = PipelineWork::Kind;

/// Interleaves forward and backward passes, after `warmup` forward passes.
std::vector<PipelineWork> in_turn(const std::vector<PipelineWork>& forward, const std::vector<PipelineWork>& backward,
                                  int warmup) {
  std::vector<PipelineWork> order;
  const auto first = static_cast<std::size_t>(warmup);
  order.insert(order.end(), forward.begin(), forward.begin() + static_cast<std::ptrdiff_t>(first));
  // Steady phase: a forward pass before each backward pass while there are any; then the backward passes that are left.
  for (std::size_t f = first, b = 0; b < backward.size(); ++b) {
    if (f < forward.size()) order.push_back(forward[f++]);
    order.push_back(backward[b]);
  }
  return order;
}

/// All passes of a kind. Groups of `group` micro-batches pass through all chunks.
std::vector<PipelineWork> passes(Kind kind, int group, int interleave, int micro_batches) {
  std::vector<PipelineWork> list;
  // Interleaved: p micro-batches pass through a chunk before the stage turns to its next chunk [Narayanan2021].
  for (int first = 0; first < micro_batches; first += group)
    for (int k = 0; k < interleave; ++k)
      for (int m = first; m < std::min(micro_batches, first + group); ++m)
        list.push_back({kind, kind == Kind::forward ? k : interleave - 1 - k, m});
  return list;
}

/// 1f1b in which stage s computes weight gradients s micro-batches late. No stage then holds more activations than the
/// first one in 1f1b.
std::vector<PipelineWork> zero_bubble(int stages, int stage, int micro_batches) {
  std::vector<PipelineWork> order;
  int forward = 0, weights = 0;
  for (; forward < std::min(micro_batches, stages - stage); ++forward) order.push_back({Kind::forward, 0, forward});
  for (int backward = 0; backward < micro_batches; ++backward) {
    order.push_back({Kind::backward, 0, backward});
    if (backward >= stage) order.push_back({Kind::weights, 0, weights++});
    if (forward < micro_batches) order.push_back({Kind::forward, 0, forward++});
  }
  while (weights < micro_batches) order.push_back({Kind::weights, 0, weights++});
  return order;
}

}  // namespace

std::vector<std::vector<PipelineWork>> pipeline_order(PipelineSchedule schedule, int stages, int interleave,
                                                      int micro_batches) {
  // Without interleaving there is one chunk, and all micro-batches form one group.
  const bool rounds = schedule == PipelineSchedule::interleaved;
  const int group = rounds ? stages : micro_batches;
  const auto forward = passes(Kind::forward, group, interleave, micro_batches);
  const auto backward = passes(Kind::backward, group, interleave, micro_batches);
  std::vector<std::vector<PipelineWork>> order;
  for (int s = 0; s < stages; ++s) {
    if (schedule == PipelineSchedule::zero_bubble) {
      order.push_back(zero_bubble(stages, s, micro_batches));
      continue;
    }
    order.push_back(in_turn(forward, backward, warmup_passes(schedule, stages, s, interleave, micro_batches)));
  }
  return order;
}

int warmup_passes(PipelineSchedule schedule, int stages, int stage, int interleave, int micro_batches) {
  const int all = micro_batches * interleave, later = stages - stage - 1;
  switch (schedule) {
    case PipelineSchedule::gpipe: return all;
    // Two passes for each later stage, and those of all chunks but one of a group of p micro-batches [Narayanan2021].
    case PipelineSchedule::interleaved: return std::min(all, 2 * later + (interleave - 1) * stages);
    case PipelineSchedule::one_f_one_b:
    case PipelineSchedule::zero_bubble: break;
  }
  return std::min(all, later);
}

int chunks_in_flight(const std::vector<PipelineWork>& order) {
  // If weight gradients are separate, activations are held until these are computed.
  const bool split = std::any_of(order.begin(), order.end(), [](const auto& w) { return w.kind == Kind::weights; });
  int held = 0, most = 0;
  for (const PipelineWork& w : order) {
    if (w.kind == Kind::forward) most = std::max(most, ++held);
    if (w.kind == (split ? Kind::weights : Kind::backward)) --held;
  }
  return most;
}

}  // namespace fabricast
