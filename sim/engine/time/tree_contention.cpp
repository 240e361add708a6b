// (1) of tree_contention.hpp: when each connection of a tree carries its slices. Those at the same time share links
// (edge_contention.hpp).
//
//   duration(e) = (K - 1) max( pace, h_e ) + h_e      s; K slices on connection e, whose link takes h_e per slice   (2)
//
// These times assume that every connection has its links to itself, since contention in turn depends on the times.
#include "tree_contention.hpp"

#include <algorithm>
#include <array>

#include "../count/network_counter.hpp"
#include "fabricast/collective/double_tree.hpp"

namespace fabricast {

namespace {

class Clock {
 public:
  Clock(const Services& services, double bytes, double slices, const TreeLayout& layout)
      : s_(services), v_(services.view()), bytes_(bytes), slices_(slices), layout_(layout) {
    const auto gpus = static_cast<double>(layout.gpus);
    // With cut-through, lines are forwarded as they arrive: a hop costs no copy.
    inside_ =
        v_.costs.hop_inside.value + (v_.costs.cut_through ? v_.costs.gpu_overhead(bytes).value : s_.threads(bytes));
    chain_ = (gpus - 1) * inside_;
    hop_ =
        s_.threads(bytes) + v_.costs.proxy(bytes).value + v_.costs.network_latency(bytes).value + s_.mean_hop().latency;
    // By NIC, because a NIC sends one message after the other.
    double sharers = 0;
    for (std::size_t c = 0; c < layout.shapes.size(); ++c)
      if (layout.shapes[c].nic_in == layout.shapes[static_cast<std::size_t>(v_.channel)].nic_in) sharers += v_.use[c];
    // The factor 2: a node has one parent in each tree, and two children in half of the trees.
    pace_ = std::max({s_.threads(bytes, std::min(v_.costs.up, v_.costs.down)), v_.costs.proxy_round(bytes).value,
                      2 * sharers * bytes * s_.at_nic()});
  }

  /// \param from_leaves  the nodes of the table, children before their parents
  std::vector<EdgeTime> times_of(std::size_t channel, const TreeTable& table,
                                 const std::vector<std::size_t>& from_leaves) const {
    const std::size_t nodes = table.parent.size();
    const std::size_t edges = v_.loads.network->edge_paths()->edges[channel].size();
    std::vector<EdgeTime> times(edges);
    const auto link = [&](std::size_t e) { return bytes_ * slowest_link(v_, static_cast<std::uint32_t>(channel), e); };
    std::vector<double> up(nodes), down(nodes);
    for (std::size_t head = 0; head < layout_.heads; ++head) {
      const auto up_edge = [&](std::size_t n) { return table.up_edge(n, head, layout_.heads); };
      const auto down_edge = [&](std::size_t n) { return table.down_edge(n, head, layout_.heads); };
      up.assign(nodes, chain_);
      down.assign(nodes, -1);
      // A node sends up when the data of the last child have arrived.
      for (const std::size_t n : from_leaves) {
        if (n == table.root) continue;
        double& parent = up[static_cast<std::size_t>(table.parent[n])];
        const double at = link(up_edge(n));
        parent = std::max(parent, up[n] + hop_ + at + detour(table.type[n]));
        times[up_edge(n)] = {up[n], (slices_ - 1) * std::max(pace_, at) + at};
      }
      // Nothing goes down before the sum is complete.
      down[table.root] = up[table.root];
      for (auto it = from_leaves.rbegin(); it != from_leaves.rend(); ++it) {
        const std::size_t n = *it;
        if (n == table.root) continue;
        const double begins = down[static_cast<std::size_t>(table.parent[n])] + detour(table.type[n]),
                     at = link(down_edge(n));
        times[down_edge(n)] = {begins, (slices_ - 1) * std::max(pace_, at) + at};
        down[n] = begins + hop_ + at;
      }
    }
    return times;
  }

  /// Children before their parents.
  static std::vector<std::size_t> order(const TreeTable& table) {
    std::vector<std::pair<int, std::size_t>> by_depth;
    for (std::size_t n = 0; n < table.parent.size(); ++n) {
      int depth = 0;
      for (auto at = static_cast<std::int64_t>(n); table.parent[static_cast<std::size_t>(at)] >= 0;
           at = table.parent[static_cast<std::size_t>(at)])
        --depth;
      by_depth.emplace_back(depth, n);
    }
    std::sort(by_depth.begin(), by_depth.end());
    std::vector<std::size_t> nodes;
    for (const auto& [depth, n] : by_depth) nodes.push_back(n);
    return nodes;
  }

 private:
  double detour(int type) const { return child_position(layout_.pattern, layout_.gpus, type) * inside_; }

  const Services& s_;
  const ChannelView& v_;
  double bytes_, slices_;
  const TreeLayout& layout_;
  double inside_ = 0, chain_ = 0, hop_ = 0, pace_ = 0;
};

}  // namespace

std::vector<EdgeContention> tree_contentions(const Services& s, double bytes, double slices, const TreeLayout& layout) {
  const ChannelView& v = s.view();
  // Empty slices have no contention: they measure the time without links.
  if (v.comm.nodes() < 2 || bytes <= 0 || !v.loads.network->edge_paths()) return {};
  const EdgePaths& paths = *v.loads.network->edge_paths();
  const Clock clock(s, bytes, slices, layout);
  // Both trees of NCCL's double tree: an inner node of one is a leaf of the other, and their messages meet at its NIC.
  const std::array tables{TreeTable(v.comm.nodes(), 0), TreeTable(v.comm.nodes(), 1)};
  const std::array orders{Clock::order(tables[0]), Clock::order(tables[1])};
  EdgeTimes times;
  for (std::size_t c = 0; c < paths.edges.size(); ++c) {
    const auto tree = static_cast<std::size_t>(layout.index[c]);
    times.push_back(clock.times_of(c, tables.at(tree), orders.at(tree)));
  }
  std::vector<EdgeContention> contentions;
  for (std::size_t e = 0; e < paths.edges[static_cast<std::size_t>(v.channel)].size(); ++e)
    contentions.push_back(edge_contention(v, static_cast<std::uint32_t>(v.channel), e, times));
  return contentions;
}

}  // namespace fabricast
