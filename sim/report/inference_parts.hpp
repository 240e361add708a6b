// The parts of an inference step's time, for its writers.
#pragma once

#include <string>
#include <vector>

#include "fabricast/report/inference.hpp"

namespace fabricast {

struct InferenceLine {
  std::string what;
  double seconds = 0;
  bool exposed = false;  ///< of exchanges, with the fixed cost of their calls
};
/// They add up to the step.
std::vector<InferenceLine> inference_lines(const ActorTimes& times);

}  // namespace fabricast
