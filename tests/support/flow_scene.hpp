// Flows on links, to hold max-min shares against others.
#pragma once

#include <cstdint>
#include <vector>

namespace fabricast {

struct SceneFlow {
  double bytes = 0;
  std::vector<std::uint32_t> path;  ///< links
  std::uint32_t from = 0, to = 0;   ///< hosts
};

struct FlowScene {
  std::vector<double> capacity;  ///< by link
  std::vector<SceneFlow> flows;
  std::uint32_t hosts = 0;
};

/// Superposed random permutations on a two-level fat tree of k leaves with k hosts each and k spines, k * k = hosts,
/// 50 GB/s everywhere; sizes uniform in 0.5 to 1.5 of 1 GB, cut to whole bytes. At least `flows` but for whole
/// permutations, less the hosts that a permutation leaves in place.
FlowScene permutations(std::uint32_t hosts, std::uint32_t flows, std::uint64_t seed);

}  // namespace fabricast
