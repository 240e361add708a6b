// Shares of the channels of one collective: what each may use of the links it crosses.
//
//   r_c = min( cap_c, min over links l with m_lc > 0 of s_l )
//   sum over c of m_lc w r_c = C_l,  or less and s_l is infinite                                                    (1)
//
// r_c is the payload rate of one connection of channel c and cap_c what its threads copy, both in B/s; m_lc are its
// connections on l (count/fabric_count.hpp), w bytes on the wire for each of payload. So a link is fair to connections:
// a channel with three of them there takes three shares, and advances by one [solver-study-4].
#pragma once

#include <vector>

#include "../count/loads.hpp"

namespace fabricast {

struct ChannelShares {
  std::vector<double> rate;          ///< B/s of payload by channel: of one of its connections
  std::vector<std::uint32_t> group;  ///< what binds it; no_group: its own threads
};

/// Weighted max-min shares of the open channels (fabricast/engine/max_min.hpp). A channel takes `connections x wire` of a link for
/// each byte of payload that it advances. Channels only close, so links that can no longer be full are forgotten.
class ChannelSharing {
 public:
  /// \param caps  B/s by channel
  ChannelSharing(const std::vector<LinkGroup>& groups, const std::vector<double>& caps, double wire);
  ChannelShares share(const std::vector<bool>& open);

 private:
  void forget(const std::vector<bool>& open);

  const std::vector<LinkGroup>& groups_;
  const std::vector<double>& caps_;
  double wire_;
  std::vector<double> most_;            ///< what each channel gets alone, B/s
  std::vector<std::uint32_t> binding_;  ///< groups that can be full
};

/// s per byte of payload that a connection gets on a link of the group when all channels use it at once:
/// sum over c of use_c m_lc w / C_l. \param use  how much of a slice's worth each channel sends, 0 if it is done
double contended_seconds(const LinkGroup& group, const std::vector<double>& use, double wire);

}  // namespace fabricast
