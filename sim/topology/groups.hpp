// Groups of switches that are all connected to each other: what dragonfly and dragonfly+ share.
//
// With G groups, of which each has n switches with global cables, and g cables between any two groups, cable i between
// groups A and B is number
//
//   t = ((B - A - 1) mod G) x g + i                                                                               (1)
//
// of the global cables of A, which connect to its switches in turn: to switch t mod n. The same holds at B. So the
// cables of two groups end at different switches as long as there are enough, and a switch has at most
// ceil((G - 1) g / n) global cables.
#pragma once

#include "direct.hpp"

namespace fabricast {

/// Keys of both topologies.
struct GroupedBasics : DirectBasics {
  int groups = 0;  ///< 0: as many as the nodes need
  int local_links = 1;
  int global_links = 0;  ///< 0: as many as ports are left
  Metres global_cable{50};
};

/// The number of groups. \param with_nics  switches of a group with NICs, each of them `a switch` or `a leaf`
/// \throws UserError if it follows from nothing
std::uint32_t number_of_groups(const GroupedBasics& spec, const FabricDemand& demand, std::uint32_t with_nics,
                               std::string_view each);

/// The global cables of a fabric, by (1).
class GlobalCables {
 public:
  /// \param switches  of a group, that have global cables
  /// \param taken     ports of each of them that other cables take
  GlobalCables(const GroupedBasics& spec, std::uint32_t groups, std::uint32_t switches, std::uint64_t taken);
  /// Between two groups; 0: there is one group, or no port is left.
  std::uint32_t between() const { return between_; }
  /// At one switch, at most.
  std::uint64_t at_switch() const;
  /// The lowest cable from group a to group b that begins at a switch of a, if there are enough: below between().
  /// \param index  of the switch in its group
  std::uint32_t lowest(std::uint32_t a, std::uint32_t index, std::uint32_t b) const {
    return (index + switches_ - first(a, b) % switches_) % switches_;
  }
  /// Adds all of them. \param first_switch  the vertex of the first switch of group 0 that has global cables
  void add_to(FabricBuilder& builder, std::uint32_t first_switch, const LinkClass& of) const;

 private:
  std::uint32_t first(std::uint32_t a, std::uint32_t b) const { return (b + groups_ - a - 1) % groups_ * between_; }
  std::uint32_t groups_, switches_, between_;
};

}  // namespace fabricast
