// Default NCCL versions of scenarios that do not state one: those that frameworks of recent years bundle, by the age of
// the GPU.
//
// PyTorch 2.1 and 2.2 bundle 2.18 and 2.19, 2.3 and 2.4 2.20, 2.5 and 2.6 2.21, 2.7 2.26, 2.8 and 2.9 2.27
// [PyTorch-NCCL]. Clusters keep an image for one or two years, and older GPUs for longer. The versions are facts, the
// weights are guesses. A scenario should state `nccl.version` if it is known.
#include <array>
#include <span>

#include "fabricast/planner/nccl.hpp"

namespace fabricast {

namespace {

constexpr std::array before_ampere = {UsualVersion{{2, 8}, 0.1}, UsualVersion{{2, 14}, 0.15},
                                      UsualVersion{{2, 18}, 0.35}, UsualVersion{{2, 21}, 0.25},
                                      UsualVersion{{2, 27}, 0.15}};
constexpr std::array ampere_and_ada = {UsualVersion{{2, 12}, 0.1}, UsualVersion{{2, 18}, 0.25},
                                       UsualVersion{{2, 21}, 0.35}, UsualVersion{{2, 26}, 0.2},
                                       UsualVersion{{2, 28}, 0.1}};
constexpr std::array hopper = {UsualVersion{{2, 18}, 0.1}, UsualVersion{{2, 21}, 0.15}, UsualVersion{{2, 26}, 0.2},
                               UsualVersion{{2, 27}, 0.3}, UsualVersion{{2, 28}, 0.25}};
constexpr std::array blackwell = {UsualVersion{{2, 26}, 0.15}, UsualVersion{{2, 27}, 0.3}, UsualVersion{{2, 28}, 0.35},
                                  UsualVersion{{2, 30}, 0.2}};

}  // namespace

std::span<const UsualVersion> usual_versions(int compute_capability) {
  if (compute_capability >= 100) return blackwell;
  if (compute_capability >= 90) return hopper;
  if (compute_capability >= 80) return ampere_and_ada;
  return before_ampere;
}

NcclVersion usual_version(int compute_capability) {
  // The median instead of the most frequent version: half of the machines run older ones, half newer ones.
  double below = 0;
  for (const UsualVersion& usual : usual_versions(compute_capability))
    if (below += usual.weight; below >= 0.5) return usual.version;
  return newest_nccl;
}

}  // namespace fabricast
