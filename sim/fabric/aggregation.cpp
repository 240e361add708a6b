// Aggregation trees: by arithmetic in Clos networks, by breadth-first search from the root in other fabrics.
//
// A tree is the union of the paths from all NICs to one root, so it carries data once over each cable in each
// direction. Tree k of a job takes other links than tree k + 1 where there is a choice, so that trees of different
// rails do not meet unless they must (docs/models/sharp.md).
#include "fabricast/fabric/aggregation.hpp"

#include <algorithm>
#include <array>
#include <deque>

namespace fabricast {

namespace {

/// Collects the cables of a tree, each with both directions.
class Collector {
 public:
  explicit Collector(const Fabric& fabric) : fabric_(fabric), taken_(fabric.links() / 2) {}

  /// Adds an upward link. \returns false if the tree already has it, and thus also the rest of the path to the root
  // Paths to one root merge and stay merged, which ends the climb early.
  bool climb(std::uint32_t up) {
    if (taken_[up / 2]) return false;
    taken_[up / 2] = true;
    cables_.push_back(up / 2);
    tree_.switches.push_back(fabric_.link(LinkId(up)).to);
    return true;
  }
  /// Records the latency and levels of the path from a port to the root.
  void note_path(std::span<const std::uint32_t> ups) {
    Seconds latency;
    for (const std::uint32_t up : ups)
      latency = latency + fabric_.link_class(LinkId(up)).latency + fabric_.link_class(LinkId(up ^ 1U)).latency;
    tree_.latency = std::max(tree_.latency, latency);
    tree_.levels = std::max(tree_.levels, static_cast<int>(ups.size()));
  }
  AggregationTree finish() {
    std::sort(cables_.begin(), cables_.end());
    for (const std::uint32_t cable : cables_) {
      tree_.links.emplace_back(2 * cable);
      tree_.links.emplace_back(2 * cable + 1);
    }
    std::sort(tree_.switches.begin(), tree_.switches.end());
    tree_.switches.erase(std::unique(tree_.switches.begin(), tree_.switches.end()), tree_.switches.end());
    return std::move(tree_);
  }

 private:
  const Fabric& fabric_;
  std::vector<bool> taken_;  ///< by cable
  std::vector<std::uint32_t> cables_;
  AggregationTree tree_;
};

AggregationTree in_clos(const Fabric& fabric, const Clos& clos, const std::vector<std::uint32_t>& endpoints,
                        std::uint32_t index) {
  if (endpoints.empty()) return {};
  // The tree must reach the tier at which all endpoints are connected: the same leaf, group or island.
  const std::uint32_t leaf0 = clos.leaf_of(endpoints.front()), group0 = clos.group_of(leaf0);
  bool leaves = false, groups = false, islands = false;
  for (const std::uint32_t e : endpoints) {
    const std::uint32_t leaf = clos.leaf_of(e), group = clos.group_of(leaf);
    leaves |= leaf != leaf0;
    groups |= group != group0;
    islands |= clos.island_of(group) != clos.island_of(group0);
  }
  if (islands || (groups && clos.spine_up == 0) || (leaves && clos.leaf_up == 0)) return {};
  Collector tree(fabric);
  std::array<std::uint32_t, 3> ups{};
  const std::size_t levels = groups ? 3 : leaves ? 2 : 1;
  for (const std::uint32_t e : endpoints) {
    // Uplink `index` modulo their number, the same at all leaves, so that all paths meet at one spine; the same for
    // cores.
    const std::uint32_t leaf = clos.leaf_of(e), j = leaves ? index % clos.leaf_up : 0;
    ups[0] = Clos::endpoint_up(e);
    if (leaves) ups[1] = clos.leaf_to_spine(leaf, j);
    if (groups) ups[2] = clos.spine_to_core(clos.spine_of(leaf, j), index / clos.leaf_up % clos.spine_up);
    tree.note_path({ups.data(), levels});
    for (std::size_t l = 0; l < levels && tree.climb(ups[l]); ++l) {}
  }
  return tree.finish();
}

AggregationTree by_search(const Fabric& fabric, const std::vector<std::uint32_t>& endpoints, std::uint32_t index) {
  // Switches of the highest tier that the file states. Trees take them in turn.
  std::vector<std::uint32_t> roots;
  for (const Tier tier : {Tier::core, Tier::spine, Tier::leaf}) {
    for (std::uint32_t v = fabric.endpoints(); v < fabric.vertices(); ++v)
      if (fabric.tier(VertexId(v)) == tier) roots.push_back(v);
    if (!roots.empty()) break;
  }
  if (roots.empty()) return {};
  const Fabric::Adjacency adjacency(fabric);
  constexpr std::uint32_t unreached = static_cast<std::uint32_t>(-1);
  std::vector<std::uint32_t> up(fabric.vertices(), unreached);  // by vertex: the link towards the root
  std::deque<std::uint32_t> queue = {roots[index % roots.size()]};
  const std::uint32_t root = queue.front();
  while (!queue.empty()) {
    const std::uint32_t v = queue.front();
    queue.pop_front();
    for (const LinkId link : adjacency.out(VertexId(v))) {
      const std::uint32_t to = fabric.link(link).to.value;
      if (to == root || up[to] != unreached) continue;
      // The search goes down from the root, data goes up: the link is stored in reverse.
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
    tree.note_path(ups);
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
