// Simulates passes of a serving engine on one sample of the network.
//
// Times are in seconds. Throws Interrupted on Ctrl-C, and UserError if the network cannot carry the collectives.
#pragma once

#include <vector>

#include "fabricast/report/inference.hpp"

namespace fabricast {

/// A program with its timeline and the collectives that ran.
struct RanProgram {
  Program program;
  Timeline timeline;
  std::vector<CollectiveUse> collectives;
};

/// One sample of the network, identified by its seed. Immutable; threads may share it.
class ServingSample {
 public:
  /// \pre `world` outlives this object
  ServingSample(const World& world, std::uint64_t seed) : world_(world), seed_(seed) {}

  /// Passes in steady state. With a pipeline, rounds of passes overlap, and the time is the increment of a third round.
  /// Without one it is that of `once`.
  TimedPasses steady(const InferenceStep& step, const std::vector<InferencePass>& passes, bool graph) const;
  /// The rounds in the program of steady passes.
  static int rounds_of(const InferenceStep& step) { return step.layout.pipeline == 1 ? 1 : 3; }
  /// Passes on idle GPUs.
  TimedPasses once(const InferenceStep& step, const std::vector<InferencePass>& passes, bool graph) const;
  TimedPasses decode(const InferenceStep& step) const { return steady(step, decode_passes(step), step.graph); }
  /// Passes with prompts do not run as CUDA graphs, because the lengths of prompts differ.
  TimedPasses prefill(const InferenceStep& step, std::int64_t prompts) const {
    return once(step, prefill_passes(step, prompts), false);
  }
  TimedPasses all_reduce(const InferenceStep& step, Bytes bytes) const;
  /// Time per prompt of a replica in steady state. \param together  prompts in a pass
  Seconds prompt_interval(const InferenceStep& step, std::int64_t together) const;
  /// Runs inference_program, with the same parameters.
  RanProgram run(const InferenceStep& step, const std::vector<InferencePass>& passes, int rounds, bool graph,
                 const KvTransfer* kv_transfer = nullptr) const;

 private:
  RanProgram run(InferenceProgram built, double interference) const;

  World world_;
  std::uint64_t seed_;
};

}  // namespace fabricast
