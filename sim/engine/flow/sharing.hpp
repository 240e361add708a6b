// Shares of coupled channels on groups of links.
#pragma once

#include <cstdint>
#include <vector>

#include "loads.hpp"

namespace fabricast {

/// Payload rate of every open channel, and what binds it. All connections of a channel advance alike; at a link each
/// connection gets an equal share; a channel takes `wire` bytes of link per byte of payload:
///
///   sum over c of connections(l, c) * wire * rate(c) <= capacity(l),   rate(c) <= cap(c),   max-min fair
///
/// solved by progressive filling [solver-study-4 (6)].
struct ChannelShares {
  std::vector<double> rate;          ///< B/s; 0 for closed channels and on dead links
  std::vector<std::uint32_t> group;  ///< what binds it; no_group: its own cap
};
ChannelShares share_channels(const std::vector<LinkGroup>& groups, const std::vector<double>& caps,
                             const std::vector<bool>& open, double wire);

/// Seconds per byte of payload on a link while every open connection is active at once.
double crowded_seconds(const LinkGroup& group, const std::vector<bool>& open, double wire);

}  // namespace fabricast
