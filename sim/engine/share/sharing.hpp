// Shares of the channels of one collective on the links that they cross.
//
//   r_c = min( cap_c, min over links l with m_lc > 0 of s_l )
//   sum over c of m_lc w r_c = C_l,  or less and s_l is infinite                                                    (1)
//
// r_c is the payload rate of one connection of channel c, and cap_c is the rate at which its threads copy, both in B/s.
// m_lc is the number of its connections on l (count/fabric_count.hpp), and w is bytes on the wire per byte of payload.
// A link is fair to connections: a channel with three of them on a link takes three shares and advances by one
// [solver-study-4].
#pragma once

#include <vector>

#include "../count/loads.hpp"

namespace fabricast {

/// The rates of all channels.
struct ChannelShares {
  std::vector<double> rate;          ///< by channel: B/s of payload of one of its connections
  std::vector<std::uint32_t> group;  ///< by channel: group of links that limits it; no_group: its own threads
};

/// Weighted max-min shares of the open channels (fabricast/engine/max_min.hpp). A channel takes `connections x wire`
/// bytes of a link per byte of payload that it advances. Channels only close, so links that can no longer be full are
/// dropped.
class ChannelSharing {
 public:
  /// \param caps  maximum rate by channel, B/s  \param wire  bytes on the wire per byte of payload
  /// Keeps references to groups and caps.
  ChannelSharing(const std::vector<LinkGroup>& groups, const std::vector<double>& caps, double wire);
  ChannelShares share(const std::vector<bool>& open);

 private:
  void forget(const std::vector<bool>& open);

  const std::vector<LinkGroup>& groups_;
  const std::vector<double>& caps_;
  double wire_;
  std::vector<double> most_;            ///< rate of each channel alone, B/s
  std::vector<std::uint32_t> binding_;  ///< groups that can be full
};

/// The time in s per byte of payload of a connection on a link of the group while all channels use the link:
/// sum over c of use_c m_lc w / C_l. \param use  by channel: fraction of a slice that it sends; 0 if it is done
double contended_seconds(const LinkGroup& group, const std::vector<double>& use, double wire);

}  // namespace fabricast
