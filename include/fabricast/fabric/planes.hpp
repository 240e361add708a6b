// Fabrics of several planes: networks side by side that share nothing but the NICs. Every NIC has a port in each plane.
//
// The ports of a node are numbered plane by plane: NIC k has port k in plane 0, and port p x nics + k in plane p. So
// what counts ports of NICs finds those of plane 0, and routers (sim/routing/planes.hpp) add the others.
//
//   2 planes, 2 NICs per node:   port 0: NIC 0, plane 0    port 1: NIC 1, plane 0
//                                port 2: NIC 0, plane 1    port 3: NIC 1, plane 1
//
// Each plane is a network of leaves and spines of its own. All planes have the same size; a fault may remove links or
// switches from one of them.
//
// Immutable, so safe to use concurrently.
#pragma once

#include <array>
#include <string_view>

#include "fabricast/core/enum_names.hpp"
#include "fabricast/fabric/metric.hpp"

namespace fabricast {

/// Who takes a plane.
enum class PlaneChoice {
  packet,     ///< each packet: every queue pair uses, in equal parts, all planes in which it has a path
  queue_pair  ///< each queue pair, by a hash; the next plane with a path if there is none in that one
};
template <>
struct EnumNames<PlaneChoice> {
  static constexpr std::array<std::string_view, 2> names{"packet", "queue_pair"};
};

/// Distances in planes of leaves and spines. Switches of different planes are not connected. Leaves are numbered first,
/// plane by plane, then spines. Distances are links between switches and do not depend on faults. O(1), without tables.
class PlaneDistances final : public Distances {
 public:
  /// \param planes  at least 1  \param nics  of a node  \param leaves, spines  of one plane, each at least 1
  PlaneDistances(std::uint32_t planes, std::uint32_t nics, std::uint32_t leaves, std::uint32_t spines,
                 PlaneChoice choice)
      : planes_(planes), nics_(nics), leaves_(leaves), spines_(spines), choice_(choice) {}

  std::uint32_t planes() const { return planes_; }  ///< number of planes
  std::uint32_t nics() const { return nics_; }      ///< of a node
  std::uint32_t leaves() const { return leaves_; }  ///< of a plane
  PlaneChoice choice() const { return choice_; }    ///< how traffic is spread over them
  /// The plane of a switch, from 0. \param at  number of the switch, leaves first
  std::uint32_t plane_of(std::uint32_t at) const {
    return is_leaf(at) ? at / leaves_ : (at - planes_ * leaves_) / spines_;
  }

  static constexpr std::uint32_t apart = 0xFFFF;  ///< distance of switches of different planes
  /// All members in one line: fabrics with equal texts have equal distances and choices.
  std::string text() const override;
  /// 0 for a switch itself, 1 from leaf to spine, 2 between leaves or between spines, and `apart` between planes.
  std::uint32_t distance(std::uint32_t from, std::uint32_t to) const override {
    if (from == to) return 0;
    if (plane_of(from) != plane_of(to)) return apart;
    return is_leaf(from) == is_leaf(to) ? 2 : 1;
  }
  /// All leaves of a plane are two links apart, so a plane is a group.
  std::uint32_t group_of(std::uint32_t at) const override { return plane_of(at); }

 private:
  bool is_leaf(std::uint32_t at) const { return at < planes_ * leaves_; }
  std::uint32_t planes_, nics_, leaves_, spines_;  ///< leaves and spines of a plane
  PlaneChoice choice_;
};

class Fabric;
/// The planes of a fabric; null if it is one network, or if its planes are folded into one (`planes` of Clos networks).
const PlaneDistances* planes_of(const Fabric& fabric);

}  // namespace fabricast
