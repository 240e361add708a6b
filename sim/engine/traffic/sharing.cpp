// Solves (1) of sharing.hpp by progressive filling, with as few links as possible. Of millions of links, the problem
// has only those that the items could fill if each had the rate that it could get alone,
//
//   most_i = min( cap_i, min over l of 1 / use_il ),     sum over i of use_il most_i >= 1                           (2)
//
// and only one of several links with the same users and uses. Neither reduction changes the shares.
#include "sharing.hpp"

#include <algorithm>
#include <bit>
#include <span>
#include <unordered_map>

#include "fabricast/core/radix_sort.hpp"
#include "fabricast/core/rng.hpp"
#include "fabricast/engine/class_shares.hpp"
#include "fabricast/engine/max_min.hpp"

namespace fabricast {

namespace {

/// The links of (2), one of each set of links with the same users and uses.
class BindingLinks {
 public:
  struct Link {
    std::uint32_t link = 0;
    std::size_t begin = 0, end = 0;  ///< range of its users
  };

  /// \param caps  B/s by item
  BindingLinks(const std::vector<double>& caps, const LinkUses& lower, const std::vector<LinkUse>& upper)
      : most_(caps) {
    // All links are needed for most_i before any link is tested, because the minimum may be on any of them.
    for (std::uint32_t k = 0; k < lower.kinds(); ++k) bound(lower.users(k));
    bound(upper);
    for (std::uint32_t k = 0; k < lower.kinds(); ++k) see(lower.lowest_link(k), lower.users(k));
    for (std::size_t first = 0, last = 0; first < upper.size(); first = last) {
      while (last < upper.size() && upper[last].link == upper[first].link) ++last;
      see(upper[first].link, std::span(upper).subspan(first, last - first));
    }
  }
  const std::vector<Link>& links() const { return links_; }
  std::span<const LinkUses::Use> users(const Link& l) const {
    return std::span(users_).subspan(l.begin, l.end - l.begin);
  }

 private:
  template <class Users>
  void bound(const Users& users) {
    for (const auto& u : users) most_[u.item] = std::min(most_[u.item], 1 / u.use);
  }
  template <class Users>
  void see(std::uint32_t link, const Users& users) {
    double demand = 0;
    for (const auto& u : users) demand += u.use * most_[u.item];
    // The tolerance covers rounding: a link that is filled exactly limits its users.
    if (demand < 1 - 1e-9) return;
    std::uint64_t hash = users.size();
    for (const auto& u : users) hash = mix64(hash ^ u.item ^ std::bit_cast<std::uint64_t>(u.use));
    // The users are stored first, and removed again if such a link is known: links are compared in place.
    const Link here{link, users_.size(), users_.size() + users.size()};
    for (const auto& u : users) users_.push_back({u.item, u.use});
    const auto [begin, end] = known_.equal_range(hash);
    if (std::any_of(begin, end, [&](const auto& l) { return same(links_[l.second], here); })) {
      users_.resize(here.begin);
      return;
    }
    known_.emplace(hash, links_.size());
    links_.push_back(here);
  }
  bool same(const Link& a, const Link& b) const {
    return std::ranges::equal(users(a), users(b), [](const LinkUses::Use& x, const LinkUses::Use& y) {
      return x.item == y.item && x.use == y.use;
    });
  }

  std::vector<double> most_;  ///< by item: rate alone, B/s
  std::vector<LinkUses::Use> users_;
  std::vector<Link> links_;
  std::unordered_multimap<std::uint64_t, std::size_t> known_;
};

Sharing share_in_classes(SharingProblem problem, const BindingLinks& binding, const ItemClasses& classes) {
  ClassProblem all;
  for (const ItemClasses::Item& item : classes.items) all.in.push_back(item.in);
  for (const ClassWeight& c : classes.classes) all.strict.push_back(c.strict);
  for (const BindingLinks::Link& l : binding.links()) {
    WeighedClasses weigh(classes.classes);
    for (const LinkUses::Use& u : binding.users(l)) weigh.add(classes.items[u.item]);
    const std::vector<double> weights = weigh.weights();
    all.weight.insert(all.weight.end(), weights.begin(), weights.end());
  }
  all.items = std::move(problem);
  return share_by_class(all);
}

}  // namespace

LinkShares share_links(const std::vector<BytesPerSecond>& caps, const std::vector<double>& weights,
                       std::vector<LinkUse> uses, const LinkUses& lower, const ItemClasses& classes) {
  radix_sort(uses, [](const LinkUse& u) { return u.link; });
  SharingProblem problem;
  problem.cap.reserve(caps.size());
  for (const BytesPerSecond cap : caps) problem.cap.push_back(cap.value);
  problem.weight = weights;
  const BindingLinks binding(problem.cap, lower, uses);
  const std::vector<BindingLinks::Link>& links = binding.links();
  problem.capacity.assign(links.size(), 1);
  // Links list their items, but the problem lists links by item: entries are counted, then distributed.
  problem.first.assign(caps.size() + 1, 0);
  for (const BindingLinks::Link& l : links)
    for (const LinkUses::Use& u : binding.users(l)) ++problem.first[u.item + 1];
  for (std::size_t i = 0; i < caps.size(); ++i) problem.first[i + 1] += problem.first[i];
  problem.link.resize(problem.first.back());
  problem.use.resize(problem.first.back());
  std::vector<std::uint32_t> next(problem.first.begin(), problem.first.end() - 1);
  for (std::uint32_t l = 0; l < links.size(); ++l)
    for (const LinkUses::Use& u : binding.users(links[l])) {
      problem.link[next[u.item]] = l;
      problem.use[next[u.item]++] = u.use;
    }
  Sharing sharing = classes.classes.empty() ? fill(problem) : share_in_classes(std::move(problem), binding, classes);
  // A level is a rate divided by the weight.
  LinkShares shares;
  shares.rate.reserve(caps.size());
  for (std::size_t i = 0; i < caps.size(); ++i) shares.rate.push_back({sharing.level[i] * weights[i]});
  for (std::uint32_t& link : sharing.bottleneck)
    if (link != no_link) link = links[link].link;
  shares.link = std::move(sharing.bottleneck);
  return shares;
}

}  // namespace fabricast
