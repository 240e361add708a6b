// Where hosts connect to the fabric: by arithmetic in Clos networks, by their neighbors in fabrics from a file.
//
// Placement and reports need two levels only: hosts of one leaf reach each other without an uplink, hosts of one group
// without a core. The numbers are consecutive from 0, in the order of the first host.
#include <algorithm>
#include <map>
#include <set>

#include "fabricast/topology/placement.hpp"

namespace fabricast {

namespace {

/// Numbers values in the order of their first occurrence.
template <class T>
class Numbers {
 public:
  std::uint32_t of(const T& value) {
    return known_.try_emplace(value, static_cast<std::uint32_t>(known_.size())).first->second;
  }

 private:
  std::map<T, std::uint32_t> known_;
};

/// Hosts of a block have the same leaves. Rails are alike, so the leaf of the first port represents the host's leaves.
Locality of_clos(const Fabric& fabric, const Clos& clos) {
  Locality at;
  Numbers<std::uint32_t> leaves, groups;
  for (std::uint32_t host = 0; host < fabric.nodes(); ++host) {
    const std::uint32_t leaf = clos.leaf_of(host * clos.ports_per_node);
    at.leaf.push_back(leaves.of(leaf));
    at.group.push_back(groups.of(clos.group_of(leaf)));
  }
  return at;
}

/// The switch of the first port represents those of the host.
Locality of_metric(const Fabric& fabric, const Distances& metric) {
  Locality at;
  Numbers<std::uint32_t> leaves, groups;
  for (std::uint32_t host = 0; host < fabric.nodes(); ++host) {
    // Ports come first among the links.
    const VertexId to = fabric.link(LinkId(2 * fabric.endpoint(host, 0).value)).to;
    const std::uint32_t leaf = to.value - fabric.endpoints();
    at.leaf.push_back(leaves.of(leaf));
    at.group.push_back(groups.of(metric.group_of(leaf)));
  }
  return at;
}

/// Hosts with the same set of switches have the same leaf. Leaves with the same first switch above them, cores
/// excluded, have the same group.
Locality of_graph(const Fabric& fabric) {
  // Switches above a set of vertices: those connected to a port, or to a switch of a lower tier.
  const Fabric::Adjacency adjacency(fabric);
  const auto above = [&](const std::set<std::uint32_t>& vertices) {
    std::set<std::uint32_t> up;
    for (const std::uint32_t v : vertices)
      for (const LinkId l : adjacency.out(VertexId(v))) {
        const VertexId to = fabric.link(l).to;
        if (!fabric.is_endpoint(to) && (fabric.is_endpoint(VertexId(v)) || fabric.tier(to) > fabric.tier(VertexId(v))))
          up.insert(to.value);
      }
    return up;
  };
  Locality at;
  Numbers<std::set<std::uint32_t>> leaves;
  Numbers<std::uint32_t> groups;
  std::map<std::uint32_t, std::uint32_t> group_of_leaf;
  for (std::uint32_t host = 0; host < fabric.nodes(); ++host) {
    std::set<std::uint32_t> ports;
    for (std::uint32_t p = 0; p < fabric.ports_per_node(); ++p) ports.insert(fabric.endpoint(host, p).value);
    const std::set<std::uint32_t> switches = above(ports);
    const std::uint32_t leaf = leaves.of(switches);
    const auto [it, fresh] = group_of_leaf.try_emplace(leaf, 0);
    if (fresh) {
      std::set<std::uint32_t> spines = above(switches);
      // Cores connect everything, so they would make one group of all.
      std::erase_if(spines, [&](std::uint32_t v) { return fabric.tier(VertexId(v)) == Tier::core; });
      it->second = groups.of(!spines.empty()    ? *spines.begin()
                             : switches.empty() ? fabric.vertices()
                                                : *switches.begin());
    }
    at.leaf.push_back(leaf);
    at.group.push_back(it->second);
  }
  return at;
}

}  // namespace

Locality locality_of(const Fabric& fabric) {
  if (fabric.clos()) return of_clos(fabric, *fabric.clos());
  return fabric.metric() ? of_metric(fabric, *fabric.metric()) : of_graph(fabric);
}

PlacementShape shape_of(const Locality& at, const std::vector<std::uint32_t>& hosts) {
  PlacementShape shape;
  std::set<std::uint32_t> leaves, groups;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    // The hops of a ring over the hosts in rank order, as NCCL's rings and trees follow the ranks.
    const std::uint32_t host = hosts[i], next = hosts[(i + 1) % hosts.size()];
    leaves.insert(at.leaf[host]);
    groups.insert(at.group[host]);
    shape.leaf_hops += at.leaf[host] != at.leaf[next];
    shape.group_hops += at.group[host] != at.group[next];
  }
  shape.leaves = leaves.size();
  shape.groups = groups.size();
  return shape;
}

}  // namespace fabricast
