#include <array>

#include "fabricast/collective/algorithm.hpp"

namespace fabricast {

#define FABRICAST_COLLECTIVE(name) CollectiveAlgorithm name##_algorithm();
#include "algorithms.inc"
#undef FABRICAST_COLLECTIVE

std::span<const CollectiveAlgorithm> collective_algorithms() {
  static const std::array table = {
#define FABRICAST_COLLECTIVE(name) name##_algorithm(),
#include "algorithms.inc"
#undef FABRICAST_COLLECTIVE
  };
  return table;
}

const CollectiveAlgorithm* find_by_algorithm(Algorithm algorithm) {
  for (const CollectiveAlgorithm& a : collective_algorithms())
    if (a.algorithm == algorithm) return &a;
  return nullptr;
}

}  // namespace fabricast
