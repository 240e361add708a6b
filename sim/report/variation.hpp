// How long the computation of a step takes in one draw: hosts that are slower, and jitter.
//
// A GPU's factor is that of its host times 1 + jitter z, z normal. GPUs that exchange in every layer go at the pace of the
// slowest: those of a stage in one replica, and with experts over replicas those of all these replicas. Replicas meet at
// the end of the step: all wait for the slowest, which is the one that the timeline runs. By the work T of its stages
// and the m chunks of micro-batches that each works through, a replica takes
//
//   max T + (sum T - max T) / m
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
/// Those that the scenario's faults name. Hosts that the job does not have are left out.
std::vector<SlowPart> slow_parts(const World& world);

class Variation {
 public:
  /// \param program  of the step: an actor for each stage
  Variation(const TrainingStep& step, const VariationSpec& spec, std::vector<SlowPart> slow, int gpus_per_host,
            const Program& program);
  /// By stage of the slowest replica: so many times longer its computation takes. Empty: nothing varies.
  std::vector<double> slower(std::size_t sample) const;

 private:
  void join_replicas();
  double seconds_of(const std::vector<double>& slower) const;

  const TrainingStep& step_;
  const VariationSpec& spec_;
  std::vector<SlowPart> slow_;
  int gpus_per_host_;
  std::vector<double> work_;         ///< s by stage
  std::vector<std::size_t> set_of_;  ///< by replica: which go at one pace
};

}  // namespace fabricast
