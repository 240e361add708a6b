// One depth-first search under fixed constraints, as ncclTopoSearchRec does it [NCCL-search].
//
// A channel starts at a NIC (or at a GPU on a single node), visits every GPU of the node, and returns to a NIC at the
// step that its pattern prescribes. Each step follows a path, which takes the channel's bandwidth off all links of the
// path; when the step is undone, the bandwidth is returned. Results must equal NCCL's even where the step limit cuts a
// search short, so the order of candidates, the roundings to GB/s and the counting of steps are all NCCL's.
#include "graph_search.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

namespace fabricast {

/// Tables that all searches of a system share.
struct GraphSearch::Cache {
  /// NETs in the order in which they are tried, for one maximum path type.
  struct Nets {
    std::vector<int> all;
    std::vector<std::vector<int>> of_gpu;
  };
  /// A possible next GPU of a channel.
  struct Peer {
    std::array<long, 6> key;  ///< sort key, ascending; [3] and [4] describe the path to it
    int gpu;
  };

  explicit Cache(NcclSystem& s) : system(s) {
    for (int n = 0; n < system.nets; ++n) near_gpus.push_back(system.nearest_gpus(n)), owner.push_back(system.owner(n));
  }

  // Sorted candidates are computed once per limit and per pair of GPU and NIC, since a search asks for them in every
  // step.
  const Nets& nets(PathType limit) {
    auto [it, created] = nets_by_limit.try_emplace(limit);
    if (!created) return it->second;
    it->second.all = select(-1, limit);
    for (int g = 0; g < system.gpus; ++g) it->second.of_gpu.push_back(select(g, limit));
    return it->second;
  }

  /// Possible next GPUs, best first. \param net  that the channel comes from and returns to, or -1
  const std::vector<Peer>& peers(int gpu, int net) {
    auto [it, created] = peers_by_gpu_and_net.try_emplace(std::pair(gpu, net));
    if (!created) return it->second;
    for (int i = 1; i < system.gpus; ++i) {
      const int g = (gpu + i) % system.gpus;
      const NcclPath& path = system.path_gpu_gpu(gpu, g);
      if (path.links.empty()) continue;
      // NCCL's order, in whole GB/s: the path from the channel's NIC (bandwidth, the GPU's slot, hops) before the path
      // from the GPU (bandwidth, hops), then the next number. Bandwidths are negative because the highest comes first.
      Peer peer{{0, 0, 0, -(path.bandwidth / 1000), static_cast<long>(path.links.size()), i}, g};
      if (net >= 0) {
        const NcclPath& route = system.path_net_gpu(net, g);
        peer.key[0] = -(route.bandwidth / 1000);
        peer.key[1] = -static_cast<long>(system.layout.gpus[static_cast<std::size_t>(g)].slot.gigabytes());
        peer.key[2] = static_cast<long>(route.links.size());
      }
      it->second.push_back(peer);
    }
    std::sort(it->second.begin(), it->second.end(), [](const Peer& a, const Peer& b) { return a.key < b.key; });
    return it->second;
  }

  NcclSystem& system;
  std::vector<std::vector<int>> near_gpus;
  std::vector<int> owner;
  std::vector<int> candidates;  ///< stack of the candidates of all steps in progress

 private:
  /// NETs that a GPU (-1: any GPU) may use: the preferred ones first, then by distance.
  std::vector<int> select(int gpu, PathType limit) const {
    // The preferred NIC of a GPU rotates with the channel, so the first sixty-four channels give all NICs near it.
    std::vector<int> nets;
    const auto add = [&](int n) {
      if (n >= 0 && std::find(nets.begin(), nets.end(), n) == nets.end()) nets.push_back(n);
    };
    const int begin = gpu < 0 ? 0 : gpu, end = gpu < 0 ? system.gpus : gpu + 1;
    for (int g = begin; g < end; ++g) {
      const int first = system.preferred_net(g, 0);
      add(first);
      for (int c = 1; c < 64; ++c) {
        const int n = system.preferred_net(g, c);
        if (n == first) break;
        add(n);
      }
    }
    for (int t = 0; t <= static_cast<int>(limit); ++t)
      for (int g = begin; g < end; ++g)
        for (int n = 0; n < system.nets; ++n)
          if (static_cast<int>(system.path_gpu_net(g, n).type) == t) add(n);
    return nets;
  }

