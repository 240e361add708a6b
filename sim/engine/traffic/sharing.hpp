// Max-min shares of links of capacity 1 (fabricast/engine/max_min.hpp), when few links can be full and many are alike.
//
//   sum over items i of use_il r_i <= 1  for every link l,   r_i <= cap_i,   fair to r_i / weight_i                 (1)
//
// A use is a fraction of the link's rate per B/s. All links therefore have capacity 1, and links with the same users
// and uses are equal, whatever their rates. Where items are in several traffic classes, these share first
// (item_classes.hpp).
#pragma once

#include <cstdint>
#include <vector>

#include "fabricast/core/units.hpp"
#include "item_classes.hpp"
#include "link_uses.hpp"

namespace fabricast {

/// An item takes `use` of a link for each unit of its rate. For short lists; long ones are LinkUses.
struct LinkUse {
  std::uint32_t link = 0, item = 0;
  double use = 0;
};

/// The rates of items.
struct LinkShares {
  std::vector<BytesPerSecond> rate;  ///< by item
  std::vector<std::uint32_t> link;   ///< by item: the link that limits it; no_link: its own cap
};

/// Solves (1).
/// \param caps     maximum rate by item, may be infinite
/// \param weights  by item: links are fair to rate / weight
/// \param uses     an item is at most once on a link; users have the same order on all links
/// \param lower    uses of further links, whose numbers are below those of `uses`
/// \param classes  of the items; without any, all items are in one
LinkShares share_links(const std::vector<BytesPerSecond>& caps, const std::vector<double>& weights,
                       std::vector<LinkUse> uses, const LinkUses& lower = {}, const ItemClasses& classes = {});

}  // namespace fabricast
