// The same flows in SimGrid [SimGrid2014], as a pure max-min engine.
#pragma once

#include <vector>

#include "flow_scene.hpp"

namespace fabricast {

struct SimGridRun {
  std::vector<double> end;  ///< of each flow
  double wall_seconds = 0;  ///< of starting and running the flows, without the platform
};

/// All flows start at 0. Runs in a child process, as SimGrid has one engine per process. Flows between the same hosts
/// must have the same path; weights are 1 and there are no caps. Throws std::runtime_error if the child fails.
SimGridRun run_simgrid(const FlowScene& scene);

}  // namespace fabricast