  std::map<PathType, Nets> nets_by_limit;
  std::map<std::pair<int, int>, std::vector<Peer>> peers_by_gpu_and_net;
};

namespace {

using LinkType = NcclSystem::LinkType;

/// Order of GPUs on a channel: any, by PCIe position, or as on the previous channel.
enum class Order { free, pci, replay };

/// The previous vertex of a channel: a NET, a GPU, or none.
struct Origin {
  enum class Kind { none, gpu, net } kind = Kind::none;
  int index = -1;
};

/// One depth-first search. Steps follow NCCL's source closely, because the step limit makes the result depend on their
/// order.
class Search {
 public:
  Search(GraphSearch::Cache& cache, const SearchState& wanted, SearchState& best)
      : cache_(cache),
        sys_(cache.system),
        nets_(cache.nets(wanted.type_inter)),
        graph_(wanted),
        best_(best),
        used_(static_cast<std::size_t>(sys_.gpus), 0) {
    graph_.gpus.assign(static_cast<std::size_t>(graph_.max_channels * sys_.gpus), 0);
    graph_.nets.assign(static_cast<std::size_t>(2 * graph_.max_channels), -1);
    for (int n = 0; n < sys_.nets; ++n) net_left_.push_back(sys_.layout.nics[static_cast<std::size_t>(n)].rate);
    // The step at which a channel goes back to a NIC: a ring after its last GPU, a split tree after the second one,
    // which has the children, and all others after the first. Without NICs only a ring is closed, by a path to its
    // first GPU.
    const bool ring = graph_.pattern == SearchPattern::ring;
    if (sys_.nets > 0) {
      back_to_net_ = ring ? sys_.gpus - 1 : graph_.pattern == SearchPattern::split_tree ? 1 : 0;
    } else {
      back_to_first_ = ring ? sys_.gpus - 1 : -1;
    }
  }

  void run(int& time) {
    time_ = &time;
    start_channel();
  }

 private:
  int& intra(int channel, int step) { return graph_.gpus[static_cast<std::size_t>(channel * sys_.gpus + step)]; }
  int& inter(int channel, int side) { return graph_.nets[static_cast<std::size_t>(2 * channel + side)]; }
  bool is_tree() const { return graph_.pattern <= SearchPattern::tree; }

  /// Takes bandwidth from a path, or returns it if `bw` is negative. \returns false, and takes nothing, if it is
  /// insufficient
  bool take(const NcclPath& path, double bw, bool from_gpu) {
    const MilliBandwidth amount = milli(bw);
    MilliBandwidth over_pci = amount;
    // Peer traffic through the root complex of an Intel CPU costs 20 % more.
    if (path.type == PathType::PHB && from_gpu && sys_.intel) over_pci = milli(bw * 6 / 5);
    // Writes to GPUs before Ampere cause replies in the reverse direction.
    const auto answers = [&](const NcclSystem::Link& link) {
      return sys_.capability < 80 && !from_gpu && link.to < sys_.gpus;
    };
    const auto change = [&](NcclSystem::Link& link, int sign) {
      const MilliBandwidth forward = sign * (link.type == LinkType::pci ? over_pci : amount);
      link.bandwidth -= forward;
      if (answers(link)) sys_.links[link.reverse].bandwidth -= forward / 8;
    };
    // All or nothing: if a link lacks bandwidth, the links before it get theirs back.
    for (std::size_t i = 0; i < path.links.size(); ++i) {
      NcclSystem::Link& link = sys_.links[path.links[i]];
      const MilliBandwidth forward = link.type == LinkType::pci ? over_pci : amount;
      if (link.bandwidth < forward || (answers(link) && sys_.links[link.reverse].bandwidth < forward / 8)) {
        while (i > 0) change(sys_.links[path.links[--i]], -1);
        return false;
      }
      change(link, 1);
    }
    return true;
  }

