// The table of algorithms, made from algorithms.inc: each line names a file of this folder and its descriptor. The same
// list makes the enumeration Algorithm, so the two cannot differ in order.
#include <array>

#include "fabricast/collective/algorithm.hpp"

namespace fabricast {

#define FABRICAST_COLLECTIVE(name) CollectiveAlgorithm name##_algorithm();
#include "fabricast/collective/algorithms.inc"
#undef FABRICAST_COLLECTIVE

std::span<const CollectiveAlgorithm> collective_algorithms() {
  static const std::array table = {
#define FABRICAST_COLLECTIVE(name) name##_algorithm(),
#include "fabricast/collective/algorithms.inc"
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
  return &collective_algorithms()[static_cast<std::size_t>(algorithm)];
}

std::uint64_t edge_key_of(const Plan& plan) {
  const CollectiveAlgorithm& algorithm = *find_by_algorithm(plan.algorithm);
  return algorithm.edge_key ? algorithm.edge_key(plan) : 0;
}

}  // namespace fabricast
