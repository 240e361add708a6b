// Pipeline schedules: in which order each stage works on micro-batches.
//
// A stage holds `interleave` chunks of layers; chunk k of stage s is part k p + s of the model. Its work is forward,
// backward, and where the schedule splits it, the gradient of the weights by itself.
//
//   gpipe        all forward, then all backward
//   1f1b         p - s - 1 forward first, then one forward and one backward in turn [Narayanan2021]
//   interleaved  the same with several chunks: groups of p micro-batches go through chunk after chunk [Narayanan2021]
//   zero_bubble  1f1b with the gradient of the weights put off to where a stage would wait; no stage holds more than
//                the first one of 1f1b (ZB-H1) [Qi2023]
#pragma once

#include <vector>

#include "fabricast/core/enum_names.hpp"

namespace fabricast {

enum class PipelineSchedule { gpipe, one_f_one_b, interleaved, zero_bubble };
template <>
struct EnumNames<PipelineSchedule> {
  static constexpr std::array<std::string_view, 4> names{"gpipe", "1f1b", "interleaved", "zero_bubble"};
};

struct PipelineWork {
  enum class Kind { forward, backward, weights } kind = Kind::forward;
  int chunk = 0, micro_batch = 0;
  bool operator==(const PipelineWork&) const = default;
};

/// What each stage does, in order. `backward` includes the weights but for zero_bubble.
/// \pre interleave is 1 but for interleaved, where micro_batches is a multiple of stages
std::vector<std::vector<PipelineWork>> pipeline_order(PipelineSchedule schedule, int stages, int interleave,
                                                      int micro_batches);

/// Forward passes ahead of the first round with a forward and a backward pass.
int warmup_passes(PipelineSchedule schedule, int stages, int stage, int interleave, int micro_batches);

/// Micro-batches whose activations a stage holds at once, in chunks of the model's 1 / (stages x interleave).
int chunks_in_flight(const std::vector<PipelineWork>& order);

}  // namespace fabricast
