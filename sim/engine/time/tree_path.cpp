// The stations of a tree: up the longest path to the root, down the longest path from it, and the users of each
// station.
//
//   chain of the leaf, [ GPU, proxy thread, NIC, GPU of the parent ] for each level, root, the same downward, chain (1)
//
// Both paths are those of longest_path.hpp. Channels of the other tree, and slices on other paths, use the same links,
// proxy threads and NICs. Each of these users is counted with the station of this path that is busy at the same time.
// Slices arrive at all nodes of a level at about the same time, so this is the station at the same level (`like`).
#include <algorithm>
#include <array>
#include <limits>

#include "fabricast/collective/algorithm.hpp"
#include "fabricast/collective/double_tree.hpp"
#include "longest_path.hpp"
#include "paths.hpp"
#include "places.hpp"
#include "tree_contention.hpp"

namespace fabricast {

namespace {

/// One network edge of the tree, seen from the child.
struct TreeEdge {
  std::int64_t child = 0, parent = 0;
  int type = 0;      ///< which child of its parent
  int siblings = 1;  ///< children of the parent
};

class TreePath {
 public:
  /// \param table  of the channel's tree
  TreePath(const Services& services, SliceBytes bytes, TreeLayout layout, const TreeTable& table,
           const LongestPath& longest, const std::vector<EdgeContention>& contentions)
      : s_(services),
        contentions_(contentions),
        v_(services.view()),
        bytes_(bytes),
        layout_(std::move(layout)),
        gpus_(layout_.gpus),
        index_(index_of(v_.channel)),
        shape_(shape_of(v_.channel)),
        table_(table),
        root_(static_cast<std::int64_t>(table.root)) {
    for (auto n = static_cast<std::int64_t>(longest.up); n != root_; n = ups_.back().parent)
      ups_.push_back(edge_above(n));
    for (auto n = static_cast<std::int64_t>(longest.down); n != root_; n = downs_.back().parent)
      downs_.push_back(edge_above(n));
    std::reverse(downs_.begin(), downs_.end());
  }

  Pipeline operator()() {
    // In an all_gather heads multicast their own data, and in a reduce_scatter they keep the sum.
    if (layout_.by_nvswitch && v_.plan.op != CollectiveOp::all_gather) add_copy(v_.costs.hop_inside.value);
    climb();
    add_root();
    descend();
    if (layout_.by_nvswitch && v_.plan.op != CollectiveOp::reduce_scatter) add_copy(0);
    share_places();
    keep_pace();
    return std::move(path_);
  }

 private:
  // ---- the path ----

  int index_of(int channel) const { return layout_.index[static_cast<std::size_t>(channel)]; }
  const ChannelShape& shape_of(int channel) const { return layout_.shapes[static_cast<std::size_t>(channel)]; }

  TreePlace place(std::int64_t node) const { return double_tree(v_.comm.nodes(), node, index_); }
  TreeEdge edge_above(std::int64_t child) const {
    const auto at = static_cast<std::size_t>(child), parent = static_cast<std::size_t>(table_.parent[at]);
    return {child, table_.parent[at], table_.type[at], table_.children[parent]};
  }
  std::size_t up_edge(std::int64_t child) const {
    return table_.up_edge(static_cast<std::size_t>(child), layout_.head, layout_.heads);
  }
  std::size_t down_edge(std::int64_t child) const {
    return table_.down_edge(static_cast<std::size_t>(child), layout_.head, layout_.heads);
  }
  /// Position in the node's chain where a child attaches.
  int position(int type) const { return child_position(layout_.pattern, gpus_, type); }

  // ---- the stations ----

  /// Where a station is: a node of the path, and a position in its chain of GPUs.
  struct Spot {
    std::int64_t node = 0;
    int position = 0;
    bool up = true;
    std::size_t edge = 0;  ///< servers only
  };

  void climb() {
    // On a single node the tree is the chain of its root.
    const std::int64_t leaf = ups_.empty() ? root_ : ups_.front().child;
    for (int p = gpus_ - 1; p > 0; --p) add_worker({leaf, p, true}, up_hop(p), inside);
    for (const TreeEdge& e : ups_) {
      add_worker({e.child, 0, true}, nic_buffer, by_network);
      add_network({e.child, 0, true, up_edge(e.child)}, e.siblings);
      // With the balanced pattern the first child arrives at the second GPU, one hop before the first.
      if (position(e.type) == 1) add_worker({e.parent, 1, true}, up_hop(1), inside);
    }
  }

