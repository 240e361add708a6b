// (1) of longest_path.hpp: one pass over the nodes, each after its parent.
//
// A tree has a path for each node, direction and head. Lengths are kept by node, so each path takes only its last hop
// to compute.
#include "longest_path.hpp"

#include <array>

#include "fabricast/collective/double_tree.hpp"

namespace fabricast {

TreeTable::TreeTable(std::int64_t nodes, int index) {
  // All channels use the same two trees, so places are computed once for all of them.
  for (std::int64_t node = 0; node < nodes; ++node) {
    const TreePlace place = double_tree(nodes, node, index);
    parent.push_back(static_cast<std::int32_t>(place.parent));
    type.push_back(static_cast<std::uint8_t>(place.child_type));
    children.push_back(static_cast<std::uint8_t>((place.children[0] >= 0) + (place.children[1] >= 0)));
    if (place.parent < 0) root = static_cast<std::size_t>(node);
  }
}

namespace {

/// Seconds from the root to each node and back, node by node.
class Search {
 public:
  Search(const Services& services, double bytes, const TreeLayout& layout, const TreeTable& table,
         const std::vector<EdgeContention>& contentions)
      : s_(services),
        contentions_(contentions),
        bytes_(bytes),
        heads_(layout.heads),
        table_(table),
        longest_(heads_, {table.root, table.root, 0}) {
    const ProtocolCosts& costs = s_.view().costs;
    const double gpu = s_.slowest_gpu(bytes_);
    // The part that is the same for every hop.
    hop_ = gpu + costs.network_latency(bytes_).value;
    // If a child is attached to the second GPU of the chain, its slices take one more hop inside the node.
    for (int type = 0; type < 2; ++type)
      detour_.at(static_cast<std::size_t>(type)) =
          child_position(layout.pattern, layout.gpus, type) * (gpu + costs.hop_inside.value);
  }

  std::vector<LongestPath> run() {
    const std::size_t nodes = table_.parent.size();
    above_.assign(nodes * heads_, -1);
    below_.assign(nodes * heads_, -1);
    for (std::size_t head = 0; head < heads_; ++head) above_[at(table_.root, head)] = below_[at(table_.root, head)] = 0;
    std::vector<std::size_t> route;
    for (std::size_t node = 0; node < nodes; ++node) {
      // A parent may have a higher number than its child, so walk up to a known node and back.
      for (std::size_t n = node; above_[at(n, 0)] < 0; n = static_cast<std::size_t>(table_.parent[n]))
        route.push_back(n);
      for (; !route.empty(); route.pop_back()) reach(route.back());
      for (std::size_t head = 0; head < heads_; ++head) {
        LongestPath& longest = longest_[head];
        if (above_[at(node, head)] > above_[at(longest.up, head)]) longest.up = node;
        if (below_[at(node, head)] > below_[at(longest.down, head)]) longest.down = node;
      }
    }
    // Up and down are separate at the root: everything must have come up before anything goes down.
    for (std::size_t head = 0; head < heads_; ++head)
      longest_[head].length = above_[at(longest_[head].up, head)] + below_[at(longest_[head].down, head)];
    return std::move(longest_);
  }

 private:
  std::size_t at(std::size_t node, std::size_t head) const { return node * heads_ + head; }
  void reach(std::size_t child) {
    const auto parent = static_cast<std::size_t>(table_.parent[child]);
    const double detour = detour_.at(table_.type[child]);
    const int siblings = table_.children[parent];
    // Children of one node meet at its NIC in both directions: each waits for its sibling's slice.
    const auto weight = [&](std::size_t e) { return s_.latency(e) + alone(e) * siblings * bytes_ + hop_; };
    for (std::size_t head = 0; head < heads_; ++head) {
      above_[at(child, head)] = above_[at(parent, head)] + detour + weight(table_.up_edge(child, head, heads_));
      below_[at(child, head)] = below_[at(parent, head)] + detour + weight(table_.down_edge(child, head, heads_));
    }
  }

  double alone(std::size_t e) const { return contentions_.empty() ? s_.alone(e) : contentions_[e].alone; }

  const Services& s_;
  const std::vector<EdgeContention>& contentions_;
  double bytes_;
  std::size_t heads_;
  const TreeTable& table_;
  double hop_ = 0;
  std::array<double, 2> detour_{};     ///< s; by type of the child
  std::vector<double> above_, below_;  ///< s, by node and head; negative: not reached yet
  std::vector<LongestPath> longest_;
};

}  // namespace

std::vector<LongestPath> longest_paths(const Services& services, double bytes, const TreeLayout& layout,
                                       const TreeTable& table, const std::vector<EdgeContention>& contentions) {
  return Search(services, bytes, layout, table, contentions).run();
}

}  // namespace fabricast
