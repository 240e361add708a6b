// Pipeline schedules: the order in which each stage works on micro-batches.
//
// With p stages, a stage holds `interleave` chunks of layers. Chunk k of stage s is part k p + s of the model. The work
// of a stage consists of forward passes, backward passes, and, if the schedule splits it from the backward pass, the
// gradient of the weights.
//
//   gpipe        all forward passes, then all backward passes
//   1f1b         p - s - 1 forward passes, then one forward and one backward pass alternate [Narayanan2021]
//   interleaved  the same with several chunks: groups of p micro-batches pass through chunk after chunk [Narayanan2021]
//   zero_bubble  1f1b, with the weight gradients deferred to times at which a stage would wait; no stage holds more
//                activations than the first one in 1f1b (ZB-H1) [Qi2023]
//
// Pure functions; safe to call concurrently.
#pragma once

#include <vector>

#include "fabricast/core/enum_names.hpp"

namespace fabricast {

enum class PipelineSchedule { gpipe, one_f_one_b, interleaved, zero_bubble };
template <>
struct EnumNames<PipelineSchedule> {
  static constexpr std::array<std::string_view, 4> names{"gpipe", "1f1b", "interleaved", "zero_bubble"};
};

/// One pass of a micro-batch through a chunk.
struct PipelineWork {
  enum class Kind { forward, backward, weights } kind = Kind::forward;
  int chunk = 0, micro_batch = 0;
  bool operator==(const PipelineWork&) const = default;
};

/// The work of each stage, in order. `backward` includes the weight gradients except for zero_bubble.
/// \pre interleave is 1 unless the schedule is interleaved; then micro_batches is a multiple of stages
std::vector<std::vector<PipelineWork>> pipeline_order(PipelineSchedule schedule, int stages, int interleave,
                                                      int micro_batches);

/// Number of forward passes of a stage before its first round of one forward and one backward pass.
int warmup_passes(PipelineSchedule schedule, int stages, int stage, int interleave, int micro_batches);

/// Maximum number of passes whose activations a stage holds at once. Each is of one chunk, 1 / (stages x interleave) of
/// the model.
int chunks_in_flight(const std::vector<PipelineWork>& order);

}  // namespace fabricast