  void add_root() {
    top_ = stations_.size();
    // The root sends to its own chain and to a child in one operation.
    const bool alone = gpus_ == 1 && downs_.empty();
    const bool to_child = !downs_.empty() && (gpus_ == 1 || position(downs_.front().type) == 0);
    add_worker({root_, 0, false}, gpus_ > 1 ? down_hop(0) : nic_buffer, alone ? last : to_child ? by_network : inside);
  }

  void descend() {
    for (std::size_t i = 0; i < downs_.size(); ++i) {
      const TreeEdge& e = downs_[i];
      const int at = position(e.type);
      // The root's station has been added.
      if (i > 0) add_worker({e.parent, 0, false}, gpus_ > 1 ? down_hop(0) : nic_buffer, at == 1 ? inside : by_network);
      if (at == 1) add_worker({e.parent, 1, false}, gpus_ > 2 ? down_hop(1) : nic_buffer, by_network);
      add_network({e.parent, at, false, down_edge(e.child)}, e.siblings);
    }
    const std::int64_t leaf = downs_.empty() ? root_ : downs_.back().child;
    if (layout_.by_nvswitch) {
      if (!downs_.empty()) add_worker({leaf, 0, false}, nic_buffer, inside);
      return;
    }
    if (!downs_.empty() && gpus_ > 1) add_worker({leaf, 0, false}, down_hop(0), inside);
    for (int p = 1; p + 1 < gpus_; ++p) add_worker({leaf, p, false}, down_hop(p), inside);
    // The end of the path only receives.
    if (!downs_.empty() || gpus_ > 1) add_last(leaf);
  }

  static std::size_t up_hop(int p) { return static_cast<std::size_t>(2 * (p - 1)); }
  static std::size_t down_hop(int p) { return static_cast<std::size_t>(2 * p + 1); }

  enum Next { inside, by_network, last };
  /// A position that heads do not have, so that copies are not mistaken for stations of a head.
  static constexpr int copies_apart = 1;

  /// NVLS: a GPU copies in or out, or only signals that its buffer is ready.
  void add_copy(double latency) {
    Station w;
    const std::int64_t leaf = ups_.empty() ? root_ : ups_.front().child;
    const Spot spot{spots_.empty() ? leaf : spots_.back().node, copies_apart, latency > 0};
    if (!v_.costs.in_place) {
      w.whole.pass = copies(spot, bytes_.whole);
      w.tail.pass = copies(spot, bytes_.tail);
    }
    w.latency = latency;
    stations_.push_back(w);
    spots_.push_back(spot);
  }
  /// NVLS, s: copying the chunks of all heads, slower alongside a head that serves more nodes.
  double copies(const Spot& spot, double bytes) const {
    return s_.threads(bytes, 1 / v_.costs.fan_out(place(spot.node).neighbours()));
  }
  /// NVLS: a head reduces its own chunk on the path up and multicasts it on the path down; the root does both.
  Service at_head(const Spot& spot, double bytes) const {
    const bool root = place(spot.node).parent < 0;
    double link = 0;
    if (spot.up || root) link = s_.reduce(layout_.head, bytes);
    if (!spot.up || root) link = std::max(link, s_.multicast(layout_.head, bytes));
    return {copies(spot, bytes) / v_.costs.copies, 0, link};
  }

  /// Fraction of a block's threads that work there; at the root all of them.
  double threads_at(const Spot& spot) const {
    if (spot.node == root_ && spot.position == 0) return 1;
    return spot.up ? v_.costs.up : v_.costs.down;
  }

