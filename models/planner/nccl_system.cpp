// Finds the paths between all vertices with a breadth-first search from each: closest path type, then highest
// bandwidth, then fewest hops. Then adds the detours of staged peer traffic and PXN [NCCL-paths]. NCCL's detours
// without GPUDirect RDMA are omitted, so channels are the same as with it.
#include "nccl_system.hpp"

#include <algorithm>
#include <limits>

#include "fabricast/planner/search.hpp"

namespace fabricast {

namespace {

using Kind = NcclSystem::Kind;
using LinkType = NcclSystem::LinkType;

/// Bandwidth inside a vertex, practically unlimited, GB/s [NCCL-topo].
constexpr double local_bandwidth = 5000;

/// The first step of the best path from a vertex to a fixed goal.
struct Step {
  PathType type = PathType::DIS;
  MilliBandwidth bandwidth = 0;
  int hops = std::numeric_limits<int>::max();
  std::uint16_t link = 0;
};

/// Builds the system of a node.
// Vertices and links follow the layout; their bandwidths are NCCL's assumptions, not the rates of the hardware model.
// Forecasts use NodeGraph instead (sim/fabric/node_graph.cpp).
class SystemBuilder {
 public:
  SystemBuilder(const Node& node, bool network, const NcclSettings& settings)
      : node_(node), network_(network), settings_(settings) {
    system_.layout = node.layout;
  }

  NcclSystem build() {
    add_vertices();
    add_links();
    find_paths();
    divert_peers();
    if (network_ && uses_pxn(node_, settings_)) divert_nets();
    return std::move(system_);
  }

 private:
  const NodeLayout& layout() const { return system_.layout; }

  std::uint16_t add(Kind kind, int index) {
    system_.vertices.push_back({kind, index});
    return static_cast<std::uint16_t>(system_.vertices.size() - 1);
  }

  // A cable is two directed links. Each knows its reverse, because writes to old GPUs load both.
  void connect(std::uint16_t a, std::uint16_t b, LinkType type, double gigabytes) {
    const auto first = static_cast<std::uint16_t>(system_.links.size());
    const auto second = static_cast<std::uint16_t>(first + 1);
    system_.links.push_back({a, b, type, milli(gigabytes), second});
    system_.links.push_back({b, a, type, milli(gigabytes), first});
  }

  void add_vertices() {
    const auto gpus = static_cast<int>(layout().gpus.size());
    system_.gpus = gpus;
    system_.capability = layout().gpus.front().capability;
    // NCCL's rules go by the oldest GPU. GPUs and NICs come first, so that their vertices have the numbers g and gpus +
    // n.
    for (const NodeLayout::Gpu& g : layout().gpus) system_.capability = std::min(system_.capability, g.capability);
    for (int g = 0; g < gpus; ++g) add(Kind::gpu, g);
    // NCCL removes NICs from the graph of a communicator on one node.
    if (network_) {
      system_.nets = static_cast<int>(layout().nics.size());
      for (int n = 0; n < system_.nets; ++n) add(Kind::net, n);
    }
    for (std::size_t h = 0; h < layout().hubs.size(); ++h) {
      const bool socket = layout().is_socket(static_cast<int>(h));
      hubs_.push_back(add(socket ? Kind::cpu : Kind::pci, socket ? system_.cpus++ : static_cast<int>(h)));
      if (socket) sockets_.push_back(static_cast<int>(h));
    }
    system_.intel = layout().hubs.front().cpu == CpuVendor::intel;
    system_.amd = layout().hubs.front().cpu == CpuVendor::amd;
    system_.nvswitch = layout().has_nvswitch();
    if (system_.nvswitch) switch_ = add(Kind::nvswitch, 0);
  }

  std::uint16_t hub(int h) const { return hubs_[static_cast<std::size_t>(h)]; }
  std::uint16_t net(int n) const { return static_cast<std::uint16_t>(system_.gpus + n); }

