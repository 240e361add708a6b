// Seconds of any pass of a serving engine, from few that are run whole.
//
// What a pass takes is known at numbers of tokens on a grid (powers of two), each run once on a sample of the network, with
// CUDA graphs for passes that decode alone. Between them it is linear. Attention is not of the grid: it is that of the
// pass itself, as it grows with contexts, and stands in place of the attention of the run.
//
// Where replicas share experts, a pass takes what its busiest replica takes, but for the experts, which work on the
// tokens of all.
#pragma once

#include <map>
#include <span>

#include "serving_sample.hpp"

namespace fabricast {

/// Fills its grid as it is asked: not for several threads.
class PassClock {
 public:
  /// \param sample  outlives this, as `step` does
  PassClock(const ServingSample& sample, const InferenceStep& step) : sample_(sample), step_(step) {}

  /// s of passes of replicas that begin together; 0 if all are empty.
  double operator()(std::span<const InferencePass> passes);

 private:
  /// s at a number of tokens.
  struct Point {
    double rest = 0;     ///< all but attention and experts
    double experts = 0;  ///< their computation
  };
  const Point& on_grid(std::int64_t tokens, bool graph);
  Point at(double tokens, bool graph);
  double attention(const InferencePass& pass) const;
  /// Of the host for sequences beyond the one prompt of a run on the grid.
  double more_host(const InferencePass& pass, bool graph) const;

  const ServingSample& sample_;
  const InferenceStep& step_;
  std::map<std::pair<std::int64_t, bool>, Point> grid_;  ///< by tokens, and whether it is a graph
};

}  // namespace fabricast
