// Placement: which free hosts of a fabric a job gets, and in which order.
//
// The order counts as much as the set: rank r is GPU r % g of the job's node r / g, and NCCL's rings and trees go by ranks.
// A ring over hosts a, b, c, ... crosses the switches between each two neighbours, and back from the last to the first.
//
//   in_order        the free hosts with the lowest numbers
//   random          by seed
//   packed          leaf after leaf, the one with most free hosts first
//   spread          one host of each leaf in turn: as many leaves as there are, and neighbours never at one leaf
//   rail_aligned    as few leaves as hold it, and of each as many hosts, so that the uplinks of all rails carry the same
//   topology_aware  the smallest part of the fabric that holds it, filled by best fit; leaf after leaf, the largest
//                   part first (docs/models/jobs.md has the algorithm)
//   list            what the user says
//
// A *leaf* here is all switches that a host's ports are plugged in: of a rail-optimized fabric a whole scalable unit. Hosts
// are placed by *units*: the hosts of a NCCL node, which share NVLink, stay together. Pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "fabricast/core/enum_names.hpp"
#include "fabricast/fabric/fabric.hpp"

namespace fabricast {

enum class Placement { in_order, random, packed, spread, rail_aligned, topology_aware, list };
template <>
struct EnumNames<Placement> {
  static constexpr std::array<std::string_view, 7> names{"in_order",     "random",         "packed", "spread",
                                                         "rail_aligned", "topology_aware", "list"};
};
/// Whether a placement asks where hosts are plugged in.
constexpr bool needs_fabric(Placement p) { return p >= Placement::packed && p <= Placement::topology_aware; }

/// Where hosts are plugged in: by host, numbered from 0 in the order of hosts.
struct Locality {
  std::vector<std::uint32_t> leaf;
  std::vector<std::uint32_t> group;  ///< of leaves joined below the cores: a pod
};
Locality locality_of(const Fabric& fabric);

using HostUnit = std::vector<std::uint32_t>;

/// Cuts free hosts into units of a job.
/// \param free    rising
/// \param domain  hosts that share NVLink: a unit stays in one. \param hosts of a unit, at most those of a domain
std::vector<HostUnit> units_of(const std::vector<std::uint32_t>& free, std::uint32_t domain, std::uint32_t hosts);

/// The hosts of a job in rank order: distinct, out of `free`.
/// \param locality  may be null for in_order and random
/// \param free      rising, disjoint. \pre at least `wanted` of them; placement is not list
std::vector<std::uint32_t> place_units(Placement placement, const Locality* locality, std::vector<HostUnit> free,
                                       std::size_t wanted, std::uint64_t seed);

/// How a ring over hosts in rank order crosses the fabric.
struct PlacementShape {
  std::size_t leaves = 0, groups = 0;  ///< that hold hosts
  std::size_t leaf_hops = 0;           ///< of the ring's hops, those to a host of another leaf
  std::size_t group_hops = 0;          ///< and of another group
};
PlacementShape shape_of(const Locality& locality, const std::vector<std::uint32_t>& hosts);

}  // namespace fabricast