  // Follows a path, or undoes this with a negative multiple. Limits on the path type apply only to a whole channel in
  // the forward direction; multiples other than one are the parts of NVLS and CollNet. A tree is used both ways, so its
  // reverse path must be near, too.
  bool follow(const NcclPath& path, const NcclPath& reverse, bool intra_path, bool from_gpu, double multiple) {
    const PathType limit = intra_path ? graph_.type_intra : graph_.type_inter;
    if (path.type == PathType::DIS) return false;
    if (multiple == 1 && (path.type > limit || (is_tree() && reverse.type > limit))) return false;
    if (!take(path, (intra_path ? graph_.bw_intra : graph_.bw_inter) * multiple, from_gpu)) return false;
    graph_.hops += multiple * static_cast<double>(path.links.size());
    return true;
  }

  bool follow(Origin from, int gpu, double multiple) {
    if (from.kind == Origin::Kind::none) return true;
    if (from.kind == Origin::Kind::net)
      return follow(sys_.path_net_gpu(from.index, gpu), sys_.path_gpu_net(gpu, from.index), false, false, multiple);
    return follow(sys_.path_gpu_gpu(from.index, gpu), sys_.path_gpu_gpu(gpu, from.index), true, true, multiple);
  }
  bool follow_to_net(int gpu, int net, double multiple) {
    return follow(sys_.path_gpu_net(gpu, net), sys_.path_net_gpu(net, gpu), false, true, multiple);
  }
  bool follow_switch(int gpu, bool up, double multiple) {
    const auto g = static_cast<std::size_t>(gpu);
    return up ? follow(sys_.gpu_switch[g], sys_.switch_gpu[g], true, true, multiple)
              : follow(sys_.switch_gpu[g], sys_.gpu_switch[g], true, false, multiple);
  }

  // On a single node the first channel tries PCIe order, and later ones repeat the previous channel. Any other order
  // follows only if channels may differ, or for the first channel.
  void start_channel() {
    if (sys_.nets > 0) return from_net();
    if (graph_.pattern == SearchPattern::nvls) return try_gpu({}, graph_.channels, 0, back_to_net_, -1, Order::free);
    if (graph_.channels == 0)
      try_gpu({}, 0, 0, back_to_net_, back_to_first_, Order::pci);
    else
      try_gpu({}, intra(graph_.channels - 1, 0), 0, back_to_net_, back_to_first_, Order::replay);
    if (!graph_.same_channels || graph_.channels == 0)
      for (int g = 0; g < sys_.gpus; ++g) try_gpu({}, g, 0, back_to_net_, back_to_first_, Order::free);
  }

  // Starts a channel at each NIC in turn. The first NIC rotates with the channel, so consecutive channels use different
  // NICs.
  void from_net() {
    const bool heads = graph_.pattern == SearchPattern::nvls || graph_.pattern == SearchPattern::collnet_direct;
    // Here NCCL rounds down to GB/s; links are checked exactly.
    const double bw = std::floor(graph_.bw_inter);
    bool found = false;
    const auto count = nets_.all.size();
    for (std::size_t i = 0; i < count && !(heads && found); ++i) {
      const int n = nets_.all[(static_cast<std::size_t>(graph_.channels) + i) % count];
      const NodeLayout::Nic& nic = sys_.layout.nics[static_cast<std::size_t>(n)];
      if (graph_.collnet && !nic.collnet) continue;
      if (net_left_[static_cast<std::size_t>(n)] < bw) continue;
      // With crossNic 2 channels form pairs: an odd channel enters by the NIC by which the previous one left, and
      // leaves by the NIC by which that one entered. Both NICs are then used equally in both directions.
      if (graph_.pattern == SearchPattern::ring && graph_.cross_nic == 2 && graph_.channels % 2 == 1 &&
          n != inter(graph_.channels - 1, 1))
        continue;
      inter(graph_.channels, 0) = n;
      graph_.latency_inter = nic.latency_us;
      charge_port(n, bw);
      if (heads)
        found = try_head(n) || found;
      else
        try_gpus_of(n);
      charge_port(n, -bw);
    }
  }

