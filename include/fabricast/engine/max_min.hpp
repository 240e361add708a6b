// Weighted max-min sharing: how items share links that they cannot all fill.
//
// An *item* is a flow, or a channel, whose connections advance together. It runs at a *level* q_i, its rate per unit of
// weight, and uses each link on its path in proportion:
//
//     feasible:   sum_i m_il w_i q_i <= C_l  for every link l,      0 <= q_i <= cap_i / w_i                     (1)
//     max-min:    no feasible q' raises some q_i without lowering some q_j <= q_i                              (2)
//
// (2) holds if and only if every item has a *bottleneck* [Bertsekas1992]: its own cap, or a link l with
//
//     sum_j m_jl w_j q_j = C_l      and      q_i >= q_j  for every item j that crosses l.                      (3)
//
// Such a q exists and is unique. A flow crosses a link once: m = 1. A channel has weight 1, its q is the rate of one of
// its connections, and m_l is the number of its connections that cross l. A link is therefore fair to connections, not
// to channels: a channel with three connections on a link takes three shares of it and advances by one
// [solver-study-4]. m may be any positive number, as it is where traffic is sprayed. A connection that crosses a link
// twice counts twice, both in the use and in the fair share. This is a choice: a switch that schedules by flow would
// give it one share.
//
// The algorithm is progressive filling. All levels rise together. When a link is full, it freezes its items, whose
// bottleneck it is, and the others go on. Links wait in a heap, ordered by the level at which they would be full. That
// level only rises while other links freeze items, so an outdated entry is put back when it comes up [solver-study-2].
// The cost is about O(P + L log L), where P is the total length of all paths and L the number of links.
//
// At equal levels, caps freeze before links, and links freeze in ascending order. A link of capacity 0 gives level 0.
//
// A pure function; safe to call concurrently.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace fabricast {

/// Bottleneck of an item that no link limits.
constexpr std::uint32_t no_link = std::numeric_limits<std::uint32_t>::max();

/// Item i crosses the links link[first[i]] .. link[first[i + 1] - 1]. Rates and capacities may have any common unit.
struct SharingProblem {
  std::vector<double> capacity;      ///< C, by link; >= 0, may be infinite
  std::vector<std::uint32_t> first;  ///< one entry more than items
  std::vector<std::uint32_t> link;   ///< the links of all items, one item after the other
  std::vector<double> use;           ///< m > 0, one for each entry of `link`
  std::vector<double> weight;        ///< w > 0, by item
  std::vector<double> cap;           ///< maximum rate, by item; >= 0, may be infinite
};

/// The solution.
struct Sharing {
  std::vector<double> level;              ///< q, by item: rate / weight; infinite if nothing limits the item
  std::vector<std::uint32_t> bottleneck;  ///< by item; no_link if its own cap limits it, or nothing does
};

/// Solves (1) and (2).
/// \throws InternalError if the lengths of the vectors do not match
Sharing fill(const SharingProblem& problem);

}  // namespace fabricast
