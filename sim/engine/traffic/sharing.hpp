// Max-min shares of links of capacity 1 (fabricast/engine/max_min.hpp), of which few can be full and many look alike.
//
//   sum over items i of use_il r_i <= 1  for every link l,   r_i <= cap_i,   fair to r_i / weight_i                 (1)
//
// A use is a part of the link's rate for each B/s, so links of all rates have capacity 1: those with the same users and
// uses are one, whatever their rates.
#pragma once

#include <cstdint>
#include <vector>

#include "fabricast/core/units.hpp"
#include "link_uses.hpp"

namespace fabricast {

/// One of a short list (else: LinkUses): an item takes `use` of a link for each unit of its rate.
struct LinkUse {
  std::uint32_t link = 0, item = 0;
  double use = 0;
};

struct LinkShares {
  std::vector<BytesPerSecond> rate;  ///< by item
  std::vector<std::uint32_t> link;   ///< what binds it, or no_link: its own cap
};

/// \param caps     greatest rate by item, may be infinite
/// \param weights  by item: links are fair to rate / weight
/// An item is at most once on a link; its users come in the same order on all links.
/// \param lower    uses of links below all others
LinkShares share_links(const std::vector<BytesPerSecond>& caps, const std::vector<double>& weights,
                       std::vector<LinkUse> uses, const LinkUses& lower = {});

}  // namespace fabricast
