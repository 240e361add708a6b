// How links are shared where the traffic of several owners meets (MeetingRule of fabricast/traffic/beside.hpp): what
// senders that react leave of a contended link, and what ports that wait hold back.
#pragma once

#include <span>
#include <vector>

#include "fabricast/traffic/beside.hpp"

namespace fabricast {

/// The fraction of a resource's rate per B/s of an item, if items of several NIC ports use the resource.
inline double use_where_contended(const MeetingRule& rule, const Background::Use& u) {
  if (rule.contended >= 1 || u.contended || !between_switches(*rule.fabric, u.resource)) return u.use;
  return u.use / rule.contended;
}

/// Lowers the rates `shared` of a job's channels to what ports leave them that others make wait. Rates of channels with
/// several connections stay at most at their fair shares, since their connections advance together. If the rates by
/// port are not settled, fair shares stay. \param alone  by channel: rate without the others
void hold_back(const Background& others, std::span<const Background::FlowPath> paths,
               const std::vector<BytesPerSecond>& alone, const MeetingRule& rule, SharedRates& shared);

/// The same for all items next to each other. \param alone  by item: rate next to nobody
void hold_back_each_other(const std::vector<BytesPerSecond>& alone, const MeetingRule& rule, Background& all);

}  // namespace fabricast
