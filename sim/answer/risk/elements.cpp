// Sorts the components of a fabric into classes: of one kind, with the same role (elements.hpp). Two leaves with the
// same number of the job's ports below them are taken as alike; a leaf with fewer is in another class, and one with
// none is idle.
#include "elements.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "fabricast/fabric/planes.hpp"

namespace fabricast {

Elements::Elements(const World& world) : fabric_(*world.fabric()), adjacency_(fabric_), below_(fabric_.vertices(), 0) {
  count_below(world);
  sort_cables();
  sort_switches();
  std::stable_sort(classes_.begin(), classes_.end(), [](const ElementClass& a, const ElementClass& b) {
    return std::pair(a.component, a.role) < std::pair(b.component, b.role);
  });
}

// In a Clos network each port of the job is below every spine that it can reach, so counts are along all paths.
// Parallel cables count several times; only equality and zero matter.
void Elements::count_below(const World& world) {
  const Communicator& comm = world.planner().comm;
  const PlaneDistances* planes = planes_of(fabric_);
  for (std::uint32_t node = 0; node < comm.nodes(); ++node)
    for (std::uint32_t nic = 0; nic < static_cast<std::uint32_t>(comm.node.nics); ++nic)
      // Every NIC has a port in each plane.
      for (std::uint32_t plane = 0; plane < (planes ? planes->planes() : 1); ++plane)
        below_[comm.endpoint(node, nic, fabric_.ports_per_node()) + (planes ? plane * planes->nics() : 0)] = 1;
  // From the lowest tier up, so that the count of a vertex is complete before it is passed on.
  for (int tier = -1; tier < static_cast<int>(Tier::core); ++tier)
    for (std::uint32_t cable = 0; cable < fabric_.cables(); ++cable) {
      const auto [from, to] = fabric_.link(LinkId(2 * cable));
      const int own = fabric_.is_endpoint(from) ? -1 : static_cast<int>(fabric_.tier(from));
      if (own == tier && (fabric_.is_endpoint(from) || fabric_.tier(to) > fabric_.tier(from)))
        below_[to.value] += below_[from.value];
    }
}

// By the tier of the lower end: the upper end follows from it.
Component Elements::component_of(std::uint32_t cable) const {
  const VertexId from(lower(cable));
  if (fabric_.is_endpoint(from)) return Component::nic_cable;
  return fabric_.tier(from) == Tier::leaf ? Component::leaf_spine_cable : Component::spine_core_cable;
}

void Elements::add(Component component, std::uint32_t element, std::uint32_t below, std::uint32_t most) {
  const Role role = below == 0 ? Role::idle : below < most ? Role::partly : Role::full;
  for (ElementClass& c : classes_)
    if (c.component == component && c.role == role) return c.members.push_back(element);
  classes_.push_back({component, role, {element}});
}

void Elements::sort_cables() {
  std::array<std::uint32_t, 4> most{};  // by tier of the lower end, endpoints first
  const auto tier = [&](std::uint32_t cable) {
    const VertexId from(lower(cable));
    return fabric_.is_endpoint(from) ? std::size_t{0} : 1 + static_cast<std::size_t>(fabric_.tier(from));
  };
  for (std::uint32_t c = 0; c < fabric_.cables(); ++c) most[tier(c)] = std::max(most[tier(c)], below_[lower(c)]);
  for (std::uint32_t c = 0; c < fabric_.cables(); ++c) add(component_of(c), c, below_[lower(c)], most[tier(c)]);
}

void Elements::sort_switches() {
  std::array<std::uint32_t, 3> most{};
  for (std::uint32_t v = fabric_.endpoints(); v < fabric_.vertices(); ++v) {
    auto& m = most[static_cast<std::size_t>(fabric_.tier(VertexId(v)))];
    m = std::max(m, below_[v]);
  }
  for (std::uint32_t v = fabric_.endpoints(); v < fabric_.vertices(); ++v) {
    const auto tier = static_cast<std::size_t>(fabric_.tier(VertexId(v)));
    constexpr std::array kinds = {Component::leaf, Component::spine, Component::core};
    add(kinds[tier], v, below_[v], most[tier]);
  }
  // All rails are equal, since every host has a NIC on each. On a fabric without rails the class would be the whole
  // fabric.
  if (const Clos* clos = fabric_.clos(); clos && clos->rails > 1)
    for (std::uint32_t rail = 0; rail < clos->rails; ++rail) add(Component::rail, rail, 1, 1);
}

std::vector<LinkId> Elements::links(Component component, std::uint32_t element) const {
  std::vector<LinkId> list;
  const auto add_switch = [&](std::uint32_t v) {
    for (const LinkId l : adjacency_.out(VertexId(v))) {
      list.push_back(l);
      list.push_back(Fabric::reverse(l));
    }
  };
  if (component == Component::rail) {
    const Clos& clos = *fabric_.clos();
    std::set<std::uint32_t> leaves;
    for (std::uint32_t e = 0; e < fabric_.endpoints(); ++e)
      // Port k of a host belongs to rail k modulo the number of rails.
      if (e % clos.ports_per_node % clos.rails == element) leaves.insert(clos.leaf_of(e));
    for (const std::uint32_t leaf : leaves) add_switch(fabric_.endpoints() + leaf);
  } else if (component == Component::leaf || component == Component::spine || component == Component::core) {
    add_switch(element);
  } else {
    list = {LinkId(2 * element), LinkId(2 * element + 1)};
  }
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
  return list;
}

// Even links of a cable go up, so of the links out of the lower end only those are cables to the tier above.
std::vector<LinkId> Elements::siblings(std::uint32_t cable) const {
  std::vector<LinkId> list;
  for (const LinkId l : adjacency_.out(VertexId(lower(cable))))
    if (l.value % 2 == 0) {
      list.push_back(l);
      list.push_back(Fabric::reverse(l));
    }
  return list;
}

std::string Elements::name(Component component, std::uint32_t element) const {
  switch (component) {
    case Component::rail: return fmt::format("rail {}", element);
    case Component::leaf:
    case Component::spine:
    case Component::core: return fabric_.name(VertexId(element));
    case Component::nic:
    case Component::nic_cable: return fabric_.name(VertexId(lower(element)));
    default: return fabric_.name(LinkId(2 * element));
  }
}

int Elements::hosts_at(std::uint32_t leaf) const {
  std::set<std::uint32_t> hosts;
  for (const LinkId l : adjacency_.out(VertexId(leaf)))
    if (const VertexId to = fabric_.link(l).to; fabric_.is_endpoint(to) && below_[to.value] > 0)
      hosts.insert(to.value / fabric_.ports_per_node());
  return static_cast<int>(hosts.size());
}

std::int64_t Elements::nic_ports(bool with_neighbours) const {
  std::int64_t ports = 0;
  for (std::uint32_t v = fabric_.endpoints(); v < fabric_.vertices(); ++v) {
    std::int64_t own = 0, all = 0;
    for (const LinkId l : adjacency_.out(VertexId(v)))
      if (const VertexId to = fabric_.link(l).to; fabric_.is_endpoint(to)) {
        ++all;
        own += below_[to.value] > 0 ? 1 : 0;
      }
    if (own > 0) ports += with_neighbours ? all : own;
  }
  return ports;
}

}  // namespace fabricast
