#include "fabricast/fabric/aggregation.hpp"

#include <algorithm>
#include <deque>
#include <set>

namespace fabricast {

namespace {

/// Collects the cables of a tree, each with both directions.
class Collector {
 public:
  explicit Collector(const Fabric& fabric) : fabric_(fabric), taken_(fabric.links() / 2) {}

  /// Goes over an upward link; false if the tree had it already.
  bool climb(std::uint32_t up) {
    if (taken_[up / 2]) return false;
    taken_[up / 2] = true;
    tree_.switches.push_back(fabric_.link(LinkId(up)).to);
    return true;
  }
  void note_way(std::span<const std::uint32_t> ups) {
    Seconds latency;
    for (const std::uint32_t up : ups)
      latency = latency + fabric_.link_class(LinkId(up)).latency + fabric_.link_class(LinkId(up ^ 1U)).latency;
    tree_.latency = std::max(tree_.latency, latency);
    tree_.levels = std::max(tree_.levels, static_cast<int>(ups.size()));
  }
  AggregationTree finish() {
    for (std::uint32_t cable = 0; cable < taken_.size(); ++cable)
      if (taken_[cable]) tree_.links.push_back(LinkId(2 * cable)), tree_.links.push_back(LinkId(2 * cable + 1));
    std::sort(tree_.switches.begin(), tree_.switches.end());
    tree_.switches.erase(std::unique(tree_.switches.begin(), tree_.switches.end()), tree_.switches.end());
    return std::move(tree_);
  }

 private:
  const Fabric& fabric_;
  std::vector<bool> taken_;  ///< by cable
  AggregationTree tree_;
};

AggregationTree in_clos(const Fabric& fabric, const Clos& clos, const std::vector<std::uint32_t>& endpoints,
                        std::uint32_t index) {
  std::set<std::uint32_t> leaves, groups, islands;
  for (const std::uint32_t e : endpoints) {
    const std::uint32_t leaf = clos.leaf_of(e);
    leaves.insert(leaf), groups.insert(clos.group_of(leaf)), islands.insert(clos.island_of(clos.group_of(leaf)));
  }
  if (islands.size() > 1 || (groups.size() > 1 && clos.spine_up == 0) || (leaves.size() > 1 && clos.leaf_up == 0))
    return {};
  Collector tree(fabric);
  for (const std::uint32_t e : endpoints) {
    std::vector<std::uint32_t> ups = {Clos::endpoint_up(e)};
    const std::uint32_t leaf = clos.leaf_of(e);
    if (leaves.size() > 1) {
      const std::uint32_t j = index % clos.leaf_up;
      ups.push_back(clos.leaf_to_spine(leaf, j));
      if (groups.size() > 1)
        ups.push_back(clos.spine_to_core(clos.spine_of(leaf, j), index / clos.leaf_up % clos.spine_up));
    }
    tree.note_way(ups);
    for (const std::uint32_t up : ups)
      if (!tree.climb(up)) break;
  }
  return tree.finish();
}

AggregationTree by_search(const Fabric& fabric, const std::vector<std::uint32_t>& endpoints, std::uint32_t index) {
  std::vector<std::uint32_t> roots;
  for (const Tier tier : {Tier::core, Tier::spine, Tier::leaf}) {
    for (std::uint32_t v = fabric.endpoints(); v < fabric.vertices(); ++v)
      if (fabric.tier(VertexId(v)) == tier) roots.push_back(v);
    if (!roots.empty()) break;
  }
  if (roots.empty()) return {};
  const Fabric::Adjacency adjacency(fabric);
  constexpr std::uint32_t unreached = static_cast<std::uint32_t>(-1);
  std::vector<std::uint32_t> up(fabric.vertices(), unreached);  // the link towards the root
  std::deque<std::uint32_t> queue = {roots[index % roots.size()]};
  const std::uint32_t root = queue.front();
  while (!queue.empty()) {
    const std::uint32_t v = queue.front();
    queue.pop_front();
    for (const LinkId link : adjacency.out(VertexId(v))) {
      const std::uint32_t to = fabric.link(link).to.value;
      if (to == root || up[to] != unreached) continue;
      up[to] = link.value ^ 1U;
      if (!fabric.is_endpoint(VertexId(to))) queue.push_back(to);
    }
  }
  Collector tree(fabric);
  for (const std::uint32_t e : endpoints) {
    std::vector<std::uint32_t> ups;
    for (std::uint32_t v = e; v != root; v = fabric.link(LinkId(up[v])).to.value) {
      if (up[v] == unreached) return {};
      ups.push_back(up[v]);
    }
    tree.note_way(ups);
    for (const std::uint32_t link : ups)
      if (!tree.climb(link)) break;
  }
  return tree.finish();
}

}  // namespace

AggregationTree aggregation_tree(const Fabric& fabric, const std::vector<std::uint32_t>& endpoints,
                                 std::uint32_t index) {
  return fabric.clos() ? in_clos(fabric, *fabric.clos(), endpoints, index) : by_search(fabric, endpoints, index);
}

}  // namespace fabricast
