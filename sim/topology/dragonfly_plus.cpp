// Dragonfly+ [Shpiner2017]: each group is a two-tier network of leaves and spines, and the spines of all groups are
// connected. Leonardo is built like this [Leonardo2023].
//
// Every leaf has `local_links` cables to every spine of its group. Two groups have `global_links` cables, which connect
// to their spines in turn as the global cables of a dragonfly do (1 in dragonfly.cpp).
//
// Minimal paths are leaf, spine, spine of the other group, leaf: all of one length, over one global cable. A global cable
// has length 5 and a local one 1, so even paths between spines, over up to four local cables, cross only one.
#include <fmt/format.h>

#include <algorithm>

#include "direct.hpp"
#include "fabricast/core/error.hpp"

namespace fabricast {

struct DragonflyPlusSpec : DirectBasics {
  int groups = 0;
  int leaves_per_group = 16;
  int spines_per_group = 16;
  int local_links = 1;
  int global_links = 0;
  Metres global_cable{50};
};

void visit_fields(FieldVisitor& visit, DragonflyPlusSpec& spec) {
  visit_direct(visit, spec);
  visit("groups", spec.groups, "number of groups; 0: as many as the nodes need", between(0, 10000));
  visit("leaves_per_group", spec.leaves_per_group, "leaves of a group; NICs connect to leaves", between(1, 1024));
  visit("spines_per_group", spec.spines_per_group, "spines of a group, each connected to every leaf of it",
        between(1, 1024));
  visit("local_links", spec.local_links, "parallel cables between a leaf and a spine of its group", between(1, 64));
  visit("global_links", spec.global_links,
        "cables between two groups, distributed over their spines; 0: as many as ports are left", between(0, 4096));
  visit("global_cable", spec.global_cable, "length of a cable between groups", between(0, 1e5));
}

namespace {

/// Leaves are numbered first, group by group, then spines.
class DragonflyPlusDistances final : public Distances {
 public:
  DragonflyPlusDistances(std::uint32_t groups, std::uint32_t leaves, std::uint32_t spines, std::uint32_t globals)
      : groups_(groups), leaves_(leaves), spines_(spines), globals_(globals) {}

  std::string text() const override {
    return fmt::format("dragonfly_plus {} {} {} {}", groups_, leaves_, spines_, globals_);
  }
  std::uint32_t group_of(std::uint32_t at) const override {
    return is_leaf(at) ? at / leaves_ : (at - groups_ * leaves_) / spines_;
  }
  std::uint32_t length(std::uint32_t from, std::uint32_t to) const override {
    return is_leaf(from) || is_leaf(to) ? local : global;
  }
  std::uint32_t distance(std::uint32_t from, std::uint32_t to) const override {
    if (from == to) return 0;
    const std::uint32_t a = group_of(from), b = group_of(to);
    // Up and down count from leaves; two leaves, and two spines, of a group are two local cables apart.
    if (a == b) return is_leaf(from) == is_leaf(to) ? 2 * local : local;
    if (is_leaf(from) && is_leaf(to)) return global + 2 * local;
    if (is_leaf(from)) return to_spine(to, b, a);
    if (is_leaf(to)) return to_spine(from, a, b);
    const std::uint32_t i = cable_of(from, a, b), j = cable_of(to, b, a);
    if (i < globals_ && i == j) return global;
    return i < globals_ || j < globals_ ? global + 2 * local : global + 4 * local;
  }
  std::uint32_t first(std::uint32_t a, std::uint32_t b) const { return (b + groups_ - a - 1) % groups_ * globals_; }

