// Placement: which free hosts of a fabric a job gets, and in which order.
//
// The order matters as much as the set. Rank r is GPU r % g of the job's node r / g, and NCCL's rings and trees follow
// the ranks. A ring over hosts a, b, c, ... crosses the switches between each two neighbors, and back from the last
// host to the first.
//
//   in_order        the free hosts with the lowest numbers
//   random          a random order of the free hosts, by seed
//   packed          leaf after leaf, starting with the leaf that has the most free hosts
//   spread          one host of each leaf in turn: as many leaves as possible, with neighbors on different leaves
//   rail_aligned    the fewest leaves that hold the job, with the same number of hosts on each as far as possible, so
//                   that the uplinks of all rails carry the same load
//   topology_aware  the smallest part of the fabric that holds the job, filled by best fit, leaf after leaf, the
//   largest
//                   part first (docs/models/jobs.md has the algorithm)
//   list            the hosts that the user lists
//
// A *leaf* here is the set of all switches that the ports of a host connect to. In a rail-optimized fabric this is a
// whole scalable unit. Hosts are placed in *units*: the hosts of an NCCL node, which share NVLink, stay together.
//
// Hosts are numbered as in the Fabric, from 0. Pure functions; safe to call concurrently.
//
// Not modelled: queues and priorities of a scheduler. The free hosts are given.
#pragma once

#include <cstdint>
#include <vector>

#include "fabricast/core/enum_names.hpp"
#include "fabricast/fabric/fabric.hpp"

namespace fabricast {

/// Value of `cluster.placement`.
enum class Placement { in_order, random, packed, spread, rail_aligned, topology_aware, list };
template <>
struct EnumNames<Placement> {
  static constexpr std::array<std::string_view, 7> names{"in_order",     "random",         "packed", "spread",
                                                         "rail_aligned", "topology_aware", "list"};
};
/// Whether a placement depends on where hosts connect to the fabric.
constexpr bool needs_fabric(Placement p) { return p >= Placement::packed && p <= Placement::topology_aware; }

/// Where hosts connect to the fabric. Leaves and groups are numbered from 0 in the order of their first host.
struct Locality {
  std::vector<std::uint32_t> leaf;   ///< by host
  std::vector<std::uint32_t> group;  ///< by host: leaves that are connected below the cores, also called a pod
};
/// The localities of all hosts. In a Clos network they follow from its arithmetic, and the first NIC port of a host
/// counts. In a fabric from a file, hosts with the same set of switches share a leaf, and leaves under the same spine
/// share a group.
Locality locality_of(const Fabric& fabric);

/// Hosts that are placed together, ascending.
using HostUnit = std::vector<std::uint32_t>;

/// Divides free hosts into units for a job. Hosts that do not fill a unit are omitted.
/// \param free    ascending
/// \param domain  number of hosts that share NVLink; a unit stays within one domain
/// \param hosts   number of hosts of a unit, at most `domain`
std::vector<HostUnit> units_of(const std::vector<std::uint32_t>& free, std::uint32_t domain, std::uint32_t hosts);

/// The hosts of a job in rank order.
/// \param locality  may be null for in_order and random
/// \param free      disjoint units, ascending
/// \param wanted    number of units
/// \param seed      for random
/// \pre placement is not list, and there are at least `wanted` units
/// \throws InternalError otherwise
std::vector<std::uint32_t> place_units(Placement placement, const Locality* locality, std::vector<HostUnit> free,
                                       std::size_t wanted, std::uint64_t seed);

/// How a ring over hosts in rank order crosses the fabric.
struct PlacementShape {
  std::size_t leaves = 0, groups = 0;  ///< number of leaves and groups with hosts of the job
  std::size_t leaf_hops = 0;           ///< hops of the ring to a host of another leaf
  std::size_t group_hops = 0;          ///< hops of the ring to a host of another group
};
/// \param hosts  in rank order
PlacementShape shape_of(const Locality& locality, const std::vector<std::uint32_t>& hosts);

}  // namespace fabricast
