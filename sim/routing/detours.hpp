// Which switches a detour may lead over, for Valiant's routing by queue pair (valiant.cpp) and by packet
// (valiant_spread.cpp).
//
// Between two groups: a switch with NICs in a third group. Between two switches of one group that share a cable: a third
// switch of the group that has NICs and a cable to both. Both ends must reach it.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "router.hpp"

namespace fabricast {

class Detours {
 public:
  /// \param paths  outlives the object
  explicit Detours(const GraphPaths& paths);
  /// Switches of which some suit; empty if none does.
  std::span<const std::uint32_t> among(std::uint32_t from, std::uint32_t to) const;
  bool suits(std::uint32_t from, std::uint32_t over, std::uint32_t to) const;

 private:
  bool within(std::uint32_t from, std::uint32_t to) const {
    return grouped_ && paths_.group_of(from) == paths_.group_of(to);
  }

  const GraphPaths& paths_;
  bool grouped_ = false;                              ///< whether a group has several switches
  std::vector<std::uint32_t> with_nics_;              ///< switches
  std::vector<std::vector<std::uint32_t>> in_group_;  ///< the same by group, if groups have several switches
};

/// Valiant's routing with a choice by packet: the part `nonminimal` of every flow is spread over all its detours, the
/// rest over its minimal paths.
std::unique_ptr<Router> make_detour_spreader(const Fabric& fabric, const LinkState& state, double nonminimal);

}  // namespace fabricast
