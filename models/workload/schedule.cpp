#include "fabricast/workload/schedule.hpp"

#include <algorithm>

namespace fabricast {

namespace {

using Kind = PipelineWork::Kind;

/// Forward and backward passes in the order of each, `warmup` forward first.
std::vector<PipelineWork> in_turn(const std::vector<PipelineWork>& forward, const std::vector<PipelineWork>& backward,
                                  int warmup) {
  std::vector<PipelineWork> order;
  const std::size_t first = std::min(forward.size(), static_cast<std::size_t>(warmup));
  order.insert(order.end(), forward.begin(), forward.begin() + static_cast<std::ptrdiff_t>(first));
  for (std::size_t f = first, b = 0; b < backward.size(); ++b) {
    if (f < forward.size()) order.push_back(forward[f++]);
    order.push_back(backward[b]);
  }
  return order;
}

/// All passes of a kind: groups of `group` micro-batches, each through all chunks.
std::vector<PipelineWork> passes(Kind kind, int group, int interleave, int micro_batches) {
  std::vector<PipelineWork> list;
  for (int first = 0; first < micro_batches; first += group)
    for (int k = 0; k < interleave; ++k)
      for (int m = first; m < std::min(micro_batches, first + group); ++m)
        list.push_back({kind, kind == Kind::forward ? k : interleave - 1 - k, m});
  return list;
}

/// Serves what is ready, with passes of equal length: backward, forward (if it may hold one more), weights.
std::vector<std::vector<PipelineWork>> zero_bubble(int stages, int micro_batches) {
  const auto p = static_cast<std::size_t>(stages);
  std::vector<std::vector<PipelineWork>> order(p);
  struct Stage {
    int forward = 0, backward = 0, weights = 0;  ///< done
  };
  std::vector<Stage> now(p);
  const auto done = [&](const Stage& s) { return s.weights == micro_batches; };
  while (!std::all_of(now.begin(), now.end(), done)) {
    const std::vector<Stage> before = now;
    for (std::size_t s = 0; s < p; ++s) {
      Stage& stage = now[s];
      const int may_hold = stages - static_cast<int>(s);
      const bool backward = stage.backward < (s + 1 < p ? before[s + 1].backward : before[s].forward);
      const bool forward = stage.forward < (s > 0 ? before[s - 1].forward : micro_batches) &&
                           stage.forward - stage.weights < may_hold + static_cast<int>(s);
      if (backward)
        order[s].push_back({Kind::backward, 0, stage.backward++});
      else if (forward && stage.forward - stage.backward < may_hold)
        order[s].push_back({Kind::forward, 0, stage.forward++});
      else if (stage.weights < stage.backward)
        order[s].push_back({Kind::weights, 0, stage.weights++});
    }
  }
  return order;
}

}  // namespace

std::vector<std::vector<PipelineWork>> pipeline_order(PipelineSchedule schedule, int stages, int interleave,
                                                      int micro_batches) {
  if (schedule == PipelineSchedule::zero_bubble) return zero_bubble(stages, micro_batches);
  const bool rounds = schedule == PipelineSchedule::interleaved;
  const int group = rounds ? stages : micro_batches;
  const auto forward = passes(Kind::forward, group, interleave, micro_batches);
  const auto backward = passes(Kind::backward, group, interleave, micro_batches);
  std::vector<std::vector<PipelineWork>> order;
  for (int s = 0; s < stages; ++s) {
    int warmup = stages - s - 1;
    if (rounds) warmup = 2 * warmup + (interleave - 1) * stages;
    if (schedule == PipelineSchedule::gpipe) warmup = micro_batches * interleave;
    order.push_back(in_turn(forward, backward, warmup));
  }
  return order;
}

int chunks_in_flight(const std::vector<PipelineWork>& order) {
  const bool split = std::any_of(order.begin(), order.end(), [](const auto& w) { return w.kind == Kind::weights; });
  int held = 0, most = 0;
  for (const PipelineWork& w : order) {
    if (w.kind == Kind::forward) most = std::max(most, ++held);
    if (w.kind == (split ? Kind::weights : Kind::backward)) --held;
  }
  return most;
}

}  // namespace fabricast
