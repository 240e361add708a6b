#include <array>

#include "fabricast/topology/topology.hpp"

namespace fabricast {

#define FABRICAST_TOPOLOGY(name) Topology name();
#include "topologies.inc"
#undef FABRICAST_TOPOLOGY

std::span<const Topology> topologies() {
  static const std::array table = {
#define FABRICAST_TOPOLOGY(name) name(),
#include "topologies.inc"
#undef FABRICAST_TOPOLOGY
  };
  return table;
}

}  // namespace fabricast
