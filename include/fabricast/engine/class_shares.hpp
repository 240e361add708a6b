// Shares of links whose ports serve several traffic classes by weight: first the classes share, then the items of each.
//
// Ports of switches and NICs keep a queue for each class. Enhanced transmission selection (ETS) gives a class that has
// packets to send at least its part of the link, and what a class does not need to the others [IEEE-ETS]. Let class k
// carry A_k of a full link l and want D_k, which is what its items could carry on l if their own caps and their other
// links alone limited them. With weights v_k there is a number V_l such that
//
//     A_k = min( D_k, v_k V_l ),      sum_k A_k = C_l                                                               (1)
//
// Strict classes come before all others, in their order: each gets what it wants of what the strict ones before it
// leave, but for a thousandth of that, which it leaves to those after it so that their times stay finite.
//
// Within a class links are fair to connections, as without classes (max_min.hpp). With q_i the level of item i, its
// rate per unit of weight, every item has a bottleneck: its own cap, or a full link l with
//
//     q_i >= q_j  for every item j of its class that crosses l,    and    A_k is not below v_k V_l                  (2)
//
// Several sets of rates may satisfy (1) and (2), where items meet on several links in different company. The one that is
// found depends only on the order of links and items. It is found by repetition: each link offers every class, and each
// class its items, what it would get of the link if it asked for more, next to what the others can use at the offers of
// their other links; an item takes its least offer. The rates are then filled like weighted max-min shares, with the
// offers as weights. Where offers have settled that changes nothing; where they have not, it keeps every link within its
// capacity and leaves none idle that an item could use.
//
// With one class the shares are those of max_min.hpp, bit by bit. A pure function; safe to call concurrently.
//
// Not modelled: packets, so also what a class waits for a packet of another that is being sent; buffers of classes.
#pragma once

#include <cstdint>
#include <vector>

#include "fabricast/engine/max_min.hpp"

namespace fabricast {

/// Items on links, each item in a class.
struct ClassProblem {
  SharingProblem items;
  std::vector<std::uint32_t> in;  ///< by item: its class, below `strict.size()`
  std::vector<bool> strict;       ///< by class
  std::vector<double> weight;     ///< v > 0, by link, and on each link by class
};

/// \throws InternalError if the lengths of the vectors do not match
Sharing share_by_class(const ClassProblem& problem);

/// What each class gets of one link if it asks for all of it and the others for no more than they want.
/// \param wanted  by class, in units of the capacity
std::vector<double> offers_to_classes(double capacity, const std::vector<double>& wanted,
                                      const std::vector<double>& weight, const std::vector<bool>& strict);

}  // namespace fabricast
