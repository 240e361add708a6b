// Dragonfly [Kim2008]: groups of switches that are all connected to each other, and groups that are all connected to
// each other. Slingshot systems such as Frontier and Alps are built like this [DeSensi2020].
//
// Two switches of a group have `local_links` cables, two groups `global_links`, which connect to the switches in turn
// (groups.hpp).
//
// Minimal paths cross at most one global cable. That has length 3 and a local cable 1, so a path over two global cables
// is longer than any over one.
#include <fmt/format.h>

#include "fabricast/core/error.hpp"
#include "groups.hpp"

namespace fabricast {

struct DragonflySpec : GroupedBasics {
  int switches_per_group = 16;
};

void visit_fields(FieldVisitor& visit, DragonflySpec& spec) {
  visit_direct(visit, spec);
  visit("groups", spec.groups, "number of groups; 0: as many as the nodes need", between(0, 10000));
  visit("switches_per_group", spec.switches_per_group, "switches of a group, all connected to each other",
        between(1, 1024));
  visit("local_links", spec.local_links, "parallel cables between two switches of a group", between(1, 64));
  visit("global_links", spec.global_links,
        "cables between two groups, distributed over their switches; 0: as many as ports are left", between(0, 4096));
  visit("global_cable", spec.global_cable, "length of a cable between groups", between(0, 1e5));
}

namespace {

class DragonflyDistances final : public Distances {
 public:
  DragonflyDistances(std::uint32_t groups, std::uint32_t switches, const GlobalCables& globals)
      : groups_(groups), switches_(switches), globals_(globals) {}

  std::string text() const override {
    return fmt::format("dragonfly {} {} {}", groups_, switches_, globals_.between());
  }
  std::uint32_t group_of(std::uint32_t at) const override { return at / switches_; }
  std::uint32_t length(std::uint32_t from, std::uint32_t to) const override {
    return group_of(from) == group_of(to) ? local : global;
  }
  std::uint32_t distance(std::uint32_t from, std::uint32_t to) const override {
    if (from == to) return 0;
    const std::uint32_t a = group_of(from), b = group_of(to);
    if (a == b) return local;
    const std::uint32_t i = globals_.lowest(a, from % switches_, b), j = globals_.lowest(b, to % switches_, a);
    const bool begins = i < globals_.between(), ends = j < globals_.between();
    // With more cables than switches, i + n switches begin there as well, and end at the same switch as i.
    if (begins && i == j) return global;
    return begins || ends ? global + local : global + 2 * local;
  }

 private:
  static constexpr std::uint32_t local = 1, global = 3;
  std::uint32_t groups_, switches_;
  GlobalCables globals_;
};

}  // namespace

Fabric build(const DragonflySpec& spec, const FabricDemand& demand) {
  const auto a = static_cast<std::uint32_t>(spec.switches_per_group),
             local = static_cast<std::uint32_t>(spec.local_links);
  const std::uint32_t groups = number_of_groups(spec, demand, a, "a switch");
  const Attachment at = attach(spec, demand, groups * a);
  const std::uint64_t taken = nic_ports(spec, at) + std::uint64_t{a - 1} * local;
  const GlobalCables globals(spec, groups, a, taken);
  if (groups > 1 && globals.between() == 0)
    throw UserError::at("fabric.switch.ports",
                        fmt::format("a switch needs {} of {} ports for nodes and its group, so {} groups of {} "
                                    "switches cannot all be connected",
                                    taken, spec.switch_box.ports, groups, a),
                        "use switches with more ports, more switches per group, or fewer groups");
  require_ports(spec, "a switch", taken + globals.at_switch());

  FabricBuilder builder = begin_direct(spec, demand, at, groups * a, 0);
  const std::uint32_t first = demand.nodes * demand.ports_per_node;
  const LinkClass near = between_switches(spec, demand, spec.cable);
  for (std::uint32_t g = 0; g < groups; ++g)
    for (std::uint32_t x = 0; x < a; ++x)
      for (std::uint32_t y = x + 1; y < a; ++y)
        for (std::uint32_t c = 0; c < local; ++c)
          builder.add_cable(VertexId(first + g * a + x), VertexId(first + g * a + y), near, near);
  globals.add_to(builder, first, between_switches(spec, demand, spec.global_cable));
  builder.set_metric(std::make_shared<DragonflyDistances>(groups, a, globals));
  return std::move(builder).build();
}

Topology dragonfly() {
  return make_topology<DragonflySpec>(
      "dragonfly", "groups of connected switches, all groups connected: Slingshot systems", "[Kim2008]");
}

}  // namespace fabricast
