// Collects factors of the causes' priors from a log.
#pragma once

#include "fabricast/calibrate/check.hpp"

namespace fabricast {

/// A later statement or hint about a cause replaces an earlier one, so callers go from weak evidence to strong: from
/// variables to connections.
class Weights {
 public:
  /// Near-certain evidence, which times cannot outweigh.
  /// \param is      the log states the cause
  /// \param is_not  the log states the opposite
  void state(Cause cause, bool is, bool is_not) { set(cause, stated, is, ruled_out, is_not); }
  /// Weak evidence, such as a variable that is not listed, or fewer channels than forecast.
  void hint(Cause cause, bool is, bool is_not) { set(cause, hinted, is, unlikely, is_not); }
  std::map<Cause, double> take() { return std::move(weights_); }

 private:
  static constexpr double stated = 1e12, ruled_out = 1e-12;
  static constexpr double hinted = 50, unlikely = 0.02;

  void set(Cause cause, double yes, bool is, double no, bool is_not) {
    if (is) weights_[cause] = yes;
    if (is_not) weights_[cause] = no;
  }

  std::map<Cause, double> weights_;
};

/// Adds what NCCL reports about itself. Does nothing if the log has no line of NCCL's.
void weigh_nccl(Weights& weights, const NcclFacts& log, const World& world);

}  // namespace fabricast
