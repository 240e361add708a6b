#include "sharing.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <span>
#include <unordered_map>

#include "fabricast/core/rng.hpp"
#include "fabricast/fluid/sharing.hpp"

namespace fabricast {

namespace {

using Users = std::span<const LinkUse>;

std::uint64_t hash_of(Users users) {
  std::uint64_t hash = users.size();
  for (const LinkUse& u : users) hash = mix64(hash ^ u.item ^ std::bit_cast<std::uint64_t>(u.use));
  return hash;
}

bool same(Users a, Users b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const LinkUse& x, const LinkUse& y) { return x.item == y.item && x.use == y.use; });
}

/// One of each kind of link that could be full if every item had all that it could get alone.
std::vector<Users> binding_links(const std::vector<double>& caps, const std::vector<LinkUse>& uses) {
  std::vector<double> most(caps);
  for (const LinkUse& u : uses) most[u.item] = std::min(most[u.item], 1 / u.use);
  std::vector<Users> links;
  std::unordered_multimap<std::uint64_t, std::size_t> known;
  for (auto first = uses.begin(); first != uses.end();) {
    const auto last = std::find_if(first, uses.end(), [&](const LinkUse& u) { return u.link != first->link; });
    const Users users(first, last);
    first = last;
    double demand = 0;
    for (const LinkUse& u : users) demand += u.use * most[u.item];
    if (demand < 1 - 1e-9) continue;
    const std::uint64_t hash = hash_of(users);
    const auto [begin, end] = known.equal_range(hash);
    if (std::any_of(begin, end, [&](const auto& k) { return same(links[k.second], users); })) continue;
    known.emplace(hash, links.size());
    links.push_back(users);
  }
  return links;
}

}  // namespace

/// Digit by digit: there are more uses than links, and far more links than most exchanges cross.
void sort_by_link(std::vector<LinkUse>& uses) {
  if (std::is_sorted(uses.begin(), uses.end(), [](const LinkUse& a, const LinkUse& b) { return a.link < b.link; }))
    return;
  constexpr int digit = 11, digits = 3;
  constexpr std::uint32_t values = 1U << digit;
  std::vector<std::array<std::size_t, values>> first(digits);
  for (const LinkUse& u : uses)
    for (int d = 0; d < digits; ++d) ++first[static_cast<std::size_t>(d)][(u.link >> (d * digit)) % values];
  std::vector<LinkUse> sorted(uses.size());
  for (int d = 0; d < digits; ++d) {
    auto& next = first[static_cast<std::size_t>(d)];
    if (std::find(next.begin(), next.end(), uses.size()) != next.end()) continue;  // all have the same digit
    std::exclusive_scan(next.begin(), next.end(), next.begin(), std::size_t{0});
    for (const LinkUse& u : uses) sorted[next[(u.link >> (d * digit)) % values]++] = u;
    uses.swap(sorted);
  }
}

LinkShares share_links(const std::vector<double>& caps, const std::vector<double>& weights, std::vector<LinkUse> uses) {
  sort_by_link(uses);
  const std::vector<Users> links = binding_links(caps, uses);
  SharingProblem problem;
  problem.capacity.assign(links.size(), 1);
  problem.cap = caps, problem.weight = weights;
  problem.first.assign(caps.size() + 1, 0);
  for (const Users& users : links)
    for (const LinkUse& u : users) ++problem.first[u.item + 1];
  for (std::size_t i = 0; i < caps.size(); ++i) problem.first[i + 1] += problem.first[i];
  problem.link.resize(problem.first.back()), problem.use.resize(problem.first.back());
  std::vector<std::uint32_t> next(problem.first.begin(), problem.first.end() - 1);
  for (std::uint32_t l = 0; l < links.size(); ++l)
    for (const LinkUse& u : links[l]) problem.link[next[u.item]] = l, problem.use[next[u.item]++] = u.use;
  Sharing sharing = fill(problem);
  for (std::size_t i = 0; i < caps.size(); ++i) sharing.level[i] *= weights[i];
  for (std::uint32_t& link : sharing.bottleneck)
    if (link != no_link) link = links[link].front().link;
  return {std::move(sharing.level), std::move(sharing.bottleneck)};
}

}  // namespace fabricast
