#include <catch2/catch.hpp>

#include "fabricast/core/names.hpp"
#include "fabricast/routing/routing.hpp"
#include "fabricast/topology/topology.hpp"

namespace {

using namespace fabricast;

TEST_CASE("a bundle to a tier that is not there carries nothing", "[routing]") {
  // One switch: no links above the leaf. Two tiers: none above the spines. Under the sanitizers this reads no stray
  // link.
  const std::string_view kind = GENERATE(as<std::string_view>(), "single_switch", "rail_optimized");
  CAPTURE(kind);
  const Topology& topology = *find_by_name(topologies(), kind);
  FabricDemand demand;
  demand.nodes = 4, demand.ports_per_node = 8;
  const Fabric fabric = topology.build(topology.defaults(FabricBasics{}), demand);
  const RoutingPolicy& policy = *find_by_name(routing_policies(), "adaptive");
  const LinkState state;
  const auto router = policy.make(policy.defaults(), fabric, state, 1);

  const Clos& clos = *fabric.clos();
  REQUIRE(router->bundles() == 2 * (clos.leaves + clos.groups));
  for (std::uint32_t b = 0; b < router->bundles(); ++b) {
    CAPTURE(b);
    const bool of_leaf = b < 2 * clos.leaves;
    const double links = of_leaf ? clos.leaf_up : 0;
    CHECK(capacity(fabric, *router, state, fabric.links() + b).value == Approx(links * 50e9));
  }
}

}  // namespace
