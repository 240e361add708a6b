// Progressive filling, as fabricast/engine/max_min.hpp describes it.
//
// Bottlenecks are found in the order of their levels, so each item is frozen once, at the lowest of its cap and links.
// For a link with residual capacity r and open items j, that level is
//
//    level = r / sum_j m_j w_j      r: its capacity minus sum of m w q over the frozen items
//
// [Bertsekas1992]. Freezing an item at another link takes m w q from r and m w from the sum; with q no higher than the
// level of this link, its level can only rise. An entry of the heap is therefore a lower bound.
#include "fabricast/engine/max_min.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

#include "cancelled.hpp"
#include "fabricast/core/error.hpp"

namespace fabricast {

namespace {

constexpr double unbounded = std::numeric_limits<double>::infinity();

class Filling {
 public:
  explicit Filling(const SharingProblem& problem)
      : problem_(problem),
        result_{std::vector<double>(problem.weight.size(), unbounded),
                std::vector<std::uint32_t>(problem.weight.size(), no_link)},
        frozen_(problem.weight.size()),
        links_(problem.capacity.size()) {
    list_items_by_link();
    list_caps();
  }

  Sharing run() {
    // Links that nothing crosses, or that are never full, limit nobody.
    for (std::uint32_t l = 0; l < links_.size(); ++l)
      if (links_[l].open > 0 && links_[l].residual < unbounded) heap_.emplace(share(l), l);
    auto cap = caps_.begin();
    while (!heap_.empty()) {
      const auto [key, l] = heap_.top();
      // The key is a lower bound, so a cap at or below it binds first, even if the entry is outdated.
      if (cap != caps_.end() && cap->first <= key) {
        freeze((cap++)->second, no_link);
        continue;
      }
      heap_.pop();
      if (links_[l].open == 0) continue;
      // Outdated: other links have frozen some of its items. It is full later, and waits again.
      if (const double now = share(l); now > key)
        heap_.emplace(now, l);
      else
        saturate(l);
    }
    // What is left crosses no full link. Items without a cap either keep the infinite level that they began with.
    for (; cap != caps_.end(); ++cap) freeze(cap->second, no_link);
    return std::move(result_);
  }

 private:
  struct Link {
    double residual = 0;                ///< C minus the use of frozen items
    double demand = 0;                  ///< sum of m w over the open items
    std::uint32_t open = 0;             ///< number of entries of open items; exact, unlike `demand`
    std::uint32_t first = 0, last = 0;  ///< range in entries_
  };
  struct Entry {
    std::uint32_t item;
    double weight;  ///< m w
  };

  // The transpose of the problem, by counting sort: `last` first counts the entries of a link, then is where its next
  // entry goes.
  void list_items_by_link() {
    const SharingProblem& p = problem_;
    for (const std::uint32_t l : p.link) ++links_.at(l).last;
    std::uint32_t sum = 0;
    for (std::size_t l = 0; l < links_.size(); ++l) {
      links_[l].residual = p.capacity[l];
      links_[l].open = links_[l].last;
      links_[l].first = sum;
      sum += std::exchange(links_[l].last, sum);
    }
    entries_.resize(sum);
    for (std::uint32_t i = 0; i < p.weight.size(); ++i)
      for (std::uint32_t k = p.first[i]; k < p.first[i + 1]; ++k) {
        Link& link = links_[p.link[k]];
        const double weight = p.use[k] * p.weight[i];
        entries_[link.last++] = {i, weight};
        link.demand += weight;
      }
  }

  // A cap is a link of one item, but needs no place in the heap, as its level never changes.
  void list_caps() {
    for (std::uint32_t i = 0; i < problem_.weight.size(); ++i)
      if (problem_.cap[i] < unbounded) caps_.emplace_back(problem_.cap[i] / problem_.weight[i], i);
    std::sort(caps_.begin(), caps_.end());
  }

  /// The level at which link l is full. The maximum guards against rounding: a level never falls.
  double share(std::uint32_t l) const { return std::max(level_, links_[l].residual / links_[l].demand); }

  void saturate(std::uint32_t l) {
    level_ = share(l);
    for (std::uint32_t k = links_[l].first; k < links_[l].last; ++k) freeze(entries_[k].item, l);
  }

  // An item may cross a full link twice, or several that are full at once; only the first time counts.
  void freeze(std::uint32_t i, std::uint32_t bottleneck) {
    if (frozen_[i]) return;
    frozen_[i] = true;
    if (bottleneck == no_link) level_ = std::max(level_, problem_.cap[i] / problem_.weight[i]);
    result_.level[i] = level_;
    result_.bottleneck[i] = bottleneck;
    for (std::uint32_t k = problem_.first[i]; k < problem_.first[i + 1]; ++k) {
      Link& link = links_[problem_.link[k]];
      const double weight = problem_.use[k] * problem_.weight[i];
      link.residual -= weight * level_;
      link.demand -= weight;
      // Subtracting nearly equal numbers would leave mostly rounding errors, and the level divides by them.
      if (--link.open > 0 && link.demand < cancelled * weight) link.demand = open_demand(link);
    }
  }

  // Rare: only when an item had almost all of the demand.
  double open_demand(const Link& link) const {
    double demand = 0;
    for (std::uint32_t k = link.first; k < link.last; ++k)
      if (!frozen_[entries_[k].item]) demand += entries_[k].weight;
    return demand;
  }

  const SharingProblem& problem_;
  Sharing result_;
  std::vector<bool> frozen_;
  std::vector<Link> links_;
  std::vector<Entry> entries_;                          ///< by link, then item
  std::vector<std::pair<double, std::uint32_t>> caps_;  ///< by level, then id
  std::priority_queue<std::pair<double, std::uint32_t>, std::vector<std::pair<double, std::uint32_t>>, std::greater<>>
      heap_;
  double level_ = 0;  ///< of the filling; never falls
};

}  // namespace

Sharing fill(const SharingProblem& problem) {
  const std::size_t items = problem.weight.size();
  FABRICAST_CHECK(problem.cap.size() == items && problem.first.size() == items + 1,
                  "each item has one weight, cap and path");
  FABRICAST_CHECK(problem.use.size() == problem.link.size() && problem.first.back() == problem.link.size(),
                  "paths end at the end of the list of links");
  return Filling(problem).run();
}

}  // namespace fabricast
