// Solves (1) of sharing.hpp by progressive filling (fabricast/engine/max_min.hpp).
//
// The problem has groups of links instead of links, because all links of a group have the same inequality. It has only
// the groups that the open channels could fill. No channel ever gets more than it gets alone, so
//
//   most_c = min( cap_c, min over l of C_l / (m_lc w) )
//   l can be full only if  sum over open c of m_lc w most_c >= C_l
#include "sharing.hpp"

#include <algorithm>
#include <numeric>

#include "fabricast/engine/max_min.hpp"

namespace fabricast {

ChannelSharing::ChannelSharing(const std::vector<LinkGroup>& groups, const std::vector<double>& caps, double wire)
    : groups_(groups), caps_(caps), wire_(wire), most_(caps), binding_(groups.size()) {
  for (const LinkGroup& g : groups)
    for (std::size_t c = 0; c < caps.size(); ++c)
      if (g.connections[c] > 0) most_[c] = std::min(most_[c], g.capacity / (g.connections[c] * wire));
  std::iota(binding_.begin(), binding_.end(), 0U);
}

/// Removes the groups that the open channels cannot fill even with the rates that they would get alone. A removed group
/// never comes back, because channels that close only lower the demand. The tolerance keeps links that are filled
/// exactly, for example by one channel, in spite of rounding. A link that is down has capacity 0 and stays, so that a
/// report can name it.
void ChannelSharing::forget(const std::vector<bool>& open) {
  std::vector<double> rate(most_);
  for (std::size_t c = 0; c < rate.size(); ++c)
    if (!open[c]) rate[c] = 0;
  std::erase_if(binding_, [&](std::uint32_t g) {
    const double demand = std::inner_product(rate.begin(), rate.end(), groups_[g].connections.begin(), 0.0);
    return demand * wire_ < groups_[g].capacity * (1 - 1e-9);
  });
}

ChannelShares ChannelSharing::share(const std::vector<bool>& open) {
  forget(open);
  SharingProblem problem;
  problem.first.push_back(0);
  std::vector<std::size_t> channel_of;
  for (const std::uint32_t g : binding_) problem.capacity.push_back(groups_[g].capacity);
  for (std::size_t c = 0; c < caps_.size(); ++c) {
    if (!open[c]) continue;
    for (std::uint32_t i = 0; i < binding_.size(); ++i)
      if (const double n = groups_[binding_[i]].connections[c]; n > 0) {
        problem.link.push_back(i);
        problem.use.push_back(n * wire_);
      }
    problem.first.push_back(static_cast<std::uint32_t>(problem.link.size()));
    // All weights are equal: fairness to connections is expressed by `use`.
    problem.weight.push_back(1);
    problem.cap.push_back(caps_[c]);
    channel_of.push_back(c);
  }
  const Sharing sharing = fill(problem);
  ChannelShares shares{std::vector<double>(caps_.size(), 0), std::vector<std::uint32_t>(caps_.size(), no_group)};
  for (std::size_t i = 0; i < channel_of.size(); ++i) {
    const std::uint32_t bottleneck = sharing.bottleneck[i];
    shares.rate[channel_of[i]] = sharing.level[i];
    shares.group[channel_of[i]] = bottleneck == no_link ? no_group : binding_[bottleneck];
  }
  return shares;
}

double contended_seconds(const LinkGroup& group, const std::vector<double>& use, double wire) {
  double connections = 0;
  for (std::size_t c = 0; c < use.size(); ++c) connections += group.connections[c] * use[c];
  return connections * wire / group.capacity;
}

}  // namespace fabricast