  bool same_port(int a, int b) const {
    const NodeLayout::Nic &x = sys_.layout.nics[static_cast<std::size_t>(a)],
                          &y = sys_.layout.nics[static_cast<std::size_t>(b)];
    return x.asic == y.asic && x.port == y.port;
  }
  // NICs of the same card and port share its rate, so all of them are charged.
  void charge_port(int net, double bw) {
    for (int n = 0; n < sys_.nets; ++n)
      if (same_port(n, net)) net_left_[static_cast<std::size_t>(n)] -= bw;
  }

  // A head is the GPU that owns the NIC, and each GPU is the head of at most one channel.
  bool try_head(int net) {
    if (graph_.channels >= static_cast<int>(nets_.all.size())) return false;
    const int gpu = cache_.owner[static_cast<std::size_t>(net)];
    if (gpu < 0) return false;
    for (int c = 0; c < graph_.channels; ++c)
      if (intra(c, 0) == gpu) return false;
    try_gpu({Origin::Kind::net, net}, gpu, 0, back_to_net_, -1, Order::free);
    return true;
  }

  void try_gpus_of(int net) {
    const Origin origin{Origin::Kind::net, net};
    if (graph_.channels > 0 && graph_.same_channels)
      return try_gpu(origin, intra(graph_.channels - 1, 0), 0, back_to_net_, -1, Order::replay);
    if (graph_.channels == 0 && !sys_.nvswitch) {
      // PCIe order first, as a reference, with its own step limit.
      int reference = 1 << 10;
      int* const time = std::exchange(time_, &reference);
      try_gpu(origin, 0, 0, back_to_net_, -1, Order::pci);
      time_ = time;
      if (reference == -1) *time_ = -1;
    }
    // Then the nearest GPUs; each channel starts with a different one.
    const std::vector<int>& near = cache_.near_gpus[static_cast<std::size_t>(net)];
    const auto first = std::lower_bound(near.begin(), near.end(), graph_.channels % sys_.gpus);
    for (auto g = first; g != near.end(); ++g) try_gpu(origin, *g, 0, back_to_net_, -1, Order::free);
    for (auto g = near.begin(); g != first; ++g) try_gpu(origin, *g, 0, back_to_net_, -1, Order::free);
  }

  void try_gpu(Origin from, int gpu, int step, int back_to_net, int back_to_first, Order order) {
    if (!follow(from, gpu, 1)) return;
    // One bit per channel suffices, since NCCL has at most 64.
    const std::uint64_t flag = std::uint64_t{1} << graph_.channels;
    used_[static_cast<std::size_t>(gpu)] ^= flag;
    visit(gpu, step, back_to_net, back_to_first, order);
    used_[static_cast<std::size_t>(gpu)] ^= flag;
    follow(from, gpu, -1);
  }

  // One step of the search, and the only place that counts steps. -1 in `time` means that no better result is possible,
  // which also ends the recursion.
  void visit(int gpu, int step, int back_to_net, int back_to_first, Order order) {
    if (*time_ <= 0) return;
    --*time_;
    if (step == sys_.gpus) return finish_channel();
    intra(graph_.channels, step) = gpu;
    if (step == back_to_net) return back_to_nets(gpu, step, back_to_first, order);
    if (graph_.pattern == SearchPattern::nvls) return spread_nvls(gpu);
    if (graph_.pattern == SearchPattern::collnet_direct) return spread_collnet(gpu);
    if (step < sys_.gpus - 1) return next_gpus(gpu, step, back_to_net, back_to_first, order);
    if (step == back_to_first) {
      const int first = intra(graph_.channels, 0);
      if (!follow({Origin::Kind::gpu, gpu}, first, 1)) return;
      visit(first, step + 1, back_to_net, -1, order);
      follow({Origin::Kind::gpu, gpu}, first, -1);
      return;
    }
    visit(gpu, sys_.gpus, -1, -1, order);
  }

