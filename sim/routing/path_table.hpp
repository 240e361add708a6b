// All minimal paths between the switches of a fabric as lists, for many sums over them.
//
// GraphPaths finds the next hops from a switch to another anew each time, which costs a look at every cable of the switch.
// Here they are listed once, so sums that are taken again with other numbers read a few cables each. Equal parts take
// each next hop (EvenSplit). With n switches and k next hops on average, a table has n^2 (k + 2) numbers of two bytes.
//
// A table of `ways` also knows where each switch stands in the list of a destination. It then moves a single flow at the
// cost of the links that the flow crosses, in the same order as all flows together, so sums have the same bits.
//
// Immutable, so safe to use concurrently. \pre at most 65,535 switches
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "router.hpp"

namespace fabricast {

class PathTable {
 public:
  /// \param ways  whether single flows are moved
  explicit PathTable(const GraphPaths& paths, bool ways = false);
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
    std::vector<Seconds> latency;      ///< of the slowest part so far; below zero: none is here
    std::vector<std::uint32_t> where;  ///< the switches that flows have reached
    explicit Front(std::uint32_t switches) : flows(switches, 0), latency(switches, nowhere) {}
    void put(std::uint32_t at, double part, Seconds slowest) {
      if (latency[at] < Seconds{0}) where.push_back(at);
      flows[at] += part;
      latency[at] = std::max(latency[at], slowest);
    }
    void clear() {
      for (const std::uint32_t at : where) clear(at);
      where.clear();
    }
    void clear(std::uint32_t at) {
      flows[at] = 0;
      latency[at] = nowhere;
    }
    static constexpr Seconds nowhere{-1};
  };
  /// What flows put on links. Reused for one flow after the other, since it has room for all links of the fabric.
  struct Load {
    std::vector<double> on;                ///< by cables
    std::vector<std::uint32_t> cables;     ///< those with flows, at least once each
    std::vector<std::uint64_t> crossed{};  ///< a bit for each link
  };
  Load no_load() const { return {std::vector<double>(cables_.size(), 0), {}, std::vector<std::uint64_t>(words_, 0)}; }
  /// Moves all flows of a front to a switch. \pre they reach it, and the table is of ways
  void move_to(std::uint32_t to, Front& front, Load& load) const;
  /// Calls use(link, flows) for the links that carry something, ascending, and clears the load.
  template <class Use>
  void take_links(Load& load, Use use) const {
    for (const std::uint32_t c : load.cables)
      for (std::uint32_t i = 0; load.on[c] > 0 && i < cables_[c].links; ++i) {
        const std::uint32_t link = links_[first_link_[c] + i];
        load.crossed[link / 64] |= std::uint64_t{1} << link % 64;
      }
    for (std::uint32_t word = 0; word < words_; ++word)
      for (std::uint64_t bits = std::exchange(load.crossed[word], 0); bits != 0; bits &= bits - 1) {
        const std::uint32_t link = 64 * word + static_cast<std::uint32_t>(std::countr_zero(bits)), c = cables_of_[link];
        use(link, load.on[c] / cables_[c].links);
      }
    for (const std::uint32_t c : load.cables) load.on[c] = 0;
    load.cables.clear();
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
  /// Where a switch stands in a column.
  struct Place {
    std::uint32_t chosen = 0;             ///< where its choices begin, counted from the first of the column
    std::uint16_t rank = 0, choices = 0;  ///< of rank 0 are the destination, and switches that do not reach it
  };
  void list_places(std::uint32_t links);
  /// Calls use(link, flows) for the links that carry something, by what groups of parallel links carry.
  template <class Use>
  void for_each_link(std::span<const double> on, Use use) const {
    std::size_t link = 0;
    for (std::size_t c = 0; c < cables_.size(); link += cables_[c++].links)
      for (std::uint32_t i = 0; on[c] > 0 && i < cables_[c].links; ++i) use(links_[link + i], on[c] / cables_[c].links);
  }
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
  // Of ways only:
  std::vector<Place> places_;              ///< by destination, then by switch
  std::vector<std::uint32_t> first_link_;  ///< by cables: the first of their links
  std::vector<std::uint32_t> cables_of_;   ///< by link
  std::uint32_t words_ = 0;                ///< of 64 links each
};

}  // namespace fabricast
