// Arithmetic of a folded Clos network of one, two or three tiers.
//
// Endpoints (NIC ports) connect to leaves. Spines connect the leaves of a group, and cores connect the groups of an
// island. Islands are not connected with each other.
//
//   endpoints   0 .. E-1           endpoint = node * ports + port
//   leaf l      in group  l / leaves_per_group
//   spine s     in group  s / spines_per_group, index s % spines_per_group
//   core  c     plane     c / cores_per_plane;   plane = island * spines_per_group + spine index
//
// Every leaf has `leaf_up` cables: cable j goes to spine j / leaf_spine_cables of its group.
// Every spine has `spine_up` cables: cable j goes to core j / spine_core_cables of its plane.
// The spine index thus fixes the plane, and the path down from a core to a leaf is determined except for parallel
// cables.
//
// Several equal networks side by side, each with one port of every NIC, are folded into one network whose links carry
// what all of them carry. Numbers here are those of one network, and `planes` is their count
// (docs/models/fabrics-and-links.md).
//
// A cable is two directed links: 2k up, 2k + 1 down. Cables are numbered by endpoint first, then by leaf, then by
// spine. Paths are computed without any table, which is why the flows of a million GPUs can be hashed in milliseconds.
//
// A plain value with pure functions; safe to use concurrently. Numbers of leaves, spines and cores count within their
// tier, from 0. No function checks its arguments.
#pragma once

#include <cstdint>

#include "fabricast/core/divisor.hpp"
#include "fabricast/core/id.hpp"

namespace fabricast {

/// Dimensions of the network. The defaults are one leaf without a tier above it.
struct Clos {
  bool operator==(const Clos&) const = default;

  std::uint32_t endpoints = 0;  ///< NIC ports of all nodes
  Divisor ports_per_node = 1;
  // The leaf of a NIC port follows from block = node / nodes_per_block and rail = port % rails.
  Divisor nodes_per_block = 1;
  Divisor rails = 1;
  Divisor block_stride = 1;  ///< leaf = block * block_stride + rail * rail_stride
  std::uint32_t rail_stride = 0;

  std::uint32_t leaves = 1;       ///< of all groups
  std::uint32_t leaf_up = 0;      ///< up cables of a leaf
  Divisor leaf_spine_cables = 1;  ///< parallel cables between a leaf and a spine
  Divisor leaves_per_group = 1;
  std::uint32_t groups = 1;      ///< sets of leaves that share spines
  Divisor spines_per_group = 0;  ///< 0: no spines

  std::uint32_t spine_up = 0;         ///< up cables of a spine; 0: no cores
  Divisor spine_core_cables = 1;      ///< parallel cables between a spine and a core
  Divisor groups_per_island = 1;      ///< only rail-only fabrics have several islands
  std::uint32_t cores_per_plane = 0;  ///< cores that the spines of one index share

  std::uint32_t planes = 1;    ///< equal networks side by side, folded into this one
  std::uint32_t breakout = 1;  ///< NIC ports per port of a leaf

  // Numbers of switches by tier, and of cables by their lower end.
  std::uint32_t spines() const { return groups * spines_per_group; }
  std::uint32_t islands() const { return (groups + groups_per_island - 1) / groups_per_island; }
  std::uint32_t cores() const { return islands() * spines_per_group * cores_per_plane; }
  std::uint32_t switches() const { return leaves + spines() + cores(); }
  std::uint32_t leaf_cables() const { return leaves * leaf_up; }
  std::uint32_t spine_cables() const { return spines() * spine_up; }
  std::uint32_t cables() const { return endpoints + leaf_cables() + spine_cables(); }

  /// The leaf that an endpoint connects to, the group of a leaf, and the island of a group.
  std::uint32_t leaf_of(std::uint32_t endpoint) const {
    const std::uint32_t node = endpoint / ports_per_node, port = endpoint % ports_per_node;
    return node / nodes_per_block * block_stride + port % rails * rail_stride;
  }
  std::uint32_t group_of(std::uint32_t leaf) const { return leaf / leaves_per_group; }
  std::uint32_t island_of(std::uint32_t group) const { return group / groups_per_island; }

  // Numbers of directed links: from or to an endpoint; from a leaf or spine over its up cable j; and from a spine or
  // core down to a leaf or spine, over one of the parallel cables between them.
  static std::uint32_t endpoint_up(std::uint32_t endpoint) { return 2 * endpoint; }
  static std::uint32_t endpoint_down(std::uint32_t endpoint) { return 2 * endpoint + 1; }
  std::uint32_t leaf_to_spine(std::uint32_t leaf, std::uint32_t j) const {
    return 2 * (endpoints + leaf * leaf_up + j);
  }
  std::uint32_t spine_to_leaf(std::uint32_t leaf, std::uint32_t spine_index, std::uint32_t cable) const {
    return leaf_to_spine(leaf, spine_index * leaf_spine_cables + cable) + 1;
  }
  std::uint32_t spine_to_core(std::uint32_t spine, std::uint32_t j) const {
    return 2 * (endpoints + leaf_cables() + spine * spine_up + j);
  }
  std::uint32_t core_to_spine(std::uint32_t spine, std::uint32_t core_index, std::uint32_t cable) const {
    return spine_to_core(spine, core_index * spine_core_cables + cable) + 1;
  }
  /// The block of nodes that connect to a leaf: the inverse of leaf_of. With rails, `nodes_per_block` nodes share one
  /// leaf for each rail.
  std::uint32_t block_of_leaf(std::uint32_t leaf) const {
    if (rails == 1 || block_stride > 1) return leaf / block_stride;
    return rail_stride > 1 ? leaf % rail_stride : 0;
  }
  /// The switch at the upper end of up cable j of a leaf or spine: its number within the tier.
  std::uint32_t spine_of(std::uint32_t leaf, std::uint32_t j) const {
    return group_of(leaf) * spines_per_group + j / leaf_spine_cables;
  }
  std::uint32_t core_of(std::uint32_t spine, std::uint32_t j) const {
    const std::uint32_t group = spine / spines_per_group, index = spine % spines_per_group;
    return (island_of(group) * spines_per_group + index) * cores_per_plane + j / spine_core_cables;
  }
};

}  // namespace fabricast
