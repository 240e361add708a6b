#include "sharing.hpp"

#include "fabricast/fluid/sharing.hpp"

namespace fabricast {

ChannelShares share_channels(const std::vector<LinkGroup>& groups, const std::vector<double>& caps,
                             const std::vector<bool>& open, double wire) {
  SharingProblem problem;
  problem.first.push_back(0);
  std::vector<std::size_t> channel_of;
  for (const LinkGroup& group : groups) problem.capacity.push_back(group.capacity);
  for (std::size_t c = 0; c < caps.size(); ++c) {
    if (!open[c]) continue;
    for (std::uint32_t g = 0; g < groups.size(); ++g)
      if (groups[g].connections[c] > 0) {
        problem.link.push_back(g);
        problem.use.push_back(groups[g].connections[c] * wire);
      }
    problem.first.push_back(static_cast<std::uint32_t>(problem.link.size()));
    problem.weight.push_back(1);
    problem.cap.push_back(caps[c]);
    channel_of.push_back(c);
  }
  const Sharing sharing = fill(problem);
  ChannelShares shares{std::vector<double>(caps.size(), 0), std::vector<std::uint32_t>(caps.size(), no_group)};
  for (std::size_t i = 0; i < channel_of.size(); ++i) {
    shares.rate[channel_of[i]] = sharing.level[i];
    shares.group[channel_of[i]] = sharing.bottleneck[i];
  }
  return shares;
}

double crowded_seconds(const LinkGroup& group, const std::vector<double>& use, double wire) {
  double connections = 0;
  for (std::size_t c = 0; c < use.size(); ++c) connections += group.connections[c] * use[c];
  return connections * wire / group.capacity;
}

}  // namespace fabricast
