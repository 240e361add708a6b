// Arithmetic of a folded Clos network of one, two or three tiers.
//
// Endpoints (NIC ports) hang off leaves; leaves in groups are joined by spines; groups in islands by cores.
//
//   endpoints   0 .. E-1           endpoint = node * ports + port
//   leaf l      in group  l / leaves_per_group
//   spine s     in group  s / spines_per_group, index s % spines_per_group
//   core  c     plane     c / cores_per_plane;   plane = island * spines_per_group + spine index
//
// Every leaf has `leaf_up` cables: cable j goes to spine j / leaf_spine_cables of its group.
// Every spine has `spine_up` cables: cable j goes to core j / spine_core_cables of its plane.
// So the spine index fixes the plane, and the way down from a core to a leaf is forced but for parallel cables.
//
// A network of several equal planes, of which each NIC has one port in each, is one such network whose links carry what
// all planes carry: numbers here are of one plane, and `planes` says how many there are (docs/models/fabrics-and-links.md).
//
// A cable is two directed links: 2k up, 2k + 1 down. Cables are numbered endpoints first, then by leaf, then by
// spine. No table is needed to walk a path, which is what lets a million GPUs be hashed in milliseconds.
#pragma once

#include <cstdint>

#include "fabricast/core/divisor.hpp"
#include "fabricast/core/id.hpp"

namespace fabricast {

struct Clos {
  bool operator==(const Clos&) const = default;

  std::uint32_t endpoints = 0;
  Divisor ports_per_node = 1;
  // Where a NIC port is plugged in: block = node / nodes_per_block, rail = port % rails.
  Divisor nodes_per_block = 1;
  Divisor rails = 1;
  Divisor block_stride = 1;  ///< leaf = block * block_stride + rail * rail_stride
  std::uint32_t rail_stride = 0;

  std::uint32_t leaves = 1;
  std::uint32_t leaf_up = 0;
  Divisor leaf_spine_cables = 1;  ///< parallel cables of a leaf and a spine
  Divisor leaves_per_group = 1;
  std::uint32_t groups = 1;
  Divisor spines_per_group = 0;

  std::uint32_t spine_up = 0;
  Divisor spine_core_cables = 1;
  Divisor groups_per_island = 1;  ///< islands are not joined (rail-only fabrics)
  std::uint32_t cores_per_plane = 0;

  std::uint32_t planes = 1;    ///< equal networks side by side, folded into this one
  std::uint32_t breakout = 1;  ///< NIC ports to one port of a leaf

  std::uint32_t spines() const { return groups * spines_per_group; }
  std::uint32_t islands() const { return (groups + groups_per_island - 1) / groups_per_island; }
  std::uint32_t cores() const { return islands() * spines_per_group * cores_per_plane; }
  std::uint32_t switches() const { return leaves + spines() + cores(); }
  std::uint32_t leaf_cables() const { return leaves * leaf_up; }
  std::uint32_t spine_cables() const { return spines() * spine_up; }
  std::uint32_t cables() const { return endpoints + leaf_cables() + spine_cables(); }

  std::uint32_t leaf_of(std::uint32_t endpoint) const {
    const std::uint32_t node = endpoint / ports_per_node, port = endpoint % ports_per_node;
    return node / nodes_per_block * block_stride + port % rails * rail_stride;
  }
  std::uint32_t group_of(std::uint32_t leaf) const { return leaf / leaves_per_group; }
  std::uint32_t island_of(std::uint32_t group) const { return group / groups_per_island; }

  // Directed links.
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
  /// The block of nodes whose NICs hang off a leaf.
  std::uint32_t block_of_leaf(std::uint32_t leaf) const {
    if (rails == 1 || block_stride > 1) return leaf / block_stride;
    return rail_stride > 1 ? leaf % rail_stride : 0;
  }
  /// The upper switch at the other end of an up cable, counted within its tier.
  std::uint32_t spine_of(std::uint32_t leaf, std::uint32_t j) const {
    return group_of(leaf) * spines_per_group + j / leaf_spine_cables;
  }
  std::uint32_t core_of(std::uint32_t spine, std::uint32_t j) const {
    const std::uint32_t group = spine / spines_per_group, index = spine % spines_per_group;
    return (island_of(group) * spines_per_group + index) * cores_per_plane + j / spine_core_cables;
  }
};

}  // namespace fabricast
