// The load of a collective on each resource, and resources that can be omitted because others are always full before
// them.
//
//   part(l)         = sum over items i of  use_il r_i                    r: rates when the collective is alone
//   l is behind k   if  the same items use both,  and  use_il <= use_ik  for each of them                           (1)
//
// Then k is full before l whatever the rates are, and omitting l is exact. Only the links inside a node and at its
// ports are compared.
#include <algorithm>
#include <bit>
#include <functional>
#include <map>

#include "collective.hpp"

namespace fabricast {

void CollectiveTimer::add_loads(Collective& x) const {
  for (std::uint32_t k = 0; k < x.fabric->kinds(); ++k) {
    double part = 0;
    for (const LinkUses::Use u : x.fabric->users(k)) part += u.use * x.rate[u.item].value;
    x.part.push_back(part);
  }
  std::vector<double> part(node_links_);
  for (std::size_t n = 0; n < x.teams->nodes.size(); ++n) {
    std::fill(part.begin(), part.end(), 0);
    for (std::uint32_t m = x.teams->first[n]; m < x.teams->first[n + 1]; ++m)
      for (const InsideUse& inside : x.inside_of(x.teams->members[m])) {
        const std::uint32_t first = x.first_item[x.teams->members[m].team];
        for (std::uint32_t c = 0; c < inside.use.size(); ++c)
          if (inside.use[c] > 0) part[inside.link] += inside.use[c] * x.rate[first + c].value;
      }
    for (std::uint16_t l = 0; l < node_links_; ++l)
      if (part[l] > 0) x.inside.push_back({resource(x.teams->nodes[n], l), Collective::none, part[l]});
  }
}

namespace {

/// The members of a node relative to each other, and its loads. Nodes with equal keys have equal results of (1).
using NodeKey = std::vector<std::uint64_t>;
/// Parts of a key have variable length. Each ends with a number that does not occur in a part.
constexpr std::uint64_t end_of_part = ~std::uint64_t{0};

struct LinkOfNode {
  std::size_t load = 0;  ///< index among the node's loads
  std::vector<double> use;
  double sum = 0;
};

}  // namespace

/// Finds the links that are behind others. In a node, such links have the same users: those of a NIC and of its GPU, or
/// the two directions of an NVLink. The one that they use most represents all that they use less.
void CollectiveTimer::find_behind(Collective& x) const {
  const std::span<const LinkUses::Link> links = x.fabric->links();
  const auto below = [](const LinkUses::Link& l, std::uint32_t link) { return l.link < link; };
  std::size_t next = 0;            // in x.inside
  std::vector<OfNode> own;         // its ports, then inside
  std::vector<std::size_t> place;  // of these, in x.fabric or x.inside
  NodeKey key;
  std::map<NodeKey, std::vector<std::uint32_t>> known;  // for each resource the index of the one that it is behind
  for (std::size_t n = 0; n < x.teams->nodes.size(); ++n) {
    const std::uint32_t node = x.teams->nodes[n];
    own.clear();
    place.clear();
    key.clear();
    // Items count from the first of the node, so that nodes where other teams do the same have the same key.
    const std::uint32_t base = x.first_item[x.teams->members[x.teams->first[n]].team];
    for (std::uint32_t m = x.teams->first[n]; m < x.teams->first[n + 1]; ++m) {
      const TeamMember& member = x.teams->members[m];
      // The address of the list, which teams of the same shape and role share. It is only compared for equality.
      key.push_back(reinterpret_cast<std::uintptr_t>(&x.inside_of(member)));
      key.push_back(x.first_item[member.team] - base);
    }
    key.push_back(end_of_part);
    if (router_)
      for (const std::uint32_t port : ports_[node]) {
        const auto it = std::lower_bound(links.begin(), links.end(), port, below);
        if (it == links.end() || it->link != port) continue;
        own.push_back({port, it->kind});
        place.push_back(static_cast<std::size_t>(it - links.begin()));
        const LinkUses::Users users = x.fabric->users(it->kind);
        key.push_back(users.size());
        for (const LinkUses::Use u : users) {
          key.push_back(u.item - base);
          key.push_back(std::bit_cast<std::uint64_t>(u.use));
        }
      }
    key.push_back(end_of_part);
    for (; next < x.inside.size() && node_of(x.inside[next].resource) == node; ++next) {
      own.push_back({x.inside[next].resource, Collective::none});
      place.push_back(next);
      key.push_back(link_of(own.back().resource));
    }
    const auto [it, fresh] = known.try_emplace(key);
    if (fresh) it->second = behind_in_node(x, n, own);
    for (std::size_t i = 0; i < own.size(); ++i) {
      if (it->second[i] == Collective::none) continue;
      const std::uint32_t behind = own[it->second[i]].resource;
      if (own[i].kind == Collective::none) {
        x.inside[place[i]].behind = behind;
      } else {
        if (place[i] >= x.behind.size()) x.behind.resize(place[i] + 1, Collective::none);
        x.behind[place[i]] = behind;
      }
    }
  }
}

std::vector<std::uint32_t> CollectiveTimer::behind_in_node(const Collective& x, std::size_t n,
                                                           const std::vector<OfNode>& own) const {
  std::map<std::vector<std::uint32_t>, std::vector<LinkOfNode>> by_users;
  for (std::size_t l = 0; l < own.size(); ++l) {
    std::vector<std::uint32_t> items;
    LinkOfNode link;
    link.load = l;
    const auto add = [&](std::uint32_t item, double use) {
      items.push_back(item);
      link.use.push_back(use);
      link.sum += use;
    };
    if (own[l].kind != Collective::none)
      for (const LinkUses::Use u : x.fabric->users(own[l].kind)) add(u.item, u.use);
    else
      x.for_each_inside(n, link_of(own[l].resource), add);
    by_users[items].push_back(std::move(link));
  }
  std::vector<std::uint32_t> behind(own.size(), Collective::none);
  for (const auto& [users, links] : by_users) {
    // Only the link with the greatest sum can have all uses at least as great as those of another link.
    const auto most = std::max_element(links.begin(), links.end(),
                                       [](const LinkOfNode& a, const LinkOfNode& b) { return a.sum < b.sum; });
    for (const LinkOfNode& link : links)
      if (&link != &*most && std::equal(link.use.begin(), link.use.end(), most->use.begin(), std::less_equal<>()))
        behind[link.load] = static_cast<std::uint32_t>(most->load);
  }
  return behind;
}

}  // namespace fabricast
