// Dragonfly+ [Shpiner2017]: each group is a two-tier network of leaves and spines, and the spines of all groups are
// connected. Leonardo is built like this [Leonardo2023].
//
// Every leaf has `local_links` cables to every spine of its group. Two groups have `global_links` cables, which connect
// to their spines in turn (groups.hpp).
//
// Minimal paths are leaf, spine, spine of the other group, leaf: all of one length, over one global cable. A global cable
// has length 5 and a local one 1, so even paths between spines, over up to four local cables, cross only one.
#include <fmt/format.h>

#include "fabricast/core/error.hpp"
#include "groups.hpp"

namespace fabricast {

struct DragonflyPlusSpec : GroupedBasics {
  int leaves_per_group = 16;
  int spines_per_group = 16;
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
  DragonflyPlusDistances(std::uint32_t groups, std::uint32_t leaves, std::uint32_t spines, const GlobalCables& globals)
      : groups_(groups), leaves_(leaves), spines_(spines), globals_(globals) {}

  std::string text() const override {
    return fmt::format("dragonfly_plus {} {} {} {}", groups_, leaves_, spines_, globals_.between());
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
    const bool begins = i < globals_.between(), ends = j < globals_.between();
    if (begins && i == j) return global;
    return begins || ends ? global + 2 * local : global + 4 * local;
  }

 private:
  static constexpr std::uint32_t local = 1, global = 5;
  bool is_leaf(std::uint32_t at) const { return at < groups_ * leaves_; }
  /// The lowest cable of groups a and b at a spine of a, if there are enough cables.
  std::uint32_t cable_of(std::uint32_t spine, std::uint32_t a, std::uint32_t b) const {
    return globals_.lowest(a, (spine - groups_ * leaves_) % spines_, b);
  }
  /// From a spine of group a to a leaf of group b: the spine has a cable to b, or one over a leaf of its group has.
  std::uint32_t to_spine(std::uint32_t spine, std::uint32_t a, std::uint32_t b) const {
    return cable_of(spine, a, b) < globals_.between() ? global + local : global + 3 * local;
  }
  std::uint32_t groups_, leaves_, spines_;
  GlobalCables globals_;
};

}  // namespace

Fabric build(const DragonflyPlusSpec& spec, const FabricDemand& demand) {
  const auto leaves = static_cast<std::uint32_t>(spec.leaves_per_group),
             spines = static_cast<std::uint32_t>(spec.spines_per_group),
             local = static_cast<std::uint32_t>(spec.local_links);
  const std::uint32_t groups = number_of_groups(spec, demand, leaves, "a leaf");
  const Attachment at = attach(spec, demand, groups * leaves);
  require_ports(spec, "a leaf", nic_ports(spec, at) + std::uint64_t{spines} * local);
  const std::uint64_t down = std::uint64_t{leaves} * local;
  const GlobalCables globals(spec, groups, spines, down);
  if (groups > 1 && globals.between() == 0)
    throw UserError::at("fabric.switch.ports",
                        fmt::format("a spine needs {} of {} ports for its leaves, so {} groups of {} spines cannot all "
                                    "be connected",
                                    down, spec.switch_box.ports, groups, spines),
                        "use switches with more ports, more spines per group, or fewer groups");
  require_ports(spec, "a spine", down + globals.at_switch());

  FabricBuilder builder = begin_direct(spec, demand, at, groups * leaves, groups * spines);
  const std::uint32_t leaf0 = demand.nodes * demand.ports_per_node, spine0 = leaf0 + groups * leaves;
  const LinkClass near = between_switches(spec, demand, spec.cable);
  for (std::uint32_t g = 0; g < groups; ++g)
    for (std::uint32_t leaf = 0; leaf < leaves; ++leaf)
      for (std::uint32_t s = 0; s < spines; ++s)
        for (std::uint32_t c = 0; c < local; ++c)
          builder.add_cable(VertexId(leaf0 + g * leaves + leaf), VertexId(spine0 + g * spines + s), near, near);
  globals.add_to(builder, spine0, between_switches(spec, demand, spec.global_cable));
  builder.set_metric(std::make_shared<DragonflyPlusDistances>(groups, leaves, spines, globals));
  return std::move(builder).build();
}

Topology dragonfly_plus() {
  return make_topology<DragonflyPlusSpec>(
      "dragonfly_plus", "groups of leaves and spines, spines of all groups connected", "[Shpiner2017]");
}

}  // namespace fabricast