  void add_worker(Spot spot, std::size_t hop, Next next) {
    Station w;
    if (layout_.by_nvswitch) {
      w.whole = at_head(spot, bytes_.whole);
      w.tail = at_head(spot, bytes_.tail);
      w.as_they_come = true;
      // The copies of its node limit its pace, whether or not they are on this path.
      if (!v_.costs.in_place) w.gap = copies(spot, bytes_.whole);
      if (next != by_network && v_.plan.op != CollectiveOp::reduce_scatter) w.latency = v_.costs.hop_inside.value;
      stations_.push_back(w);
      spots_.push_back(spot);
      return;
    }
    const double part = threads_at(spot);
    const auto service = [&](double bytes) {
      return Service{s_.threads(bytes, part), 0, s_.link(hop, bytes), s_.copying(bytes, part)};
    };
    w.whole = service(bytes_.whole);
    w.tail = service(bytes_.tail);
    if (next == inside) {
      w.latency = v_.costs.hop_inside.value;
      if (v_.costs.cut_through) w.hand_on = v_.costs.gpu_overhead(bytes_.whole).value;
    }
    stations_.push_back(w);
    spots_.push_back(spot);
  }
  void add_last(std::int64_t leaf) {
    Station w;
    const double part = v_.costs.down;
    const auto service = [&](double bytes) {
      return Service{s_.receive(bytes, part), 0, 0, s_.receiving(bytes, part)};
    };
    w.whole = service(bytes_.whole);
    w.tail = service(bytes_.tail);
    stations_.push_back(w);
    spots_.push_back({leaf, gpus_ - 1, false});
  }

  /// Adds the proxy thread and the NIC that send on an edge.
  void add_network(Spot spot, int siblings) {
    Station proxy, nic;
    proxy.server = nic.server = true;
    proxy.as_they_come = nic.as_they_come = layout_.by_nvswitch;
    const Messages by_proxy = count(spot, true), by_nic = count(spot, false);
    proxy.whole = s_.proxy(by_proxy, bytes_.whole);
    proxy.tail = s_.proxy(by_proxy, bytes_.tail);
    nic.whole = s_.nic(spot.edge, by_nic, siblings, spot.up, bytes_.whole);
    nic.tail = s_.nic(spot.edge, by_nic, siblings, spot.up, bytes_.tail);
    if (!contentions_.empty()) {
      const EdgeContention& contention = contentions_[spot.edge];
      // Beyond the NICs, half of a tree's traffic goes in the other direction, at other times.
      const double alone = slowest_link(v_, static_cast<std::uint32_t>(v_.channel), spot.edge);
      const double beyond = (std::min(alone, contention.alone_between) + contention.alone_between) / 2;
      const double pass = std::max(s_.here(spot.edge) * siblings, beyond);
      // Contention at this time replaces that of all connections that cross the links during the call.
      nic.whole.pass = bytes_.whole * pass;
      nic.tail.pass = bytes_.tail * pass;
      nic.gap = bytes_.whole * contention.round_between;
    }
    // An acknowledgement takes the same path back.
    nic.latency = nic.credit = v_.costs.network_latency(bytes_.whole).value + s_.latency(spot.edge);
    stations_.push_back(proxy);
    spots_.push_back(spot);
    stations_.push_back(nic);
    spots_.push_back(spot);
  }

  // ---- the users of each station ----

  /// Calls use(channel, upward, position) for every message per slice that leaves a node by the proxy thread of the
  /// spot's GPU, or by its NIC.
  template <class Use>
  void for_each_message(const Spot& spot, bool by_proxy, Use use) const {
    const int gpu = shape_.gpus[static_cast<std::size_t>(spot.position)];
    for (int c = 0; c < v_.plan.channels; ++c) {
      const ChannelShape& shape = shape_of(c);
      if (v_.use[static_cast<std::size_t>(c)] == 0 || (!by_proxy && shape.nic_in != shape_.nic_in)) continue;
      const TreePlace here = double_tree(v_.comm.nodes(), spot.node, index_of(c));
      const auto sends = [&](int p) { return !by_proxy || shape.gpus[static_cast<std::size_t>(p)] == gpu; };
      if (here.parent >= 0 && sends(0)) use(c, true, 0);
      for (int type = 0; type < 2; ++type)
        if (here.children[static_cast<std::size_t>(type)] >= 0 && sends(position(type))) use(c, false, position(type));
    }
  }
  Messages count(const Spot& spot, bool by_proxy) const {
    Messages m{0, 0, 0};
    for_each_message(spot, by_proxy, [&](int c, bool up, int) {
      m.all += 1;
      if (up != spot.up || index_of(c) != index_) return;
      m.step += 1;
      if (c == v_.channel) m.own += 1;
    });
    return m;
  }

