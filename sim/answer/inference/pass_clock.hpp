// The time of any pass of a serving engine, interpolated from a few simulated passes.
//
// A load has many passes, each with other tokens and contexts. Passes are simulated in full on a grid of token counts
// (powers of two), once each, on one sample of the network. Passes that only decode run as CUDA graphs.
// Between grid points the time is linear in the tokens. Attention is excluded from the grid, because it depends on the
// contexts: the attention of the simulated pass is replaced by that of the pass in question.
//
// Replicas that share experts begin their passes together. The time is that of the busiest replica, except for experts,
// which process the tokens of all these replicas: they are timed at the mean number of tokens per replica.
#pragma once

#include <map>
#include <span>

#include "sample.hpp"

namespace fabricast {

/// Fills its grid on demand, so it is not thread-safe.
class PassClock {
 public:
  /// \pre `sample` and `step` outlive this object
  PassClock(const ServingSample& sample, const InferenceStep& step) : sample_(sample), step_(step) {}

  /// Seconds of passes that begin together, one per replica; 0 if all are empty.
  double operator()(std::span<const InferencePass> passes);

 private:
  /// Seconds at a number of tokens.
  struct Point {
    double rest = 0;     ///< everything except attention and computation of experts
    double experts = 0;  ///< computation of experts
  };
  const Point& on_grid(std::int64_t tokens, bool graph);
  Point at(double tokens, bool graph);
  double attention(const InferencePass& pass) const;
  /// Additional seconds of the host for sequences beyond the single prompt of a grid point.
  double more_host(const InferencePass& pass, bool graph) const;

  const ServingSample& sample_;
  const InferenceStep& step_;
  std::map<std::pair<std::int64_t, bool>, Point> grid_;  ///< by tokens, and whether it runs as a CUDA graph
};

}  // namespace fabricast
