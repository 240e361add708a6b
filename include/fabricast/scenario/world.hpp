// A scenario made real: the fabric built, NCCL's view of the cluster resolved, faults found on their links.
#pragma once

#include <memory>

#include "fabricast/engine/engine.hpp"
#include "fabricast/planner/planner.hpp"
#include "fabricast/scenario/scenario.hpp"

namespace fabricast {

struct World {
  Scenario scenario;
  Planner planner;
  std::unique_ptr<Fabric> fabric;  ///< null if the job has one NCCL node
  NetworkSetup setup;              ///< points into this World
  Draws draws;
  std::vector<Diagnostic> warnings;

  World() = default;
  World(const World&) = delete;  // setup points inside
  World& operator=(const World&) = delete;
};

/// \throws UserError if something does not fit together.
std::unique_ptr<World> build_world(Scenario scenario);

}  // namespace fabricast
