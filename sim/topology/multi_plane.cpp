// Several planes of leaves and spines. The rate of each NIC is split over its ports, one in every plane, as ConnectX-8
// and the dual-port NICs of HPN 7.0 [Qian2024] do. Each plane hashes by itself, and one may fail.
//
// With `rails`, NIC k of every node of a block connects to leaf k of the block in each plane; without, all NICs of a
// node connect to one leaf of each plane. Every leaf has as many cables to each spine of its plane.
//
// `planes` of the Clos topologies folds all planes into one network instead, which suits three tiers and a million
// GPUs, but hashes alike in all planes and cannot lose one.
#include <fmt/format.h>

#include <algorithm>

#include "cables.hpp"
#include "fabricast/core/error.hpp"
#include "fabricast/fabric/planes.hpp"
#include "sizing.hpp"

namespace fabricast {

struct MultiPlaneSpec : TieredBasics {
  MultiPlaneSpec() { planes = 2; }
  PlaneChoice choice = PlaneChoice::packet;
  bool rails = true;
  int nodes_per_leaf = 0;
};

void visit_fields(FieldVisitor& visit, MultiPlaneSpec& spec) {
  visit_basics(visit, spec);
  visit("planes", spec.planes, "parallel networks, with a port of every NIC in each", between(2, 8));
  visit("choice", spec.choice, "what selects a plane: each packet, or each queue pair by a hash");
  visit("rails", spec.rails, "whether each NIC of a node connects to a separate leaf, in every plane");
  visit("nodes_per_leaf", spec.nodes_per_leaf, "nodes per leaf; 0: as many as it has ports for", between(0, 1e6));
  visit("oversubscription", spec.oversubscription, "down : up at the leaf", proportion(1, 64));
  visit("leaf_up", spec.leaf_up, "uplink ports of a leaf; 0: by oversubscription", between(0, 4096));
  visit("breakout", spec.breakout, "NIC ports per port of a leaf: 2 splits 400 Gb/s into 2 x 200 Gb/s", between(1, 8));
}

Fabric build(const MultiPlaneSpec& spec, const FabricDemand& demand) {
  const auto ports = static_cast<std::uint32_t>(spec.switch_box.ports),
             planes = static_cast<std::uint32_t>(spec.planes);
  const std::uint32_t nics = demand.ports_per_node, rails = spec.rails ? nics : 1, at_leaf = nics / rails;
  const auto fits = [&](std::uint32_t down) { return down / at_leaf; };
  // A leaf that holds all nodes needs no spines.
  const PortSplit split = leaf_ports(spec);
  const std::uint32_t alone = lone_leaf_ports(spec);
  const bool lone = rails == 1 && demand.nodes <= fits(alone) && spec.nodes_per_leaf == 0;
  const std::uint32_t block = spec.nodes_per_leaf > 0 ? static_cast<std::uint32_t>(spec.nodes_per_leaf)
                              : lone                  ? demand.nodes
                                                      : fits(split.down);
  if (const std::uint32_t down = lone ? alone : split.down; block == 0 || block > fits(down))
    throw UserError::at("fabric.nodes_per_leaf",
                        fmt::format("a leaf has {} ports for NICs, which is {} nodes of {}", down, fits(down), at_leaf),
                        "use switches with more ports, or fewer nodes per leaf");
  const std::uint32_t blocks = (demand.nodes + block - 1) / block, leaves = blocks * rails;
  const std::uint32_t up = lone ? 0 : split.up, spines = lone ? 0 : fewest_uppers(leaves, up, ports);
  if (!lone && spines == 0)
    throw UserError::at(
        "fabric.switch.ports", fmt::format("{} leaves of a plane do not fit under spines of {} ports", leaves, ports),
        "a plane has two tiers: use switches with more ports, or `planes` of fat_tree or rail_optimized");

  // A port has a part of the rate of its NIC, and no more than the port of the switch.
  const auto [nic_up, nic_down] = nic_classes(spec, demand, demand.port_rate * (demand.nic_efficiency / planes),
                                              spec.switch_box.rate * (1.0 / spec.breakout));
  const LinkClass between = between_switches(spec, demand, spec.cable);

  FabricBuilder builder(demand.nodes, nics * planes);
  for (std::uint32_t l = 0; l < planes * leaves; ++l) builder.add_switch(Tier::leaf);
  for (std::uint32_t s = 0; s < planes * spines; ++s) builder.add_switch(Tier::spine);
  const std::uint32_t leaf0 = demand.nodes * nics * planes, spine0 = leaf0 + planes * leaves;
  for (std::uint32_t node = 0; node < demand.nodes; ++node)
    for (std::uint32_t p = 0; p < planes; ++p)
      for (std::uint32_t nic = 0; nic < nics; ++nic)
        builder.add_cable(VertexId((node * planes + p) * nics + nic),
                          VertexId(leaf0 + p * leaves + node / block * rails + nic % rails), nic_up, nic_down);
  for (std::uint32_t leaf = 0; leaf < planes * leaves; ++leaf)
    for (std::uint32_t c = 0; c < up; ++c)
      builder.add_cable(VertexId(leaf0 + leaf), VertexId(spine0 + leaf / leaves * spines + c / (up / spines)), between,
                        between);
  builder.set_metric(std::make_shared<PlaneDistances>(planes, nics, leaves, spines, spec.choice));
  return std::move(builder).build();
}

Topology multi_plane() {
  return make_topology<MultiPlaneSpec>(
      "multi_plane", "planes of leaves and spines that hash and fail independently; every NIC has a port in each",
      "[Qian2024]");
}

}  // namespace fabricast
