// Factors of causes' priors, as they are gathered.
#pragma once

#include "fabricast/calibrate/check.hpp"

namespace fabricast {

class Weights {
 public:
  /// Near-certain: more than times can outweigh. `is_not`: the opposite is stated.
  void state(Cause cause, bool is, bool is_not) { tell(cause, stated, is, ruled_out, is_not); }
  /// It only seems so: a variable that is not listed, fewer channels than forecast.
  void hint(Cause cause, bool is, bool is_not) { tell(cause, hinted, is, unlikely, is_not); }
  std::map<Cause, double> take() { return std::move(weights_); }

 private:
  static constexpr double stated = 1e12, ruled_out = 1e-12;
  static constexpr double hinted = 50, unlikely = 0.02;

  /// What is told later counts, as it is told of more.
  void tell(Cause cause, double yes, bool is, double no, bool is_not) {
    if (is) weights_[cause] = yes;
    if (is_not) weights_[cause] = no;
  }

  std::map<Cause, double> weights_;
};

/// What NCCL says of itself. Nothing where there is no line of NCCL's.
void weigh_nccl(Weights& weights, const NcclFacts& log, const World& world);

}  // namespace fabricast