 private:
  static constexpr std::uint32_t local = 1, global = 5;
  bool is_leaf(std::uint32_t at) const { return at < groups_ * leaves_; }
  /// The lowest cable of groups a and b at a spine of a, if there are enough cables.
  std::uint32_t cable_of(std::uint32_t spine, std::uint32_t a, std::uint32_t b) const {
    const std::uint32_t index = (spine - groups_ * leaves_) % spines_;
    return (index + spines_ - first(a, b) % spines_) % spines_;
  }
  /// From a spine of group a to a leaf of group b: the spine has a cable to b, or one over a leaf of its group has.
  std::uint32_t to_spine(std::uint32_t spine, std::uint32_t a, std::uint32_t b) const {
    return cable_of(spine, a, b) < globals_ ? global + local : global + 3 * local;
  }
  std::uint32_t groups_, leaves_, spines_, globals_;
};

}  // namespace

Fabric build(const DragonflyPlusSpec& spec, const FabricDemand& demand) {
  const auto leaves = static_cast<std::uint32_t>(spec.leaves_per_group),
             spines = static_cast<std::uint32_t>(spec.spines_per_group),
             local = static_cast<std::uint32_t>(spec.local_links);
  auto groups = static_cast<std::uint32_t>(spec.groups);
  if (groups == 0) {
    if (spec.nodes_per_switch == 0)
      throw UserError::at("fabric.groups", "neither the groups nor the nodes of a leaf are given",
                          "write fabric.groups or fabric.nodes_per_switch");
    const std::uint64_t room = std::uint64_t{leaves} * static_cast<std::uint32_t>(spec.nodes_per_switch);
    groups = static_cast<std::uint32_t>((demand.nodes + room - 1) / room);
  }
  const Attachment at = attach(spec, demand, groups * leaves);
  require_ports(spec, "a leaf", nic_ports(spec, at) + std::uint64_t{spines} * local);
  const std::uint64_t down = std::uint64_t{leaves} * local;
  const auto ports = static_cast<std::uint32_t>(spec.switch_box.ports);
  auto global = static_cast<std::uint32_t>(spec.global_links);
  if (groups > 1 && global == 0 && down < ports)
    global = static_cast<std::uint32_t>((ports - down) * spines / (groups - 1));
  if (groups > 1 && global == 0)
    throw UserError::at("fabric.switch.ports",
                        fmt::format("a spine needs {} of {} ports for its leaves, so {} groups of {} spines cannot all "
                                    "be connected",
                                    down, ports, groups, spines),
                        "use switches with more ports, more spines per group, or fewer groups");
  const std::uint64_t globals = std::uint64_t{groups - 1} * global;
  require_ports(spec, "a spine", down + (globals + spines - 1) / spines);

  const auto metric = std::make_shared<DragonflyPlusDistances>(groups, leaves, spines, global);
  FabricBuilder builder = begin_direct(spec, demand, at, groups * leaves, groups * spines);
  const std::uint32_t leaf0 = demand.nodes * demand.ports_per_node, spine0 = leaf0 + groups * leaves;
  const LinkClass near = between_switches(spec, demand, spec.cable),
                  far = between_switches(spec, demand, spec.global_cable);
  for (std::uint32_t g = 0; g < groups; ++g)
    for (std::uint32_t leaf = 0; leaf < leaves; ++leaf)
      for (std::uint32_t s = 0; s < spines; ++s)
        for (std::uint32_t c = 0; c < local; ++c)
          builder.add_cable(VertexId(leaf0 + g * leaves + leaf), VertexId(spine0 + g * spines + s), near, near);
  for (std::uint32_t g = 0; g < groups; ++g)
    for (std::uint32_t h = g + 1; h < groups; ++h)
      for (std::uint32_t i = 0; i < global; ++i)
        builder.add_cable(VertexId(spine0 + g * spines + (metric->first(g, h) + i) % spines),
                          VertexId(spine0 + h * spines + (metric->first(h, g) + i) % spines), far, far);
  builder.set_metric(metric);
  return std::move(builder).build();
}

Topology dragonfly_plus() {
  return make_topology<DragonflyPlusSpec>(
      "dragonfly_plus", "groups of leaves and spines, spines of all groups connected", "[Shpiner2017]");
}

}  // namespace fabricast
