// What an exchange asks of each resource, and which resources can be left out beside others.
#include <algorithm>
#include <map>

#include "exchange.hpp"

namespace fabricast {

void ExchangeTimer::add_loads(Exchange& x) const {
  for (std::uint32_t i = 0; i < x.fabric.size();) {
    Exchange::Load load{x.fabric[i].link, i, i, 0};
    for (; load.last < x.fabric.size() && x.fabric[load.last].link == load.resource; ++load.last)
      load.part += x.fabric[load.last].use * x.rate[x.fabric[load.last].item];
    i = load.last;
    x.loads.push_back(load);
  }
  std::vector<double> part(node_links_);
  for (std::size_t n = 0; n < x.teams->nodes.size(); ++n) {
    std::fill(part.begin(), part.end(), 0);
    for (std::uint32_t m = x.teams->first[n]; m < x.teams->first[n + 1]; ++m)
      for (const InsideUse& inside : x.inside_of(x.teams->members[m])) {
        const std::uint32_t first = x.first_item[x.teams->members[m].team];
        for (std::uint32_t c = 0; c < inside.use.size(); ++c)
          if (inside.use[c] > 0) part[inside.link] += inside.use[c] * x.rate[first + c];
      }
    for (std::uint16_t l = 0; l < node_links_; ++l)
      if (part[l] > 0) x.loads.push_back({resource(x.teams->nodes[n], l), 0, 0, part[l]});
  }
}

/// In a node, links behind each other have the same users: those of a NIC and of its GPU, or the two ways of a NVLink.
/// The one of which they take most stands for all of which they take less.
void ExchangeTimer::find_behind(Exchange& x) const {
  struct LinkOfNode {
    Exchange::Load* load;
    std::vector<double> use;
    double sum = 0;
  };
  const auto inside = std::lower_bound(x.loads.begin(), x.loads.end(), first_inside_,
                                       [](const Exchange::Load& l, std::uint32_t r) { return l.resource < r; });
  auto next = inside;
  for (std::size_t n = 0; n < x.teams->nodes.size(); ++n) {
    const std::uint32_t node = x.teams->nodes[n];
    std::map<std::vector<std::uint32_t>, std::vector<LinkOfNode>> by_users;
    std::vector<std::uint32_t> items;
    LinkOfNode candidate{};
    const auto add = [&](std::uint32_t item, double use) {
      items.push_back(item), candidate.use.push_back(use), candidate.sum += use;
    };
    const auto finish = [&](Exchange::Load& load) {
      candidate.load = &load;
      by_users[items].push_back(std::move(candidate));
      items.clear(), candidate = {};
    };
    if (router_)
      for (const std::uint32_t port : ports_[node]) {
        const auto it = std::lower_bound(x.loads.begin(), inside, port,
                                         [](const Exchange::Load& l, std::uint32_t r) { return l.resource < r; });
        if (it == inside || it->resource != port) continue;
        for (std::uint32_t i = it->first; i < it->last; ++i) add(x.fabric[i].item, x.fabric[i].use);
        finish(*it);
      }
    for (; next != x.loads.end() && node_of(next->resource) == node; ++next) {
      x.for_each_inside(n, link_of(next->resource), add);
      finish(*next);
    }
    for (auto& [users, links] : by_users) {
      const auto most = std::max_element(links.begin(), links.end(),
                                         [](const LinkOfNode& a, const LinkOfNode& b) { return a.sum < b.sum; });
      for (LinkOfNode& link : links)
        if (&link != &*most && std::equal(link.use.begin(), link.use.end(), most->use.begin(), std::less_equal<>()))
          link.load->behind = most->load->resource;
    }
  }
}

}  // namespace fabricast
