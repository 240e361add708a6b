// Counts ports and cables of a fabric, with lengths by the floor plan (wiring.hpp).
//
// A Clos is counted by arithmetic: hosts one by one, but cables between switches by runs of switches that stand in one
// rack and so have one length. All planes are wired alike, next to each other. Fabrics from files are counted cable by
// cable.
#include "wiring.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "fabricast/core/error.hpp"

namespace fabricast {

namespace {

std::int64_t wide(std::uint32_t n) { return static_cast<std::int64_t>(n); }

/// Blocks of nodes that share leaves, and the spare hosts of each block.
/// Spare hosts are spread evenly over the blocks and fill racks together with their block.
class Blocks {
 public:
  Blocks(const WiringInput& in, const Clos& clos)
      : nodes_(in.demand.nodes),
        size_(clos.nodes_per_block),
        count_(ceil_div(nodes_, size_)),
        spares_(in.site.spare_nodes),
        spares_each_(ceil_div(spares_, count_)) {}
  std::int64_t count() const { return count_; }
  std::int64_t nodes(std::int64_t b) const { return std::min(size_, nodes_ - b * size_); }
  std::int64_t spares(std::int64_t b) const {
    return std::clamp<std::int64_t>(spares_ - b * spares_each_, 0, spares_each_);
  }
  std::int64_t hosts(std::int64_t b) const { return nodes(b) + spares(b); }
  /// Number of its first host, in the order in which racks are filled.
  std::int64_t first(std::int64_t b) const { return b * size_ + std::min(spares_, b * spares_each_); }
  /// The block of a leaf. Groups are complete, so the last leaves may have no nodes; they count to the last block.
  std::int64_t of_leaf(const Clos& clos, std::uint32_t leaf) const {
    return std::min(wide(clos.block_of_leaf(leaf)), count_ - 1);
  }

