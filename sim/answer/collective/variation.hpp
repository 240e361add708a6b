// Samples of the computation time of a training step: slow hosts, and jitter of each GPU.
//
// The factor of a GPU is that of its host times 1 + jitter z, where z is a standard normal sample. GPUs that
// communicate in every layer run at the pace of the slowest: the GPUs of a stage in one replica, and the same stage of
// all replicas that share experts. Replicas meet at the end of the step, so all wait for the slowest one. The timeline
// runs that replica only. With work T per stage, and m chunks of micro-batches that each stage processes, a replica
// takes
//
//   max T + (sum T - max T) / m
//
// Times are in seconds. Immutable after construction; threads may share it.
#pragma once

#include <cstdint>
#include <vector>

#include "fabricast/scenario/world.hpp"
#include "fabricast/workload/program.hpp"
#include "fabricast/workload/step_spec.hpp"

namespace fabricast {

/// A host of the job, or one of its GPUs, that always computes slower.
struct SlowPart {
  std::size_t host = 0;  ///< in rank order
  int gpu = -1;          ///< of the host; -1: all
  double factor = 1;     ///< by which its computation takes longer
};
/// The slow parts that the scenario's faults name, without hosts that the job does not use.
std::vector<SlowPart> slow_parts(const World& world);

/// The samples of one step.
class Variation {
 public:
  /// \param slow     parts that are slower in every sample
  /// \param program  of the step, with one actor per stage
  /// \pre `step` and `spec` outlive this object
  Variation(const TrainingStep& step, const VariationSpec& spec, std::vector<SlowPart> slow, int gpus_per_host,
            const Program& program);
  /// Factors on the computation of the slowest replica, by stage. Empty if nothing varies. The same sample number gives
  /// the same factors.
  std::vector<double> slower(std::size_t sample) const;

 private:
  void join_replicas();
  /// The estimate of the file comment.
  double seconds_of(const std::vector<double>& slower) const;

  const TrainingStep& step_;
  const VariationSpec& spec_;
  std::vector<SlowPart> slow_;
  int gpus_per_host_;
  std::vector<double> work_;         ///< s by stage
  std::vector<std::size_t> set_of_;  ///< by replica: number of its set, whose replicas run at one pace
};

}  // namespace fabricast
