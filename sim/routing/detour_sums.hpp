// Sums over the detours of many pairs of switches, about as fast as sums over the pairs.
//
// Between two groups every switch with NICs of a third group suits (detours.hpp). So with a number f(v) for each switch,
//
//   sum over detours v of f(v)  =  sum over all groups of S(g)  -  S(group of from)  -  S(group of to)               (1)
//
// where S(g) is the sum of f over the switches with NICs of group g. Within a group whose switches all share cables, all
// but the two ends suit. Other pairs, around links that are down, are summed one detour at a time.
//
// Immutable, so safe to use concurrently.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "detours.hpp"

namespace fabricast {

class DetourSums {
 public:
  /// \param paths, detours  outlive the object
  DetourSums(const GraphPaths& paths, const Detours& detours);

  /// How many switches suit.
  double count(std::uint32_t from, std::uint32_t to) const;
  /// Flows between switches, of which some take detours, each in equal parts, as flows on minimal paths.
  /// \param part   by pair: the part on detours; without effect where there are none
  /// \param flows  replaced; by second switch, then by first
  void halves(std::span<const SwitchFlows> pairs, std::span<const double> part, std::vector<double>& flows) const;
  /// The mean cost of detours of each pair; infinite: there are none.
  /// \param costs  of minimal paths, by second switch, then by first
  std::vector<double> mean_costs(std::span<const SwitchFlows> pairs, std::span<const double> costs) const;

 private:
  /// Which switches suit.
  enum class Over { none, third_groups, third_switches, listed };
  Over over(std::uint32_t from, std::uint32_t to) const;
  bool are_joined(std::uint32_t a, std::uint32_t b) const;
  template <class Use>
  void for_each_listed(std::uint32_t from, std::uint32_t to, Use use) const;
  std::size_t at(std::uint32_t to, std::uint32_t from) const { return std::size_t{to} * n_ + from; }

  const Detours& detours_;
  std::uint32_t n_, groups_ = 0;
  std::vector<std::uint32_t> group_;                 ///< by switch
  std::vector<std::vector<std::uint32_t>> members_;  ///< by group: switches with NICs that all others reach
  std::uint32_t all_ = 0;                            ///< such switches
  std::vector<char> joined_;                         ///< by switch: whether it is one of them
  std::vector<char> complete_;                       ///< by group: whether all members share cables
};

}  // namespace fabricast
