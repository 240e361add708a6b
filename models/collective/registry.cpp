#include <array>

#include "fabricast/collective/algorithm.hpp"

namespace fabricast {

#define FABRICAST_COLLECTIVE(name) CollectiveAlgorithm name##_algorithm();
#include "algorithms.inc"
#undef FABRICAST_COLLECTIVE
/// Not in the list: they have no schedule (models/collective/symmetric.cpp).
CollectiveAlgorithm symmetric_kernels();

std::span<const CollectiveAlgorithm> collective_algorithms() {
  static const std::array table = {
#define FABRICAST_COLLECTIVE(name) name##_algorithm(),
#include "algorithms.inc"
#undef FABRICAST_COLLECTIVE
  };
  return table;
}

std::vector<NetworkEdge> list_edges(const CollectiveAlgorithm& algorithm, const Communicator& comm, const Plan& plan,
                                    int channel) {
  std::vector<NetworkEdge> edges;
  if (algorithm.network_edges)
    algorithm.network_edges(comm, plan, channel, [&](const NetworkEdge& edge) { edges.push_back(edge); });
  return edges;
}

const CollectiveAlgorithm* find_by_algorithm(Algorithm algorithm) {
  static const CollectiveAlgorithm kernels = symmetric_kernels();
  if (algorithm == Algorithm::symmetric) return &kernels;
  for (const CollectiveAlgorithm& a : collective_algorithms())
    if (a.algorithm == algorithm) return &a;
  return nullptr;
}

std::uint64_t edge_key_of(const Plan& plan) {
  const CollectiveAlgorithm& algorithm = *find_by_algorithm(plan.algorithm);
  return algorithm.edge_key ? algorithm.edge_key(plan) : 0;
}

}  // namespace fabricast
