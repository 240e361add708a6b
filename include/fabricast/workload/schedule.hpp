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
// For 2 stages and 4 micro-batches, F and B with the number of the micro-batch:
//
//   gpipe   stage 0   F0 F1 F2 F3 B0 B1 B2 B3        stage 1   the same
//   1f1b    stage 0   F0 F1 B0 F2 B1 F3 B2 B3        stage 1   F0 B0 F1 B1 F2 B2 F3 B3
//
// Orders depend on the schedule and the degrees alone, not on times: a stage that is ready early waits for its turn, as
// in Megatron. Pure functions; safe to call concurrently.
#pragma once

#include <vector>

#include "fabricast/core/enum_names.hpp"

namespace fabricast {

/// Schedules; the file comment describes them.
enum class PipelineSchedule { gpipe, one_f_one_b, interleaved, zero_bubble };
template <>
struct EnumNames<PipelineSchedule> {
  static constexpr std::array<std::string_view, 4> names{"gpipe", "1f1b", "interleaved", "zero_bubble"};
};

/// One pass of a micro-batch through a chunk.
struct PipelineWork {
  /// `weights`: the gradient of the weights, where the backward pass does not include it.
  enum class Kind { forward, backward, weights } kind = Kind::forward;
  int chunk = 0, micro_batch = 0;  ///< chunk of the stage, from 0
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
