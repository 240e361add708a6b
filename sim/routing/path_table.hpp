// All minimal paths between the switches of a fabric as lists, for many sums over them.
//
// GraphPaths finds the next hops from a switch to another anew each time, which costs a look at every cable of the switch.
// Here they are listed once, so sums that are taken again with other numbers read a few cables each. Equal parts take
// each next hop (EvenSplit). With n switches and k next hops on average, a table has n^2 (k + 2) numbers of two bytes.
//
// Immutable, so safe to use concurrently. \pre at most 65,535 switches
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "router.hpp"

namespace fabricast {

class PathTable {
 public:
  explicit PathTable(const GraphPaths& paths);
  /// Adds to each link what flows between switches put on it.
  /// \param flows  by second switch, then by first; used up
  void spread(std::vector<double>& flows, std::span<double> on) const;
  /// The cost of the minimal paths from each switch to each other: a mean over equal parts; infinite: there is none.
  /// \param price  by link
  /// \param costs  replaced; by second switch, then by first
  void costs(std::span<const double> price, std::vector<double>& costs) const;

  /// Flows that are on their way to one switch, by the switch that they have reached.
  struct Front {
    std::vector<double> flows;
    std::vector<Seconds> latency;  ///< of the slowest part so far; below zero: none is here
    explicit Front(std::uint32_t switches) : flows(switches, 0), latency(switches, nowhere) {}
    void clear(std::uint32_t at) {
      flows[at] = 0;
      latency[at] = nowhere;
    }
    static constexpr Seconds nowhere{-1};
  };
  /// Moves all flows of a front to a switch. \pre they reach it
  /// \param on  by group of parallel links: flows are added
  void move_to(std::uint32_t to, Front& front, std::span<double> on) const;
  std::uint32_t cables() const { return static_cast<std::uint32_t>(cables_.size()); }
  /// Calls use(link, flows) for the links that carry something, by what groups of parallel links carry.
  template <class Use>
  void for_each_link(std::span<const double> on, Use use) const {
    std::size_t link = 0;
    for (std::size_t c = 0; c < cables_.size(); link += cables_[c++].links)
      for (std::uint32_t i = 0; on[c] > 0 && i < cables_[c].links; ++i) use(links_[link + i], on[c] / cables_[c].links);
  }

 private:
  /// A switch, and how many of its cables are next hops.
  struct Head {
    std::uint16_t at, choices;
  };
  /// The switches that reach a destination.
  struct Column {
    std::size_t heads, chosen;  ///< where they begin
  };
  struct Cables {
    std::uint32_t to, links;
  };
  /// Of a switch, whose choices begin at `next`: calls use(cables, their part).
  template <class Use>
  void for_each_choice(Head head, const std::uint16_t* next, Use use) const {
    double all = 0;
    for (std::uint32_t i = 0; i < head.choices; ++i) all += cables_[first_[head.at] + next[i]].links;
    for (std::uint32_t i = 0; i < head.choices; ++i) {
      const std::uint32_t c = first_[head.at] + next[i];
      use(c, cables_[c].links / all);
    }
  }

  std::uint32_t n_;
  std::vector<Column> columns_;        ///< by destination, and their end
  std::vector<Head> heads_;            ///< by destination, itself first, then from near to far
  std::vector<std::uint16_t> chosen_;  ///< cables, counted from the first of their switch
  std::vector<std::uint32_t> first_;   ///< by switch: its first cables
  std::vector<Cables> cables_;         ///< parallel links between two switches
  std::vector<Seconds> latency_;       ///< of cables
  std::vector<std::uint32_t> links_;   ///< of all cables, one after the other
};

}  // namespace fabricast
