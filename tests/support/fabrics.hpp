// Fabrics and routers from a few words, and what a graph says of them without their arithmetic.
#pragma once

#include <any>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "fabricast/routing/routing.hpp"
#include "fabricast/topology/topology.hpp"

namespace fabricast::test {

/// Keys of a spec as the user writes them: `switch.ports`, `oversubscription`.
using Keys = std::map<std::string, std::string>;

std::any topology_spec(std::string_view kind, const Keys& keys = {});
Fabric fabric_of(std::string_view kind, const FabricDemand& demand, const Keys& keys = {});
FabricDemand demand_of(std::uint32_t nodes, std::uint32_t ports_per_node);

/// \param state outlives the router, as does the fabric
std::unique_ptr<Router> router_of(std::string_view policy, const Fabric& fabric, const LinkState& state,
                                  std::uint64_t seed = 1, const Keys& keys = {});

/// Links from an endpoint to every vertex by breadth-first search; -1 where there is no way. NICs do not forward.
std::vector<int> hops_from(const Fabric& fabric, std::uint32_t endpoint, const LinkState& state = {});

/// Whether the links join end to end from one endpoint to the other.
bool joins(const Fabric& fabric, const std::vector<std::uint32_t>& links, std::uint32_t from, std::uint32_t to);

}  // namespace fabricast::test