  /// Number of levels between a node and the root, by tree index.
  std::array<std::int64_t, 2> levels(std::int64_t node) const {
    std::array<std::int64_t, 2> levels{};
    for (int index = 0; index < 2; ++index)
      for (std::int64_t n = node; (n = double_tree(v_.comm.nodes(), n, index).parent) >= 0;)
        ++levels[static_cast<std::size_t>(index)];
    return levels;
  }

  /// The station of the path that stands for a station of some channel at a level and position.
  std::uint32_t like(std::int64_t level, int position, bool up, bool server) {
    const std::size_t longest = up ? ups_.size() : downs_.size();
    // Trees may be deeper elsewhere. Levels beyond the path are busy at about the time of its end.
    level = std::min(level, static_cast<std::int64_t>(longest));
    std::vector<std::uint32_t>& known = alike_[server][up];
    if (known.empty()) known.assign((longest + 1) * static_cast<std::size_t>(gpus_), no_station);
    std::uint32_t& best = known[static_cast<std::size_t>(level * gpus_ + position)];
    if (best != no_station) return best;
    best = static_cast<std::uint32_t>(top_);
    // All chains begin to send up at once, on every level.
    const bool anywhere = up && !server && position > 0;
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for (std::uint32_t i = 0; i < stations_.size(); ++i) {
      if (stations_[i].server != server || spots_[i].up != up) continue;
      // The level decides, then the position, because a hop in a chain is faster than one between nodes.
      const std::int64_t off =
          (anywhere ? 0 : 64 * std::abs(levels_[i] - level)) + std::abs(spots_[i].position - position);
      if (off < least) {
        least = off;
        best = i;
      }
    }
    return best;
  }

  /// The users of a hop inside the node.
  std::vector<PlaceUser> users_of_hop(const Spot& spot, const std::array<std::int64_t, 2>& level) {
    const int to = spot.position + (spot.up ? -1 : 1);
    const int sender = shape_.gpus[static_cast<std::size_t>(spot.position)];
    const int receiver = shape_.gpus[static_cast<std::size_t>(to)];
    return fabricast::users_of_hop(
        v_.use, sender, receiver, [&](int c) -> const std::vector<int>& { return shape_of(c).gpus; },
        [&](int c, int p, bool up) { return like(level[static_cast<std::size_t>(index_of(c))], p, up, false); });
  }

  /// The users of the NVSwitch. Its operation crosses the links of all GPUs in one direction and those of its head in
  /// the other.
  std::vector<PlaceUser> users_of_nvswitch(std::size_t station, const std::array<std::int64_t, 2>& level) {
    const auto heads = static_cast<double>(v_.comm.heads.size());
    const bool reduces = station <= top_;
    std::vector<PlaceUser> users;
    for (int c = 0; c < v_.plan.channels; ++c) {
      if (v_.use[static_cast<std::size_t>(c)] == 0) continue;
      const std::int64_t here = level[static_cast<std::size_t>(index_of(c))];
      const auto root = static_cast<std::uint32_t>(top_);
      users.push_back({here == 0 ? root : like(here, 0, true, false), reduces ? heads : 1, reduces ? 1 : heads});
      users.push_back({here == 0 ? root : like(here, 0, false, false), reduces ? 1 : heads, reduces ? heads : 1});
    }
    return users;
  }

  void share_places() {
    // Levels count from the root to the leaves at both ends of the path.
    std::int64_t level = static_cast<std::int64_t>(ups_.size());
    for (std::size_t i = 0; i < stations_.size(); ++i) {
      const Spot& spot = spots_[i];
      if (i > 0 && spot.node != spots_[i - 1].node) level += i <= top_ ? -1 : 1;
      levels_.push_back(level);
    }
    path_.both_directions = v_.costs.both_directions;
    std::array<std::int64_t, 2> here{};
    for (std::size_t i = 0; i < stations_.size(); ++i) {
      const Spot& spot = spots_[i];
      // The root does both directions in one operation, so no other part slows it.
      if (!stations_[i].server && i != top_ && path_.both_directions < 2)
        stations_[i].beside = like(levels_[i], spot.position, !spot.up, false);
      if (i == 0 || spot.node != spots_[i - 1].node) here = levels(spot.node);
      std::vector<PlaceUser>& users = stations_[i].users;
      if (stations_[i].server) {
        const bool by_proxy = stations_[i + 1].server;
        for_each_message(spot, by_proxy, [&](int c, bool up, int p) {
          const std::int64_t its = here[static_cast<std::size_t>(index_of(c))];
          users.push_back({like(its, p, up, true) + (by_proxy ? 0 : 1), 1});
        });
      } else if (stations_[i].whole.round > 0) {
        users = layout_.by_nvswitch ? users_of_nvswitch(i, here) : users_of_hop(spot, here);
      }
      merge_users(users);
    }
  }
  /// Limits the pace to that of a link that is not on this path but more loaded than those that are.
  void keep_pace() {
    // All slices pass the root, so the limit is applied there.
    const double share = v_.by_network ? bytes_.whole / v_.rate : 0;
    for (const Station& s : stations_)
      if (s.whole.round * (1 + 1e-9) >= share) return;
    stations_[top_].gap = share;
  }