 private:
  std::int64_t nodes_, size_, count_, spares_, spares_each_;
};

/// Calls f(first index, count) for each run of upper switches in one rack.
template <class F>
// The switches of all planes with one number are neighbours, so `planes` of them fill a rack's places together.
void by_rack(const SiteSpec& site, std::int64_t begin, std::int64_t end, std::int64_t planes, F f) {
  while (begin < end) {
    const std::int64_t rack = begin * planes / site.switches_per_rack;
    const std::int64_t next = std::max(begin + 1, ceil_div((rack + 1) * site.switches_per_rack, planes));
    const std::int64_t stop = std::min(end, next);
    f(begin, stop - begin);
    begin = stop;
  }
}

PortUse leaf_ports_used(const WiringInput& in, const Clos& clos, const Blocks& blocks) {
  const std::int64_t planes = clos.planes, rails = clos.rails, breakout = clos.breakout;
  // Cables of a host at one leaf of one plane.
  const std::int64_t per_host = wide(clos.ports_per_node) / rails * in.cables_per_port / planes;
  const std::int64_t ports = in.basics.switch_box.ports;
  PortUse use{Tier::leaf, clos.leaves * planes, clos.leaves * planes * ports, 0, wide(clos.leaf_cables()) * planes};
  for (std::int64_t b = 0; b < blocks.count(); ++b) {
    const std::int64_t used = ceil_div(blocks.hosts(b) * per_host, breakout);
    // Without spare hosts a leaf may lack ports (an ideal switch), which add_switches notes. Spare hosts are the user's
    // wish and must fit.
    if (blocks.spares(b) > 0 && used + clos.leaf_up > ports)
      throw UserError::at("site.spare_nodes",
                          fmt::format("a leaf has ports for {} hosts, but there are {} and {} spare hosts",
                                      (ports - clos.leaf_up) * breakout / per_host, blocks.nodes(b), blocks.spares(b)),
                          "use fewer spare hosts, or fewer nodes per leaf");
    use.down += used * rails * planes;
  }
  const std::int64_t management = in.site.management_ports;
  if (management > std::max<std::int64_t>(0, use.free()))
    throw UserError::at("site.management_ports",
                        fmt::format("{} ports are requested, but {} are free at the leaves", management,
                                    std::max<std::int64_t>(0, use.free())),
                        "use fewer nodes per leaf, e.g. one node fewer per unit");
  use.down += management;
  return use;
}

CableTally wire_nics(const WiringInput& in, const Room& room, const Clos& clos, const Blocks& blocks) {
  CableTally tally(in.site);
  const std::int64_t per_host = wide(clos.ports_per_node) * in.cables_per_port;
  for (std::int64_t b = 0; b < blocks.count(); ++b) {
    const std::int64_t first = blocks.first(b), hosts = blocks.hosts(b);
    // The leaves of a block, one per rail and plane, stand together.
    const Room::Place leaf = room.leaf(first + hosts / 2);
    for (std::int64_t h = 0; h < hosts; ++h) tally.add(in.site, room.length(room.node(first + h), leaf), per_host);
  }
  // Management hosts are in the middle of the room, and take turns over the blocks.
  for (std::int64_t i = 0; i < in.site.management_ports; ++i) {
    const std::int64_t b = i % blocks.count();
    tally.add(in.site, room.length(room.leaf(blocks.first(b) + blocks.hosts(b) / 2), room.middle()), 1);
  }
  return tally;
}

// Each leaf has cables to all spines of its group, `leaf_spine_cables` to each.
CableTally wire_leaves(const WiringInput& in, const Room& room, const Clos& clos, const Blocks& blocks) {
  CableTally tally(in.site);
  const std::int64_t planes = clos.planes, spines = clos.spines_per_group;
  for (std::uint32_t leaf = 0; leaf < clos.leaves && clos.leaf_up > 0; ++leaf) {
    const std::int64_t b = blocks.of_leaf(clos, leaf), group = clos.group_of(leaf);
    const Room::Place from = room.leaf(blocks.first(b) + blocks.hosts(b) / 2);
    by_rack(in.site, group * spines, (group + 1) * spines, planes, [&](std::int64_t spine, std::int64_t count) {
      tally.add(in.site, room.length(from, room.upper(spine * planes)), count * clos.leaf_spine_cables * planes);
    });
  }
  return tally;
}

// A spine reaches the cores of its own plane of cores only (`cores_per_plane`), as in a three-tier Clos.
CableTally wire_spines(const WiringInput& in, const Room& room, const Clos& clos) {
  CableTally tally(in.site);
  const std::int64_t planes = clos.planes, per_plane = clos.cores_per_plane, spines = clos.spines();
  for (std::uint32_t spine = 0; spine < clos.spines() && clos.spine_up > 0; ++spine) {
    const Room::Place from = room.upper(spine * planes);
    const std::int64_t first = wide(clos.core_of(spine, 0));
    by_rack(in.site, spines + first, spines + first + per_plane, planes, [&](std::int64_t core, std::int64_t count) {
      tally.add(in.site, room.length(from, room.upper(core * planes)), count * clos.spine_core_cables * planes);
    });
  }
  return tally;
}

// Leaves in racks of their own: as many as the leaves of each row fill.
std::int64_t racks_of_leaves(const WiringInput& in, const Room& room, const Clos& clos, const Blocks& blocks) {
  if (in.site.leaves == LeafPlace::node_rack) return 0;
  std::map<double, std::int64_t> in_row;
  for (std::uint32_t leaf = 0; leaf < clos.leaves; ++leaf) {
    const std::int64_t b = blocks.of_leaf(clos, leaf);
    in_row[room.leaf(blocks.first(b) + blocks.hosts(b) / 2).row] += clos.planes;
  }
  std::int64_t racks = 0;
  for (const auto& [row, leaves] : in_row) racks += ceil_div(leaves, in.site.switches_per_rack);
  return racks;
}

}  // namespace

Wiring wire_clos(const WiringInput& in, const Room& room, const Clos& clos) {
  const Blocks blocks(in, clos);
  const std::int64_t planes = clos.planes, ports = in.basics.switch_box.ports;
  Wiring wiring;
  wiring.tiers.push_back(leaf_ports_used(in, clos, blocks));
  wiring.groups.push_back(
      {Tier::leaf, true, in.demand.port_rate / in.cables_per_port, wire_nics(in, room, clos, blocks)});
  const auto upper = [&](Tier tier, std::int64_t switches, std::int64_t down, std::int64_t up, CableTally tally) {
    if (switches == 0) return;
    wiring.tiers.push_back({tier, switches * planes, switches * planes * ports, down * planes, up * planes});
    wiring.groups.push_back({tier, false, in.basics.switch_box.rate, std::move(tally)});
  };
  upper(Tier::spine, clos.spines(), clos.leaf_cables(), clos.spine_cables(), wire_leaves(in, room, clos, blocks));
  upper(Tier::core, clos.cores(), clos.spine_cables(), 0, wire_spines(in, room, clos));
  wiring.leaf_racks = racks_of_leaves(in, room, clos, blocks);
  return wiring;
}

Wiring wire_graph(const WiringInput& in, const Room& room, const Fabric& fabric) {
  if (in.site.spare_nodes > 0 || in.site.management_ports > 0)
    throw UserError::at(in.site.spare_nodes > 0 ? "site.spare_nodes" : "site.management_ports",
                        fabric.metric() ? "is only for Clos networks"
                                        : "the fabric is read from a file, which lists all hosts and cables",
                        fabric.metric() ? "count spare hosts in cluster.size" : "add them to the file");
  // Switches with nodes stand in the row of their nodes, the others in the rows in the middle of the room.
  const std::uint32_t endpoints = fabric.endpoints();
  std::vector<std::int64_t> sum(fabric.vertices(), 0), hosts(fabric.vertices(), 0);
  for (std::uint32_t l = 0; l < fabric.links(); l += 2) {
    const auto [from, to] = fabric.link(LinkId(l));
    if (fabric.is_endpoint(from)) {
      sum[to.value] += from.value / fabric.ports_per_node();
      ++hosts[to.value];
    }
  }
  std::vector<Room::Place> place(fabric.vertices());
  std::map<double, std::int64_t> leaves_in_row;
  std::map<Tier, PortUse> tiers;
  std::int64_t upper = 0;
  for (std::uint32_t v = 0; v < fabric.vertices(); ++v) {
    if (v < endpoints) {
      place[v] = room.node(v / fabric.ports_per_node());
      continue;
    }
    place[v] = hosts[v] > 0 ? room.leaf(sum[v] / hosts[v]) : room.upper(upper++);
    if (hosts[v] > 0) ++leaves_in_row[place[v].row];
    const Tier tier = fabric.tier(VertexId(v));
    PortUse& use = tiers[tier];
    use.tier = tier;
    ++use.switches;
    use.ports += in.basics.switch_box.ports;
  }
  Wiring wiring;
  std::map<std::tuple<Tier, bool, double>, CableTally> groups;
  std::vector<std::int64_t> of_nics(fabric.vertices(), 0);  // NIC cables of each switch
  for (std::uint32_t l = 0; l < fabric.links(); l += 2) {
    const auto [from, to] = fabric.link(LinkId(l));
    const bool nic = fabric.is_endpoint(from);
    const Tier tier = nic ? Tier::leaf : fabric.tier(to);
    const std::int64_t cables = nic ? in.cables_per_port : 1;
    // Links have payload rates. Dividing by the efficiencies of headers and of the NIC gives the line rate, by which
    // cables are grouped.
    const double payload = fabric.link_class(LinkId(l)).rate.value, part = nic ? in.demand.nic_efficiency : 1;
    const double line = payload / (in.demand.header_efficiency * part) / static_cast<double>(cables);
    auto [it, made] = groups.try_emplace({tier, !nic, std::round(line)}, in.site);
    it->second.add(in.site, room.length(place[from.value], place[to.value]), cables);
    if (nic) {
      // A port that is split takes several cables.
      if (of_nics[to.value]++ % in.breakout == 0) ++tiers[fabric.tier(to)].down;
      continue;
    }
    ++tiers[fabric.tier(to)].down;
    ++tiers[fabric.tier(from)].up;
  }
  for (auto& [key, tally] : groups)
    wiring.groups.push_back({std::get<0>(key), !std::get<1>(key), BytesPerSecond{std::get<2>(key)}, std::move(tally)});
  for (const auto& [tier, use] : tiers) wiring.tiers.push_back(use);
  if (in.site.leaves != LeafPlace::node_rack)
    for (const auto& [row, leaves] : leaves_in_row) wiring.leaf_racks += ceil_div(leaves, in.site.switches_per_rack);
  return wiring;
}

}  // namespace fabricast