  void add_links() {
    for (int g = 0; g < system_.gpus; ++g) {
      const NodeLayout::Gpu& gpu = layout().gpus[static_cast<std::size_t>(g)];
      const auto v = static_cast<std::uint16_t>(g);
      // A mesh lists each link at both of its GPUs; the one with the lower number adds it.
      for (const NodeLayout::NvLinks& l : gpu.nvlinks) {
        const double bandwidth = l.count * nccl_nvlink(gpu.capability);
        if (l.peer == NodeLayout::nvswitch)
          connect(v, switch_, LinkType::nvlink, bandwidth);
        else if (l.peer > g)
          connect(v, static_cast<std::uint16_t>(l.peer), LinkType::nvlink, bandwidth);
      }
      connect(hub(gpu.hub), v, LinkType::pci, gpu.slot.gigabytes());
      if (gpu.c2c > 0) connect(hub(layout().socket_of(gpu.hub)), v, LinkType::c2c, gpu.c2c);
    }
    for (std::size_t h = 0; h < layout().hubs.size(); ++h) {
      const NodeLayout::Hub& x = layout().hubs[h];
      if (x.parent >= 0) connect(hub(x.parent), hubs_[h], LinkType::pci, x.up.gigabytes());
    }
    for (const auto& [a, b] : layout().peer_links)
      connect(hub(a), hub(b), LinkType::pci, layout().hubs[static_cast<std::size_t>(a)].up.gigabytes());
    if (network_) add_nics();
    for (const int a : sockets_)
      for (const int b : sockets_) {
        const NodeLayout::Hub &x = layout().hubs[static_cast<std::size_t>(a)],
                              &y = layout().hubs[static_cast<std::size_t>(b)];
        // Sockets of different hosts in an NVLink domain have no link: only NVLink and the network join hosts.
        if (a < b && x.host == y.host)
          connect(hub(a), hub(b), LinkType::socket, std::min(x.socket_link, y.socket_link));
      }
  }

  void add_nics() {
    std::vector<std::uint16_t> cards;
    for (std::size_t c = 0; c < layout().cards.size(); ++c) {
      cards.push_back(add(Kind::nic, static_cast<int>(c)));
      connect(hub(layout().cards[c].hub), cards.back(), LinkType::pci, layout().cards[c].slot.gigabytes());
    }
    for (int n = 0; n < system_.nets; ++n) {
      const NodeLayout::Nic& nic = layout().nics[static_cast<std::size_t>(n)];
      connect(cards[static_cast<std::size_t>(nic.card)], net(n), LinkType::net, nic.rate);
    }
  }

  /// The type of a path to the goal that starts with `link`, given the rest of the path.
  // A path is as far as its farthest link. NVLink through another GPU is NVB, C2C and a root port together are P2C.
  PathType type_with(const NcclSystem::Link& link, const Step& rest, bool from_goal) const {
    const Kind here = system_.vertices[link.from].kind, next = system_.vertices[link.to].kind;
    PathType type = PathType::LOC;
    switch (link.type) {
      case LinkType::nvlink:
        type = next == Kind::gpu && !from_goal && rest.type == PathType::NVL ? PathType::NVB : PathType::NVL;
        break;
      case LinkType::c2c: type = PathType::C2C; break;
      case LinkType::socket: type = PathType::SYS; break;
      case LinkType::net: type = PathType::LOC; break;
      case LinkType::pci:
        type = PathType::PIX;
        if (here == Kind::pci && next == Kind::pci) type = PathType::PXB;
        if (here == Kind::cpu || next == Kind::cpu) type = PathType::PHB;
        break;
    }
    // From a GPU over C2C and its socket to a NIC counts as closer than through a root port.
    if ((rest.type == PathType::C2C && type == PathType::PHB) || (rest.type == PathType::PHB && type == PathType::C2C))
      return PathType::P2C;
    return std::max(rest.type, type);
  }

  /// Best paths from all vertices to one.
  std::vector<Step> paths_to(std::uint16_t goal) const {
    // Breadth first from the goal, backwards over the links, level by level. A vertex may be improved on a later level,
    // by a closer type or more bandwidth at more hops; it is then expanded again.
    std::vector<Step> best(system_.vertices.size());
    best[goal] = {PathType::LOC, milli(local_bandwidth), 0, 0};
    std::vector<std::uint16_t> level{goal};
    while (!level.empty()) {
      std::vector<std::uint16_t> next;
      for (const std::uint16_t v : level)
        for (const std::uint16_t l : into_[v]) {
          const NcclSystem::Link& link = system_.links[l];
          const std::uint16_t u = link.from;
          if (u == goal) continue;
          // Paths cross at most one GPU, and only between GPUs over NVLink.
          if (v != goal && system_.vertices[v].kind == Kind::gpu &&
              (link.type != LinkType::nvlink || system_.vertices[u].kind != Kind::gpu || best[v].hops > 1 ||
               best[v].type != PathType::NVL))
            continue;
          if (v != goal && (system_.vertices[v].kind == Kind::net)) continue;
          Step step;
          step.type = type_with(link, best[v], v == goal);
          step.bandwidth = std::min(best[v].bandwidth, link.bandwidth);
          step.hops = best[v].hops + 1;
          step.link = l;
          const Step& old = best[u];
          const bool better = step.type != old.type             ? step.type < old.type
                              : step.bandwidth != old.bandwidth ? step.bandwidth > old.bandwidth
                                                                : step.hops < old.hops;
          if (!better) continue;
          best[u] = step;
          if (std::find(next.begin(), next.end(), u) == next.end()) next.push_back(u);
        }
      level = std::move(next);
    }
    return best;
  }

