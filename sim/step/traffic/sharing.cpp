#include "sharing.hpp"

#include <algorithm>
#include <bit>
#include <span>
#include <unordered_map>

#include "fabricast/core/radix_sort.hpp"
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

/// Calls use(users) for each link, in order.
template <class Use>
void for_each_link(Users uses, Use use) {
  for (std::size_t first = 0, last = 0; first < uses.size(); first = last) {
    while (last < uses.size() && uses[last].link == uses[first].link) ++last;
    use(uses.subspan(first, last - first));
  }
}

/// One of each kind of link that could be full if every item had all that it could get alone.
std::vector<Users> binding_links(const std::vector<double>& caps, std::initializer_list<Users> parts) {
  std::vector<double> most(caps);
  for (const Users& part : parts)
    for (const LinkUse& u : part) most[u.item] = std::min(most[u.item], 1 / u.use);
  std::vector<Users> links;
  std::unordered_multimap<std::uint64_t, std::size_t> known;
  const auto see = [&](Users users) {
    double demand = 0;
    for (const LinkUse& u : users) demand += u.use * most[u.item];
    if (demand < 1 - 1e-9) return;
    const std::uint64_t hash = hash_of(users);
    const auto [begin, end] = known.equal_range(hash);
    if (std::any_of(begin, end, [&](const auto& k) { return same(links[k.second], users); })) return;
    known.emplace(hash, links.size());
    links.push_back(users);
  };
  for (const Users& part : parts) for_each_link(part, see);
  return links;
}

}  // namespace

void sort_by_link(std::vector<LinkUse>& uses) {
  radix_sort(uses, [](const LinkUse& u) { return u.link; });
}

LinkShares share_links(const std::vector<double>& caps, const std::vector<double>& weights, std::vector<LinkUse> uses,
                       std::span<const LinkUse> lower) {
  sort_by_link(uses);
  const std::vector<Users> links = binding_links(caps, {lower, uses});
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