  void finish_channel() {
    ++graph_.channels;
    if (better()) {
      best_ = graph_;
      if (graph_.channels == graph_.max_channels) *time_ = -1;
    }
    if (graph_.channels < graph_.max_channels) start_channel();
    --graph_.channels;
  }

  // More total bandwidth is better; among equal ones of the same pattern and crossNic, fewer hops. NVLS compares the
  // network's bandwidth, and more heads are better as such.
  bool better() const {
    if (graph_.channels < graph_.min_channels) return false;
    constexpr double tolerance = 1e-6;
    if (graph_.pattern == SearchPattern::nvls)
      return (graph_.channels > best_.channels && graph_.channels <= sys_.gpus) ||
             graph_.channels * graph_.bw_inter > best_.channels * best_.bw_inter + tolerance;
    const double now = graph_.channels * graph_.bw_intra, then = best_.channels * best_.bw_intra;
    if (now > then + tolerance) return true;
    if (now < then - tolerance) return false;
    return graph_.pattern == best_.pattern && graph_.cross_nic == best_.cross_nic && graph_.hops < best_.hops;
  }

  void back_to_nets(int gpu, int step, int back_to_first, Order order) {
    if (sys_.nets == 0) return;
    const int start = inter(graph_.channels, 0);
    const bool balanced = graph_.pattern == SearchPattern::balanced_tree;
    // A tree returns to the NIC that it came from. crossNic 0 binds the other patterns, too, but to another entry of
    // the same port as well.
    for (const int n : nets_.of_gpu[static_cast<std::size_t>(gpu)]) {
      if (graph_.pattern == SearchPattern::tree && n != start) continue;
      if (graph_.pattern == SearchPattern::ring && graph_.cross_nic == 2) {
        if (graph_.channels % 2 == 1 && n != inter(graph_.channels - 1, 0)) continue;
      } else if (graph_.cross_nic == 0 && !same_port(n, start)) {
        continue;
      }
      // In a balanced tree the first two GPUs each carry half of the NIC's load.
      if (balanced && step > 0 && n != inter(graph_.channels, 1)) continue;
      const double whole = graph_.bw_inter;
      const double part = balanced ? whole / 2 : whole;
      graph_.bw_inter = part;
      const bool there = follow_to_net(gpu, n, 1);
      graph_.bw_inter = whole;
      if (!there) continue;
      inter(graph_.channels, 1) = n;
      visit(gpu, step, balanced && step == 0 ? 1 : -1, back_to_first, order);
      graph_.bw_inter = part;
      follow_to_net(gpu, n, -1);
      graph_.bw_inter = whole;
    }
  }

  void next_gpus(int gpu, int step, int back_to_net, int back_to_first, Order order) {
    const Origin from{Origin::Kind::gpu, gpu};
    if (order == Order::pci) return try_gpu(from, step + 1, step + 1, back_to_net, back_to_first, order);
    if (order == Order::replay)
      return try_gpu(from, intra(graph_.channels - 1, step + 1), step + 1, back_to_net, back_to_first, order);
    // If the channel returns to the NIC from the next GPU, that GPU should be near it. If it returns later, GPUs near
    // it are left for then.
    const int sort = back_to_net == -1 ? 0 : back_to_net == step + 1 ? 1 : -1;
    // One stack serves all levels of the recursion, so no step allocates memory.
    const std::size_t begin = cache_.candidates.size();
    push_candidates(gpu, sort);
    const std::size_t end = cache_.candidates.size();
    for (std::size_t i = begin; i<end&& * time_> 0; ++i)
      try_gpu(from, cache_.candidates[i], step + 1, back_to_net, back_to_first, order);
    cache_.candidates.resize(begin);
  }

  bool is_used(int gpu) const { return used_[static_cast<std::size_t>(gpu)] >> graph_.channels & 1; }