  NcclPath path_of(const std::vector<Step>& routes, std::uint16_t from, std::uint16_t to) const {
    NcclPath path;
    if (routes[from].type == PathType::DIS) return path;
    path.type = routes[from].type;
    path.bandwidth = routes[from].bandwidth;
    for (std::uint16_t v = from; v != to; v = system_.links[routes[v].link].to) path.links.push_back(routes[v].link);
    return path;
  }

  // One search per goal yields the paths from all vertices. NCCL proceeds in the same way, so ties between equal paths
  // are resolved alike.
  void find_paths() {
    into_.resize(system_.vertices.size());
    for (std::size_t l = 0; l < system_.links.size(); ++l)
      into_[system_.links[l].to].push_back(static_cast<std::uint16_t>(l));
    const int gpus = system_.gpus, nets = system_.nets;
    system_.gpu_gpu.resize(static_cast<std::size_t>(gpus * gpus));
    system_.gpu_net.resize(static_cast<std::size_t>(gpus * nets));
    system_.net_gpu.resize(static_cast<std::size_t>(gpus * nets));
    for (int g = 0; g < gpus; ++g) {
      const auto goal = static_cast<std::uint16_t>(g);
      const std::vector<Step> routes = paths_to(goal);
      for (int a = 0; a < gpus; ++a)
        system_.gpu_gpu[static_cast<std::size_t>(a * gpus + g)] = path_of(routes, static_cast<std::uint16_t>(a), goal);
      for (int n = 0; n < nets; ++n)
        system_.net_gpu[static_cast<std::size_t>(n * gpus + g)] = path_of(routes, net(n), goal);
      if (system_.nvswitch) system_.switch_gpu.push_back(path_of(routes, switch_, goal));
      cpu_gpu_.emplace_back();
      for (const int s : sockets_) cpu_gpu_.back().push_back(path_of(routes, hub(s), goal));
    }
    for (int n = 0; n < nets; ++n) {
      const std::vector<Step> routes = paths_to(net(n));
      for (int g = 0; g < gpus; ++g)
        system_.gpu_net[static_cast<std::size_t>(g * nets + n)] =
            path_of(routes, static_cast<std::uint16_t>(g), net(n));
    }
    if (system_.nvswitch) {
      const std::vector<Step> routes = paths_to(switch_);
      for (int g = 0; g < gpus; ++g)
        system_.gpu_switch.push_back(path_of(routes, static_cast<std::uint16_t>(g), switch_));
    }
  }

  NcclPath reversed(const NcclPath& path) const {
    NcclPath back = path;
    std::reverse(back.links.begin(), back.links.end());
    for (std::uint16_t& l : back.links) l = system_.links[l].reverse;
    return back;
  }

  static NcclPath joined(const NcclPath& a, const NcclPath& b) {
    NcclPath path = a;
    path.type = std::max(a.type, b.type);
    path.bandwidth = std::min(a.bandwidth, b.bandwidth);
    path.links.insert(path.links.end(), b.links.begin(), b.links.end());
    return path;
  }

  std::size_t socket_of(int gpu) const {
    const int h = layout().socket_of(layout().gpus[static_cast<std::size_t>(gpu)].hub);
    return static_cast<std::size_t>(std::find(sockets_.begin(), sockets_.end(), h) - sockets_.begin());
  }

  /// Routes peers that cannot write to each other through the receiver's CPU.
  void divert_peers() {
    for (int g = 0; g < system_.gpus; ++g)
      for (int p = 0; p < system_.gpus; ++p) {
        NcclPath& path = system_.gpu_gpu[static_cast<std::size_t>(p * system_.gpus + g)];
        if (p == g || path.type == PathType::DIS) continue;
        // Both parts end at the receiver's socket. The path from the sender is the reverse of that to it.
        if (node_.route(p, g) == PeerPath::host_memory)
          path = joined(reversed(cpu_gpu_[static_cast<std::size_t>(p)][socket_of(g)]),
                        cpu_gpu_[static_cast<std::size_t>(g)][socket_of(g)]);
      }
  }

  /// PXN: sends through a peer over NVLink and its NIC, if that is faster or avoids the CPU.
  void divert_nets() {
    for (int n = 0; n < system_.nets; ++n) {
      const int peer = system_.owner(n);
      if (peer == -1) continue;
      const NcclPath theirs = system_.path_gpu_net(peer, n);
      // The peer must be next to the NIC, connected to the GPU by NVLink, and better than the GPU's own path: faster,
      // or without a CPU on the way. Only sends are diverted; receives arrive at the NIC of the receiver.
      if (theirs.type > PathType::P2C) continue;
      for (int g = 0; g < system_.gpus; ++g) {
        NcclPath& out = system_.gpu_net[static_cast<std::size_t>(g * system_.nets + n)];
        if (g == peer || out.type == PathType::DIS || system_.path_gpu_gpu(peer, g).type > PathType::NVL) continue;
        if (theirs.bandwidth <= out.bandwidth && out.type <= PathType::PXN) continue;
        out = joined(system_.path_gpu_gpu(g, peer), theirs);
        out.type = PathType::PXN;
      }
    }
  }

