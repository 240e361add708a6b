// Flows on links, for tests and benchmarks of the flow engine.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "fabricast/fluid/fluid.hpp"

namespace fabricast {

struct SceneFlow {
  double bytes = 0;
  std::vector<FluidUse> path;
  double weight = 1;
  double cap = std::numeric_limits<double>::infinity();
  double start = 0;
  std::uint32_t from = 0, to = 0;  ///< hosts, where the scene has some
};

struct FlowScene {
  std::vector<double> capacity;  ///< by link
  std::vector<SceneFlow> flows;  ///< in order of start
  std::uint32_t hosts = 0;
};

enum class Spine { by_destination, at_random };  ///< d-mod-k, or ECMP

/// Superposed random permutations on a two-level fat tree of k leaves with k hosts each and k spines, k * k = hosts,
/// 50 GB/s everywhere; sizes uniform in 0.5 to 1.5 of 1 GB, cut to whole bytes. At least `flows` but for whole
/// permutations, less the hosts that a permutation leaves in place.
FlowScene permutations(std::uint32_t hosts, std::uint32_t flows, Spine spine, std::uint64_t seed);

/// Links in a row; each flow crosses 1 to `reach` successive ones.
FlowScene parking_lot(std::uint32_t links, std::uint32_t flows, std::uint32_t reach, std::uint64_t seed);

}  // namespace fabricast
