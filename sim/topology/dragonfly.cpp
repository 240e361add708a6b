// Dragonfly [Kim2008]: groups of switches that are all connected to each other, and groups that are all connected to
// each other. Slingshot systems such as Frontier and Alps are built like this [DeSensi2020].
//
// A group has a switches. Two switches of a group have `local_links` cables, two groups `global_links`. With G groups,
// each switch has at most ceil((G - 1) global_links / a) global cables. Cable i between groups A and B is number
//
//   t = ((B - A - 1) mod G) x global_links + i                                                                    (1)
//
// of the global cables of A, which connect to its switches in turn: to switch t mod a. The same holds at B. So the
// cables of two groups end at different switches as long as there are enough.
//
// Minimal paths cross at most one global cable. That has length 3 and a local cable 1, so a path over two global cables
// is longer than any over one.
#include <fmt/format.h>

#include <algorithm>

#include "direct.hpp"
#include "fabricast/core/error.hpp"

namespace fabricast {

struct DragonflySpec : DirectBasics {
  int groups = 0;
  int switches_per_group = 16;
  int local_links = 1;
  int global_links = 0;
  Metres global_cable{50};
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
  DragonflyDistances(std::uint32_t groups, std::uint32_t switches, std::uint32_t globals)
      : groups_(groups), switches_(switches), globals_(globals) {}

  std::string text() const override { return fmt::format("dragonfly {} {} {}", groups_, switches_, globals_); }
  std::uint32_t group_of(std::uint32_t at) const override { return at / switches_; }
  std::uint32_t length(std::uint32_t from, std::uint32_t to) const override {
    return group_of(from) == group_of(to) ? local : global;
  }
  std::uint32_t distance(std::uint32_t from, std::uint32_t to) const override {
    if (from == to) return 0;
    const std::uint32_t a = group_of(from), b = group_of(to);
    if (a == b) return local;
    // Cables i of the pair that begin at `from` are those with t = i + first mod switches equal to its number.
    const std::uint32_t mine = from % switches_, theirs = to % switches_;
    const std::uint32_t i = (mine + switches_ - first(a, b) % switches_) % switches_,
                        j = (theirs + switches_ - first(b, a) % switches_) % switches_;
    const bool begins = i < globals_, ends = j < globals_;
    // With more cables than switches, i + n switches begin there as well, and end at the same switch as i.
    if (begins && i == j) return global;
    return begins || ends ? global + local : global + 2 * local;
  }
  /// Number of the first global cable of group a that leads to group b (1).
  std::uint32_t first(std::uint32_t a, std::uint32_t b) const { return (b + groups_ - a - 1) % groups_ * globals_; }

 private:
  static constexpr std::uint32_t local = 1, global = 3;
  std::uint32_t groups_, switches_, globals_;
};

}  // namespace

Fabric build(const DragonflySpec& spec, const FabricDemand& demand) {
  const auto a = static_cast<std::uint32_t>(spec.switches_per_group),
             local = static_cast<std::uint32_t>(spec.local_links);
  auto groups = static_cast<std::uint32_t>(spec.groups);
  if (groups == 0) {
    if (spec.nodes_per_switch == 0)
      throw UserError::at("fabric.groups", "neither the groups nor the nodes of a switch are given",
                          "write fabric.groups or fabric.nodes_per_switch");
    const std::uint64_t room = std::uint64_t{a} * static_cast<std::uint32_t>(spec.nodes_per_switch);
    groups = static_cast<std::uint32_t>((demand.nodes + room - 1) / room);
  }
  const Attachment at = attach(spec, demand, groups * a);
  const std::uint64_t taken = nic_ports(spec, at) + std::uint64_t{a - 1} * local;
  auto global = static_cast<std::uint32_t>(spec.global_links);
  const auto ports = static_cast<std::uint32_t>(spec.switch_box.ports);
  if (groups > 1 && global == 0 && taken < ports)
    global = static_cast<std::uint32_t>((ports - taken) * a / (groups - 1));
  if (groups > 1 && global == 0)
    throw UserError::at("fabric.switch.ports",
                        fmt::format("a switch needs {} of {} ports for nodes and its group, so {} groups of {} "
                                    "switches cannot all be connected",
                                    taken, ports, groups, a),
                        "use switches with more ports, more switches per group, or fewer groups");
  const std::uint64_t globals = std::uint64_t{groups - 1} * global;
  require_ports(spec, "a switch", taken + (globals + a - 1) / a);

  const auto metric = std::make_shared<DragonflyDistances>(groups, a, global);
  FabricBuilder builder = begin_direct(spec, demand, at, groups * a, 0);
  const std::uint32_t first = demand.nodes * demand.ports_per_node;
  const LinkClass near = between_switches(spec, demand, spec.cable),
                  far = between_switches(spec, demand, spec.global_cable);
  const auto cable = [&](std::uint32_t x, std::uint32_t y, const LinkClass& of) {
    builder.add_cable(VertexId(first + x), VertexId(first + y), of, of);
  };
  for (std::uint32_t g = 0; g < groups; ++g)
    for (std::uint32_t x = 0; x < a; ++x)
      for (std::uint32_t y = x + 1; y < a; ++y)
        for (std::uint32_t c = 0; c < local; ++c) cable(g * a + x, g * a + y, near);
  for (std::uint32_t g = 0; g < groups; ++g)
    for (std::uint32_t h = g + 1; h < groups; ++h)
      for (std::uint32_t i = 0; i < global; ++i)
        cable(g * a + (metric->first(g, h) + i) % a, h * a + (metric->first(h, g) + i) % a, far);
  builder.set_metric(metric);
  return std::move(builder).build();
}

Topology dragonfly() {
  return make_topology<DragonflySpec>(
      "dragonfly", "groups of connected switches, all groups connected: Slingshot systems", "[Kim2008]");
}

}  // namespace fabricast