  const Node& node_;
  bool network_;
  const NcclSettings& settings_;
  NcclSystem system_;
  std::uint16_t switch_ = 0;
  std::vector<std::uint16_t> hubs_;
  std::vector<int> sockets_;
  std::vector<std::vector<std::uint16_t>> into_;
  std::vector<std::vector<NcclPath>> cpu_gpu_;  ///< [gpu][socket], from the socket
};

template <class Path>
std::vector<int> nearest(int count, Path path) {
  // All indices with the best path: a tie is left to the caller.
  std::vector<int> found;
  MilliBandwidth bandwidth = 0;
  PathType type = PathType::DIS;
  for (int i = 0; i < count; ++i) {
    const NcclPath& p = path(i);
    if (p.bandwidth > bandwidth || (p.bandwidth == bandwidth && p.type < type)) {
      bandwidth = p.bandwidth;
      type = p.type;
      found.clear();
    }
    if (p.bandwidth == bandwidth && p.type == type && type != PathType::DIS) found.push_back(i);
  }
  return found;
}

}  // namespace

std::vector<int> NcclSystem::nearest_nets(int gpu) const {
  return nearest(nets, [&](int n) -> const NcclPath& { return path_gpu_net(gpu, n); });
}

std::vector<int> NcclSystem::nearest_gpus(int net) const {
  return nearest(gpus, [&](int g) -> const NcclPath& { return path_net_gpu(net, g); });
}

int NcclSystem::preferred_net(int gpu, int channel) const {
  const std::vector<int> near = nearest_nets(gpu);
  if (near.empty()) return -1;
  const int count = static_cast<int>(near.size());
  // Number of GPUs that share these NICs. With its channels a GPU rotates over its share of them, rounded up, as
  // NCCL_NETDEVS_POLICY AUTO states.
  const int sharing = static_cast<int>(std::max<std::size_t>(1, nearest_gpus(near.front()).size()));
  const int device = layout.gpus[static_cast<std::size_t>(gpu)].device, number = device < 0 ? gpu : device;
  int pick = number;
  if ((count & (count - 1)) == 0) {
    // NCCL mirrors the bits of the GPU number: GPUs 0, 1, 2, 3 use NICs 0, 2, 1, 3.
    pick = 0;
    for (int bit = 1, mirror = count >> 1; bit < count; bit <<= 1, mirror >>= 1)
      if (number & bit) pick |= mirror;
  }
  pick += channel % ((count + sharing - 1) / sharing);
  return near[static_cast<std::size_t>(pick % count)];
}

int NcclSystem::owner(int net) const {
  // More channels than NCCL has are never used, so a NIC that no channel up to 64 prefers has no owner.
  constexpr int limit = 64;
  const std::vector<int> near = nearest_gpus(net);
  for (int c = 0; c < limit; ++c)
    for (const int g : near)
      if (preferred_net(g, c) == net) return g;
  return -1;
}

double NcclSystem::max_bandwidth() const {
  MilliBandwidth most = 0;
  for (int g = 0; g < gpus; ++g) {
    for (int n = 0; n < nets; ++n) most = std::max(most, path_gpu_net(g, n).bandwidth);
    for (int p = 0; p < gpus && nets == 0; ++p)
      if (p != g) most = std::max(most, path_gpu_gpu(g, p).bandwidth);
  }
  return gpus == 1 && nets == 0 ? local_bandwidth : static_cast<double>(most) / 1000;
}

double NcclSystem::total_bandwidth() const {
  if (gpus == 1 && nets == 0) return local_bandwidth;
  MilliBandwidth most = 0;
  for (int g = 0; g < gpus; ++g) {
    MilliBandwidth nvlink = 0, pci = 0;
    // GB/s that a GPU can send: all its NVLinks together, or its PCIe slot.
    for (const Link& l : links) {
      if (l.from != g) continue;
      if (l.type == LinkType::nvlink) nvlink += l.bandwidth;
      if (l.type == LinkType::pci) pci = l.bandwidth;
    }
    most = std::max({most, nvlink, pci});
  }
  return static_cast<double>(most) / 1000;
}

NcclSystem nccl_system(const Node& node, bool network, const NcclSettings& settings) {
  return SystemBuilder(node, network, settings).build();
}

}  // namespace fabricast