  static constexpr std::size_t nic_buffer = static_cast<std::size_t>(-1);
  const Services& s_;
  const std::vector<EdgeContention>& contentions_;  ///< by connection; empty: not known
  const ChannelView& v_;
  SliceBytes bytes_;
  TreeLayout layout_;
  int gpus_, index_;
  const ChannelShape& shape_;
  const TreeTable& table_;
  std::int64_t root_;
  std::vector<TreeEdge> ups_, downs_;
  Pipeline path_;
  std::vector<Station>& stations_ = path_.stations;
  std::vector<Spot> spots_;                                         ///< of the stations
  std::size_t top_ = 0;                                             ///< the root's station
  std::vector<std::int64_t> levels_;                                ///< of the stations' nodes
  std::array<std::array<std::vector<std::uint32_t>, 2>, 2> alike_;  ///< by server, up; level and position
};

}  // namespace

TreeLayout chain_layout(const Communicator& comm, int channels) {
  TreeLayout layout;
  layout.gpus = comm.gpus();
  layout.pattern = comm.tree_pattern;
  for (int c = 0; c < channels; ++c) {
    layout.shapes.push_back(comm.tree_shape(c));
    layout.index.push_back(comm.tree_index(c));
  }
  return layout;
}

TreeLayout head_layout(const Communicator& comm, int channels, std::size_t head) {
  TreeLayout layout;
  layout.by_nvswitch = true;
  layout.head = head;
  const int gpu = comm.heads[head], nic = comm.nodes() > 1 ? comm.nic_of_gpu[static_cast<std::size_t>(gpu)] : -1;
  // All channels of a head leave by the NIC of its GPU, and alternate between the two trees.
  layout.shapes.assign(static_cast<std::size_t>(channels), {{gpu}, nic, nic});
  for (int c = 0; c < channels; ++c) layout.index.push_back(c % 2);
  layout.heads = comm.heads.size();
  return layout;
}

Pipeline tree_path(const Services& services, SliceBytes bytes) {
  const ChannelView& v = services.view();
  const TreeTable table(v.comm.nodes(), v.comm.tree_index(v.channel));
  TreeLayout layout = chain_layout(v.comm, v.plan.channels);
  const std::vector<EdgeContention> contentions = tree_contentions(services, bytes.whole, bytes.slices, layout);
  const LongestPath longest = longest_paths(services, bytes.whole, layout, table, contentions).front();
  return TreePath(services, bytes, std::move(layout), table, longest, contentions)();
}

Pipeline nvls_path(const Services& services, SliceBytes bytes) {
  const ChannelView& v = services.view();
  const TreeTable table(v.comm.nodes(), v.channel % 2);
  const auto layout = [&](std::size_t head) { return head_layout(v.comm, v.plan.channels, head); };
  // Edges of all heads are numbered together, so the layout of one head serves to find the contention of all.
  const std::vector<EdgeContention> contentions = tree_contentions(services, bytes.whole, bytes.slices, layout(0));
  const std::vector<LongestPath> paths = longest_paths(services, bytes.whole, layout(0), table, contentions);
  // On a single node all heads are alike.
  const auto longest = std::max_element(paths.begin(), paths.end(),
                                        [](const LongestPath& a, const LongestPath& b) { return a.length < b.length; });
  return TreePath(services, bytes, layout(static_cast<std::size_t>(longest - paths.begin())), table, *longest,
                  contentions)();
}

}  // namespace fabricast