  /// Pushes the possible next GPUs of a channel, best first.
  /// \param sort  0: nearest to the GPU first; 1: nearest to the channel's NET first; -1: likewise, but among equals
  /// these last
  void push_candidates(int gpu, int sort) {
    std::vector<int>& list = cache_.candidates;
    const int gpus = sys_.gpus;
    if (sys_.nvswitch) {
      // With an NVSwitch NCCL only tries neighbours.
      const int next = (gpu + 1) % gpus, previous = (gpu + gpus - 1) % gpus;
      const auto push = [&](int g) {
        if (!is_used(g) && sys_.path_gpu_gpu(gpu, g).type != PathType::DIS) list.push_back(g);
      };
      const bool ring = graph_.pattern == SearchPattern::ring;
      if (ring && previous != next) push(previous);
      push(next);
      if (!ring && previous != next && graph_.pattern != SearchPattern::tree) push(previous);
      return;
    }
    const std::size_t begin = list.size();
    const GraphSearch::Cache::Peer* first = nullptr;
    bool all_alike = true;
    for (const auto& peer : cache_.peers(gpu, sort != 0 && sys_.nets > 0 ? inter(graph_.channels, 0) : -1)) {
      if (is_used(peer.gpu)) continue;
      if (!first) first = &peer;
      all_alike = all_alike && peer.key[3] == first->key[3] && peer.key[4] == first->key[4];
      list.push_back(peer.gpu);
    }
    if (sort == -1 && all_alike) std::reverse(list.begin() + static_cast<std::ptrdiff_t>(begin), list.end());
  }

  /// A head of NVLS: every GPU sends to and receives from the NVSwitch, the head twice as much.
  void spread_nvls(int head) {
    // The counters remember how many GPUs took bandwidth, so exactly these give it back, whether the head fits or not.
    int down = 0, up = 0;
    const auto weight = [&](int g) { return g == head ? 2.0 : 1.0; };
    while (down < sys_.gpus && follow_switch(down, false, weight(down))) ++down;
    if (down == sys_.gpus)
      while (up < sys_.gpus && follow_switch(up, true, weight(up))) ++up;
    if (up == sys_.gpus) visit(head, sys_.gpus, -1, -1, Order::free);
    while (up > 0) {
      --up;
      follow_switch(up, true, -weight(up));
    }
    while (down > 0) {
      --down;
      follow_switch(down, false, -weight(down));
    }
  }

  /// A head of CollNetDirect: it sends a part to every other GPU and receives a part from each.
  void spread_collnet(int head) {
    const double part = sys_.gpus > 1 ? 1.0 / (sys_.gpus - 1) : 1.0;
    int out = 0, in = 0;
    while (out < sys_.gpus && (out == head || follow({Origin::Kind::gpu, head}, out, part))) ++out;
    if (out == sys_.gpus)
      while (in < sys_.gpus && (in == head || follow({Origin::Kind::gpu, in}, head, part))) ++in;
    if (in == sys_.gpus) {
      int step = 1;
      for (int g = 0; g < sys_.gpus; ++g)
        if (g != head) intra(graph_.channels, step++) = g;
      visit(head, sys_.gpus, -1, -1, Order::free);
    }
    while (in > 0)
      if (--in != head) follow({Origin::Kind::gpu, in}, head, -part);
    while (out > 0)
      if (--out != head) follow({Origin::Kind::gpu, head}, out, -part);
  }

  GraphSearch::Cache& cache_;
  NcclSystem& sys_;
  const GraphSearch::Cache::Nets& nets_;
  SearchState graph_;
  SearchState& best_;
  int* time_ = nullptr;
  int back_to_net_ = -1, back_to_first_ = -1;
  std::vector<std::uint64_t> used_;  ///< by GPU, a bit per channel
  std::vector<double> net_left_;     ///< GB/s by NET
};

}  // namespace

GraphSearch::GraphSearch(NcclSystem& system) : cache_(std::make_unique<Cache>(system)) {}
GraphSearch::~GraphSearch() = default;

void GraphSearch::run(const SearchState& wanted, SearchState& best, int& time) {
  Search(*cache_, wanted, best).run(time);
}

}  // namespace fabricast
