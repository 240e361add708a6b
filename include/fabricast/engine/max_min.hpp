// Weighted max-min sharing: who gets how much of links that several want.
//
// An *item* is a flow, or a coupled channel: connections that advance together. It runs at a *level* q_i, its rate per
// unit of weight, and takes of each link on its path in proportion:
//
//     feasible:   sum_i m_il w_i q_i <= C_l  for every link l,      0 <= q_i <= cap_i / w_i                     (1)
//     max-min:    no feasible q' raises some q_i without lowering some q_j <= q_i                              (2)
//
// (2) holds if and only if every item has a *bottleneck* [Bertsekas1992]: its own cap, or a link l with
//
//     sum_j m_jl w_j q_j = C_l      and      q_i >= q_j  for every item j that crosses l.                      (3)
//
// Such a q exists and is unique. A flow crosses a link once: m = 1. A channel has weight 1, q is the rate of one of its
// connections, and m_l counts those that cross l. So a link is fair to connections, not to channels: a channel with
// three connections on a link takes three shares of it and advances by one [solver-study-4]. m may be any positive
// number, as where traffic is sprayed. A connection that crosses a link twice counts as two in the use and in the fair
// share alike; that is a choice, since a switch that schedules by flow would give it one share.
//
// Found by progressive filling: raise all levels together; where a link is full, freeze its items, whose bottleneck it
// is; go on with the others. Links wait in a heap by the level at which they would be full. That level only grows while
// other links freeze items, so an entry that is out of date is put back when it comes up [solver-study-2]: about
// O(P + L log L), with P the length of all paths.
//
// Equal levels freeze caps before links, and links in order of id. A link of capacity 0 gives level 0.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace fabricast {

constexpr std::uint32_t no_link = std::numeric_limits<std::uint32_t>::max();

/// Item i crosses the links link[first[i]] .. link[first[i + 1] - 1]. Any unit of rate.
struct SharingProblem {
  std::vector<double> capacity;      ///< C, by link; >= 0, may be infinite
  std::vector<std::uint32_t> first;  ///< one entry more than items
  std::vector<std::uint32_t> link;   ///< the links of all items
  std::vector<double> use;           ///< m > 0, beside `link`
  std::vector<double> weight;        ///< w > 0, by item
  std::vector<double> cap;           ///< greatest rate by item; >= 0, may be infinite
};

struct Sharing {
  std::vector<double> level;              ///< q by item: rate / weight; infinite where nothing binds
  std::vector<std::uint32_t> bottleneck;  ///< by item; no_link where its own cap binds, or nothing
};

Sharing fill(const SharingProblem& problem);

}  // namespace fabricast
