#include "sharing.hpp"

#include <limits>

namespace fabricast {

ChannelShares share_channels(const std::vector<LinkGroup>& groups, const std::vector<double>& caps,
                             const std::vector<bool>& open, double wire) {
  const std::size_t channels = caps.size();
  ChannelShares shares{std::vector<double>(channels, 0), std::vector<std::uint32_t>(channels, no_group)};
  std::vector<bool> rising = open;
  std::vector<double> left(groups.size()), weight(groups.size(), 0);
  std::vector<int> users(groups.size(), 0);  // rising channels; a count, since sums of weights leave residues
  std::size_t count = 0;
  for (std::size_t c = 0; c < channels; ++c) count += rising[c];
  for (std::size_t g = 0; g < groups.size(); ++g) {
    left[g] = groups[g].capacity;
    for (std::size_t c = 0; c < channels; ++c)
      if (rising[c] && groups[g].connections[c] > 0) weight[g] += groups[g].connections[c] * wire, ++users[g];
  }
  while (count > 0) {
    double level = std::numeric_limits<double>::infinity();
    for (std::size_t g = 0; g < groups.size(); ++g)
      if (users[g] > 0) level = std::min(level, left[g] / weight[g]);
    for (std::size_t c = 0; c < channels; ++c)
      if (rising[c]) level = std::min(level, caps[c]);
    level = std::max(level, 0.0);
    // Freeze every channel on a link that this level fills, or at its cap; ties within rounding go together.
    const double slack = level * (1 + 1e-12);
    for (std::size_t c = 0; c < channels; ++c) {
      if (!rising[c]) continue;
      std::uint32_t binds = no_group;
      bool freeze = caps[c] <= slack;
      for (std::uint32_t g = 0; g < groups.size() && !freeze; ++g)
        if (groups[g].connections[c] > 0 && left[g] <= slack * weight[g]) freeze = true, binds = g;
      if (freeze) shares.rate[c] = level, shares.group[c] = binds;
    }
    for (std::size_t c = 0; c < channels; ++c) {
      if (!rising[c] || (shares.group[c] == no_group && !(caps[c] <= slack))) continue;
      rising[c] = false;
      --count;
      for (std::size_t g = 0; g < groups.size(); ++g) {
        const double used = groups[g].connections[c] * wire;
        if (used == 0) continue;
        left[g] -= used * level;
        weight[g] -= used;
        --users[g];
      }
    }
  }
  return shares;
}

double crowded_seconds(const LinkGroup& group, const std::vector<bool>& open, double wire) {
  double connections = 0;
  for (std::size_t c = 0; c < open.size(); ++c)
    if (open[c]) connections += group.connections[c];
  return connections * wire / group.capacity;
}

}  // namespace fabricast
