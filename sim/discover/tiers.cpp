// Tiers of switches by breadth-first search from the hosts, and the order of switches and links (discover/fabric.hpp).
//
// A switch with hosts is a leaf, one cable above leaves is a spine, two or more is a core: a file states no tiers.
// Links are then turned to go up, since a fabric numbers a cable's upward link first, and everything is sorted, so that
// numbers do not depend on the order of lines.
#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <deque>
#include <limits>
#include <unordered_map>
#include <unordered_set>

#include "fabricast/discover/fabric.hpp"

namespace fabricast {

namespace {

/// Removes switches that lead to no host, such as those of a part of the network whose hosts were left out.
void leave_out(FileFabric& fabric, const std::unordered_set<std::string>& unreached,
               std::vector<Diagnostic>& warnings) {
  if (unreached.empty()) return;
  std::erase_if(fabric.switches, [&](const FileFabricSwitch& s) { return unreached.contains(s.name); });
  std::erase_if(fabric.links, [&](const FileFabricLink& l) { return unreached.contains(l.to); });
  warnings.push_back({Diagnostic::Severity::warning,
                      {},
                      {},
                      fmt::format("left out {} switches that lead to no host of the fabric", unreached.size()),
                      {}});
}

/// Sorts links by tier, then by names in natural order. Names are ranked first, because there are many more links than
/// names.
template <class TierOf>
void sort_links(std::vector<FileFabricLink>& links, TierOf tier_of) {
  std::vector<std::string_view> names;
  for (const FileFabricLink& link : links) {
    names.push_back(link.from);
    names.push_back(link.to);
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::sort(names.begin(), names.end(), natural_less);
  std::unordered_map<std::string_view, std::size_t> rank;
  for (std::size_t i = 0; i < names.size(); ++i) rank.emplace(names[i], i);
  struct Key {
    std::size_t tier, from, to;
    int from_port, to_port;
    std::size_t link;
    auto operator<=>(const Key&) const = default;
  };
  std::vector<Key> keys;
  for (std::size_t l = 0; l < links.size(); ++l)
    keys.push_back(
        {tier_of(links[l].from), rank[links[l].from], rank[links[l].to], links[l].from_port, links[l].to_port, l});
  std::sort(keys.begin(), keys.end());
  std::vector<FileFabricLink> sorted;
  for (const Key& key : keys) sorted.push_back(links[key.link]);
  links = std::move(sorted);
}

}  // namespace

void find_tiers(FileFabric& fabric, std::vector<Diagnostic>& warnings) {
  constexpr std::size_t far = std::numeric_limits<std::size_t>::max();
  std::unordered_map<std::string, std::size_t> number;
  for (std::size_t s = 0; s < fabric.switches.size(); ++s) number.emplace(fabric.switches[s].name, s);
  // Breadth first from all leaves at once; the height of a switch is its distance from the nearest leaf.
  std::vector<std::vector<std::size_t>> next(fabric.switches.size());
  std::vector<std::size_t> height(fabric.switches.size(), far);
  std::deque<std::size_t> queue;
  for (const FileFabricLink& link : fabric.links) {
    const auto from = number.find(link.from), to = number.find(link.to);
    if (to == number.end()) continue;
    if (from != number.end()) {
      next[from->second].push_back(to->second);
      next[to->second].push_back(from->second);
    } else if (height[to->second] == far) {
      height[to->second] = 0;
      queue.push_back(to->second);
    }
  }
  while (!queue.empty()) {
    const std::size_t here = queue.front();
    queue.pop_front();
    for (const std::size_t there : next[here])
      if (height[there] == far) {
        height[there] = height[here] + 1;
        queue.push_back(there);
      }
  }
  std::unordered_set<std::string> unreached;
  for (std::size_t s = 0; s < height.size(); ++s)
    if (height[s] == far) unreached.insert(fabric.switches[s].name);
  for (std::size_t s = 0; s < height.size(); ++s)
    fabric.switches[s].tier = height[s] == 0 ? Tier::leaf : height[s] == 1 ? Tier::spine : Tier::core;
  // Between switches of equal height the name decides, so that parallel cables point the same way.
  const auto above = [&](std::size_t a, std::size_t b) {
    if (height[a] != height[b]) return height[a] > height[b];
    return natural_less(fabric.switches[b].name, fabric.switches[a].name);
  };
  for (FileFabricLink& link : fabric.links) {
    const auto from = number.find(link.from), to = number.find(link.to);
    if (from == number.end() || to == number.end() || !above(from->second, to->second)) continue;
    std::swap(link.from, link.to);
    std::swap(link.from_port, link.to_port);
  }
  const auto tier = [&](const std::string& from) {
    const auto it = number.find(from);
    return it == number.end() ? std::size_t{0} : 1 + std::min<std::size_t>(height[it->second], 3);
  };
  sort_links(fabric.links, tier);
  std::sort(fabric.switches.begin(), fabric.switches.end(), [](const FileFabricSwitch& a, const FileFabricSwitch& b) {
    return a.tier != b.tier ? a.tier < b.tier : natural_less(a.name, b.name);
  });
  leave_out(fabric, unreached, warnings);
}

}  // namespace fabricast
