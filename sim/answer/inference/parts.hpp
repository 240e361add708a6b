// The components of an inference step's time, for its writers.
#pragma once

#include <string>
#include <vector>

#include "fabricast/report/inference.hpp"

namespace fabricast {

/// A component of the step.
struct InferenceLine {
  std::string what;
  Seconds time;
  bool exposed = false;  ///< communication, including the fixed cost of its calls
};
/// The components that are not 0, in a fixed order. They add up to the step.
std::vector<InferenceLine> inference_lines(const ActorTimes& times);

/// "161 all-reduces by the engine's kernel, 18.78 us each". \pre own.calls > 0
std::string own_all_reduces_text(const OwnAllReduces& own);

}  // namespace fabricast
