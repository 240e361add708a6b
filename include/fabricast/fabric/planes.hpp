// Fabrics of several planes: networks side by side that share nothing but the NICs. Every NIC has a port in each plane.
//
// The ports of a node are numbered plane by plane: NIC k has port k in plane 0, and port p x nics + k in plane p. So
// what counts ports of NICs finds those of plane 0, and routers (routing/planes.hpp) add the others.
//
// Immutable, so safe to use concurrently.
#pragma once

#include <array>
#include <string_view>

#include "fabricast/core/enum_names.hpp"
#include "fabricast/fabric/metric.hpp"

namespace fabricast {

/// Who takes a plane: each packet, so that every queue pair uses all of them, or each queue pair, by a hash.
enum class PlaneChoice { packet, queue_pair };
template <>
struct EnumNames<PlaneChoice> {
  static constexpr std::array<std::string_view, 2> names{"packet", "queue_pair"};
};

/// Distances in planes of leaves and spines. Switches of different planes are not connected. Leaves are numbered first,
/// plane by plane, then spines.
class PlaneDistances final : public Distances {
 public:
  PlaneDistances(std::uint32_t planes, std::uint32_t nics, std::uint32_t leaves, std::uint32_t spines,
                 PlaneChoice choice)
      : planes_(planes), nics_(nics), leaves_(leaves), spines_(spines), choice_(choice) {}

  std::uint32_t planes() const { return planes_; }
  std::uint32_t nics() const { return nics_; }  ///< of a node
  PlaneChoice choice() const { return choice_; }
  std::uint32_t plane_of(std::uint32_t at) const {
    return is_leaf(at) ? at / leaves_ : (at - planes_ * leaves_) / spines_;
  }

  static constexpr std::uint32_t apart = 0xFFFF;  ///< distance of switches of different planes
  std::string text() const override;
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
