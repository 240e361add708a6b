// Passes of a serving engine on one sample of the network.
#pragma once

#include <vector>

#include "fabricast/report/inference.hpp"

namespace fabricast {

/// A program that has run, with what its exchanges took.
struct RanProgram {
  Program program;
  Timeline timeline;
  std::vector<CollectiveUse> collectives;
};

/// One sample of the network, by its seed. Pure; may be used by several threads.
class ServingSample {
 public:
  /// \param world  outlives this
  ServingSample(const World& world, std::uint64_t seed) : world_(world), seed_(seed) {}

  /// Passes that follow others: with a pipeline what one more round of them takes.
  TimedPasses steady(const InferenceStep& step, const std::vector<InferencePass>& passes, bool graph) const;
  TimedPasses once(const InferenceStep& step, const std::vector<InferencePass>& passes, bool graph) const;
  TimedPasses decode(const InferenceStep& step) const { return steady(step, decode_passes(step), step.graph); }
  /// Prompts have lengths of their own: no CUDA graphs.
  TimedPasses prefill(const InferenceStep& step, std::int64_t prompts) const {
    return once(step, prefill_passes(step, prompts), false);
  }
  TimedPasses all_reduce(const InferenceStep& step, Bytes bytes) const;
  /// s from prompt to prompt where one follows the other, so many together.
  double prompt_interval(const InferenceStep& step, std::int64_t together) const;
  RanProgram run(const InferenceStep& step, const std::vector<InferencePass>& passes, int rounds, bool graph,
                 const KvTransfer* kv_transfer = nullptr) const;

 private:
  RanProgram run(InferenceProgram built, double interference) const;

  const World& world_;
  std::uint64_t seed_;
};

}  // namespace fabricast
