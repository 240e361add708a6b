// The sequence of searches that gives the channels of one graph (ncclTopoCompute), and the number of channels that NCCL
// makes of all graphs [NCCL-search] [NCCL-connect].
//
// graph_search.cpp runs a single search under fixed constraints. GraphFinder starts with the strictest constraints and
// the highest speed of the generation's ladder and relaxes them in NCCL's order. That order decides the result: NCCL
// keeps the first solution that is good enough, not the best of all. find_graphs keeps the order of graphs, too,
// because trees get as many channels as rings.
#include "fabricast/planner/search.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <span>
#include <vector>

#include "graph_search.hpp"
#include "search_store.hpp"

namespace fabricast {

namespace {

// Bandwidths per channel that the search tries, GB/s [NCCL-search].
constexpr std::array intra_default = {40., 30., 20., 18., 15., 12., 10., 9., 7., 6., 5., 4., 3.};
constexpr std::array inter_default = {48., 30., 28., 24., 20., 18., 15., 12., 10., 9.,
                                      7.,  6.,  5.,  4.,  3.,  2.4, 1.2, .24, .12};
constexpr std::array intra_sm90 = {60., 50., 40., 30., 24., 20., 15., 12., 11., 6., 3.};
constexpr std::array inter_sm90 = {48., 45., 42., 40., 30., 24., 22., 20., 17.5, 15., 12., 6., 3., 2.4, 1.2, .24, .12};
constexpr std::array intra_sm100 = {90., 80., 70., 60., 50., 45., 40., 30., 24., 20., 19., 18.};
constexpr std::array inter_sm100 = {96., 86.,  80., 48., 45.1, 42., 40., 30., 24., 22.,
                                    20., 17.5, 15., 12., 6.,   3.,  2.4, 1.2, .24, .12};

/// Versions added values: 45 inside nodes in 2.29.2; between nodes 96 in 2.27.6, 80 in 2.29.7, 86 in 2.30.3.
std::vector<double> ladder_of_sm100(bool inter, const NcclVersion& version) {
  std::vector<double> speeds(intra_sm100.begin(), intra_sm100.end());
  if (version < NcclVersion{2, 29, 2}) std::erase(speeds, 45.);
  if (!inter) return speeds;
  speeds.assign(inter_sm100.begin(), inter_sm100.end());
  if (version < NcclVersion{2, 30, 3}) std::erase(speeds, 86.);
  if (version < NcclVersion{2, 29, 7}) std::erase(speeds, 80.);
  if (version < NcclVersion{2, 27, 6}) std::erase(speeds, 96.);
  if (version < NcclVersion{2, 27, 5}) std::replace(speeds.begin(), speeds.end(), 45.1, 45.);
  return speeds;
}

std::vector<double> ladder(int capability, bool inter, const NcclVersion& version) {
  const auto list = [](const auto& speeds) { return std::vector<double>(speeds.begin(), speeds.end()); };
  if (capability >= 100) return ladder_of_sm100(inter, version);
  if (capability >= 90) return inter ? list(inter_sm90) : list(intra_sm90);
  return inter ? list(inter_default) : list(intra_default);
}

/// Maximum channels of a communicator.
int most_channels_of(const NcclVersion& version) { return version < NcclVersion{2, 25, 0} ? 32 : most_channels; }

// Step limits of NCCL for one search, and for all searches of a graph together.
// A search that must repeat the first channel's order has few branches, so NCCL gives it fewer steps.
constexpr int search_time = 1 << 14, same_channels_time = 1 << 8;
constexpr int all_time = 1 << 19;

// Maximum number of channels of NVLS and of CollNetDirect: each channel has another GPU as its head.
constexpr int most_heads_nvls = 32, most_heads_collnet = 8;

PathType next(PathType type) { return static_cast<PathType>(static_cast<int>(type) + 1); }

/// The closest and the farthest path type. Missing paths do not count.
struct Distances {
  PathType least = PathType::DIS, most = PathType::LOC;
  void add(PathType type) {
    if (type == PathType::DIS) return;
    least = std::min(least, type);
    most = std::max(most, type);
  }
};

/// Finds the channels of one graph by a sequence of searches with relaxed constraints.
class GraphFinder {
 public:
  explicit GraphFinder(NcclSystem& system) : system_(system), search_(system) {}

  SearchState find(const SearchRequest& request) {
    const SearchPattern pattern = request.pattern;
    best_ = {};
    best_.pattern = pattern;
    best_.collnet = request.collnet;
    best_.min_channels = request.min_channels;
    best_.max_channels = request.max_channels;
    speeds_ = request.speeds;
    prepare(request);
    if (pattern == SearchPattern::nvls && (!system_.nvswitch || system_.capability < 90)) return best_;
    widen();
    duplicate();
    raise();
    if (best_.channels == 0 && !request.collnet && pattern != SearchPattern::nvls) fall_back();
    return best_;
  }

 private:
  void prepare(const SearchRequest& request) {
    // Only rings, balanced trees and split trees may leave by another NIC than the one that they entered by; a plain
    // tree has a single NIC per channel.
    const bool trees_or_ring =
        best_.pattern <= SearchPattern::ring && best_.pattern != SearchPattern::tree && system_.nets > 1;
    cross_nic_ = trees_or_ring ? request.cross_nic : 0;
    best_.cross_nic = cross_nic_ == 1 ? 1 : 0;
    Distances intra, inter;
    for (int g = 0; g < system_.gpus; ++g) {
      for (int p = 0; p < system_.gpus; ++p)
        if (p != g) intra.add(system_.path_gpu_gpu(g, p).type);
      for (int n = 0; n < system_.nets; ++n) inter.add(system_.path_gpu_net(g, n).type);
    }
    // The search starts with the closest path types of the node and never widens past the farthest. Without the limit
    // to near NICs it may widen up to paths across sockets.
    least_intra_ = system_.gpus > 1 && intra.least != PathType::DIS ? intra.least : PathType::LOC;
    most_intra_ = system_.gpus > 1 ? intra.most : PathType::SYS;
    least_inter_ = system_.nets > 0 && inter.least != PathType::DIS ? inter.least : PathType::PIX;
    most_inter_ = request.near_nics ? inter.most : PathType::SYS;
    best_.type_intra = least_intra_;
    best_.type_inter = least_inter_;
    try_same_ = best_.pattern != SearchPattern::nvls;
    best_.same_channels = try_same_;
    if (best_.pattern == SearchPattern::nvls) best_.max_channels = std::min(most_heads_nvls, system_.gpus);
    if (best_.pattern == SearchPattern::collnet_direct) best_.max_channels = std::min(most_heads_collnet, system_.gpus);
    // With a single GPU all trees are alike.
    if (system_.gpus == 1 && best_.pattern != SearchPattern::ring && best_.pattern != SearchPattern::nvls)
      best_.pattern = SearchPattern::tree;
    // On a single node NVLS must load all GPUs evenly.
    if (system_.nets == 0 && best_.pattern == SearchPattern::nvls) best_.min_channels = best_.max_channels;
    if (best_.pattern == SearchPattern::ring && split_nvlink() && best_.max_channels >= 2 && best_.min_channels == 1)
      best_.min_channels = 2;
    // GB/s. No set of channels can exceed `total_`, and no channel `fastest_`.
    total_ = system_.total_bandwidth();
    fastest_ = system_.max_bandwidth();
  }

  /// Whether NVLink connects two groups of GPUs, with a slower path between them. Then ring and tree need two channels.
  /// As in NCCL, a GPU assigns its group to all later neighbours.
  bool split_nvlink() const {
    const auto gpus = static_cast<std::size_t>(system_.gpus);
    std::vector<int> group(gpus);
    std::iota(group.begin(), group.end(), 0);
    for (int g = 0; g < system_.gpus; ++g)
      for (int p = g + 1; p < system_.gpus; ++p)
        if (system_.path_gpu_gpu(g, p).type == PathType::NVL)
          group[static_cast<std::size_t>(p)] = group[static_cast<std::size_t>(g)];
    std::vector<int> members(gpus);
    for (const int g : group) ++members[static_cast<std::size_t>(g)];
    return std::count_if(members.begin(), members.end(), [](int n) { return n > 1; }) == 2;
  }

  void set_speed(SearchState& wanted, std::size_t index) const { wanted.bw_intra = wanted.bw_inter = speeds_[index]; }

  /// Pass 1: finds the fastest solution by relaxing one constraint after the other, and then the bandwidth.
  void widen() {
    const double most =
        system_.gpus > 1 && best_.pattern != SearchPattern::ring ? total_ * system_.gpus / (system_.gpus - 1) : total_;
    std::size_t speed = 0;
    constexpr double tolerance = 1e-6;
    // Skips speeds that no path, or no minimum number of channels, can carry.
    while (speed + 1 < speeds_.size() &&
           (speeds_[speed] > fastest_ + tolerance || speeds_[speed] * best_.min_channels > most + tolerance))
      ++speed;
    SearchState wanted = best_;
    const SearchPattern pattern = best_.pattern;
    set_speed(wanted, speed);
    int all_left = all_time;
    // Each round searches with one more constraint relaxed. After the last one the round starts again at a lower speed.
    // The constraints, from the first to the last: the same GPU order on all channels, a balanced tree, path types
    // inside the node, path types to NICs, leaving by the NIC of entry, the speed.
    while (true) {
      int time = wanted.same_channels ? same_channels_time : search_time;
      all_left -= time;
      search_.run(wanted, best_, time);
      // The search found as many channels as allowed, or the channels use all of a GPU's links.
      if (time == -1 || best_.channels * best_.bw_inter >= total_ - tolerance) return;

      // NCCL does not try different orders across sockets of AMD hosts.
      if (wanted.same_channels && !(system_.amd && wanted.type_intra == PathType::SYS)) {
        wanted.same_channels = false;
        continue;
      }
      wanted.same_channels = try_same_;
      // Steps that the search did not use are credited. The limit on all searches only holds once there is some
      // solution.
      all_left += time;
      if (all_left < 0 && best_.channels > 0) return;

      if (system_.capability >= 90 && wanted.pattern == SearchPattern::balanced_tree) {
        wanted.pattern = SearchPattern::tree;
        continue;
      }
      wanted.pattern = pattern;
      const PathType widest = system_.nets > 0 ? wanted.type_inter : most_intra_;
      if (wanted.type_intra < widest && (best_.channels == 0 || wanted.type_intra < best_.type_intra)) {
        wanted.type_intra = next(wanted.type_intra);
        continue;
      }
      wanted.type_intra = least_intra_;
      if (system_.nets > 0 && wanted.type_inter < most_inter_ &&
          (best_.channels == 0 || wanted.type_inter < best_.type_inter || wanted.type_inter < PathType::PXN)) {
        wanted.type_inter = next(wanted.type_inter);
        continue;
      }
      wanted.type_inter = least_inter_;
      if (cross_nic_ == 2 && wanted.cross_nic == 0 &&
          (pattern == SearchPattern::ring || pattern == SearchPattern::balanced_tree)) {
        wanted.cross_nic = 2;
        continue;
      }
      wanted.cross_nic = cross_nic_ == 1 ? 1 : 0;
      // With a solution in hand a lower speed must allow at least about twice the channels to be better, so NCCL stops
      // at half the speed.
      if (speed + 1 < speeds_.size() && (best_.channels == 0 || speeds_[speed + 1] / best_.bw_inter > .49)) {
        set_speed(wanted, ++speed);
        continue;
      }
      return;
    }
  }

  /// Runs fast channels twice at half the bandwidth.
  void duplicate() {
    // A single thread block keeps up with slower channels.
    if (best_.channels == 0 || best_.pattern == SearchPattern::nvls || best_.bw_intra < 25) return;
    if (system_.capability > 80 && best_.bw_intra < 50 && best_.channels > 4) return;
    const int channels = std::min(best_.max_channels, 2 * best_.channels);
    const int times = (channels + best_.channels - 1) / best_.channels;
    const auto gpus = static_cast<std::size_t>(system_.gpus);
    for (int c = best_.channels; c < channels; ++c) {
      const auto from = static_cast<std::size_t>(c - best_.channels), to = static_cast<std::size_t>(c);
      for (std::size_t g = 0; g < gpus; ++g) best_.gpus[to * gpus + g] = best_.gpus[from * gpus + g];
      for (std::size_t s = 0; s < 2; ++s) best_.nets[2 * to + s] = best_.nets[2 * from + s];
    }
    best_.bw_intra /= times;
    best_.bw_inter /= times;
    best_.channels = channels;
  }

  /// Pass 2: tries higher bandwidths, for rings everywhere, for trees inside the node, for NVLS between nodes.
  void raise() {
    std::size_t speed = 0;
    while (speed + 1 < speeds_.size() && speeds_[speed] > best_.bw_inter) ++speed;
    SearchState wanted = best_;
    wanted.channels = 0;
    wanted.hops = 0;
    set_speed(wanted, speed);
    wanted.min_channels = best_.channels;
    // Pass 2 goes on while searches end before their step limit.
    int time = -1;
    while (time != 0 && speed > 0) {
      // A ring has one speed for both kinds of links. For the others one of the two speeds may exceed the other up to a
      // factor of two.
      if (best_.pattern == SearchPattern::ring) {
        set_speed(wanted, --speed);
      } else if (best_.pattern == SearchPattern::nvls && wanted.bw_inter == best_.bw_inter &&
                 wanted.bw_inter < 2 * wanted.bw_intra) {
        wanted.min_channels = wanted.max_channels = best_.channels;
        wanted.bw_inter = speeds_[--speed];
      } else if (wanted.bw_intra == best_.bw_intra && wanted.bw_intra < 2 * wanted.bw_inter) {
        wanted.bw_intra = speeds_[--speed];
      } else {
        return;
      }
      time = wanted.same_channels ? same_channels_time : search_time;
      search_.run(wanted, best_, time);
    }
  }

  // NCCL never fails here: without any solution it takes one channel in the order of GPUs, at a nominal 0.1 GB/s.
  void fall_back() {
    best_.channels = 1;
    best_.gpus.resize(static_cast<std::size_t>(system_.gpus));
    for (int g = 0; g < system_.gpus; ++g) best_.gpus[static_cast<std::size_t>(g)] = g;
    best_.nets = {0, 0};
    best_.bw_intra = best_.bw_inter = 0.1;
    best_.type_intra = best_.type_inter = PathType::SYS;
  }

  NcclSystem& system_;
  GraphSearch search_;
  SearchState best_;
  std::vector<double> speeds_;
  double total_ = 0, fastest_ = 0;
  int cross_nic_ = 0;
  bool try_same_ = true;
  PathType least_intra_ = PathType::LOC, most_intra_ = PathType::SYS, least_inter_ = PathType::PIX,
           most_inter_ = PathType::SYS;
};

SearchGraph graph_of(const SearchState& found, const NcclSystem& system) {
  SearchGraph graph;
  graph.channels = found.channels;
  graph.bw_intra = found.bw_intra;
  graph.bw_inter = found.bw_inter;
  graph.latency_inter = found.latency_inter;
  graph.type_intra = found.type_intra;
  graph.type_inter = found.type_inter;
  graph.cross_nic = found.cross_nic;
  graph.same_channels = found.same_channels;
  if (found.pattern <= SearchPattern::tree) graph.pattern = static_cast<TreePattern>(found.pattern);
  // NVLS has no order of GPUs: all of them talk to the switch, and a channel only names its head.
  const bool head_only = found.pattern == SearchPattern::nvls;
  for (int c = 0; c < found.channels; ++c) {
    ChannelShape shape;
    const auto first = found.gpus.begin() + std::ptrdiff_t{c} * system.gpus;
    shape.gpus.assign(first, head_only ? first + 1 : first + system.gpus);
    if (system.nets > 0) {
      shape.nic_in = found.nets[static_cast<std::size_t>(2 * c)];
      shape.nic_out = found.nets[static_cast<std::size_t>(2 * c + 1)];
    }
    graph.shapes.push_back(std::move(shape));
  }
  return graph;
}

/// Whether NICs may be no farther away than the farthest GPU-NIC path. Since 2.25.1; since 2.29.2 only from Hopper on,
/// because trees could not be completed otherwise.
bool keeps_to_near_nics(int capability, const NcclVersion& version) {
  return version >= NcclVersion{2, 25, 1} && (capability >= 90 || version < NcclVersion{2, 29, 2});
}

SearchGraphs find_graphs(const Node& node, std::int64_t nodes, const NcclSettings& settings, SearchStore& store) {
  const NcclSystem system = nccl_system(node, nodes > 1, settings);
  const NcclVersion& version = settings.version;
  // Graphs of a graph file are not searched for.
  SearchGraphs graphs = settings.given_graphs.value_or(SearchGraphs{});
  const auto find = [&](SearchGraph& graph, SearchPattern pattern, int least, int most, bool collnet = false) {
    if (graph.channels > 0) return;
    const SearchRequest request{pattern,
                                least,
                                most,
                                collnet,
                                settings.cross_nic,
                                keeps_to_near_nics(system.capability, version),
                                ladder(system.capability, system.nets > 0, version)};
    graph = store.of(system, request, [&] {
      NcclSystem taken = system;  // channels take bandwidth from its links
      return graph_of(GraphFinder(taken).find(request), taken);
    });
  };
  // Half of the limit, because collective_channels doubles the set.
  find(graphs.ring, SearchPattern::ring, 1, most_channels_of(settings.version) / 2);
  const int channels = graphs.ring.channels;
  find(graphs.tree, SearchPattern::balanced_tree, channels, channels);
  if (settings.nvls_enable != 0 && node.spec.gpus > 1 && settings.version >= NcclVersion{2, 17, 0})
    find(graphs.nvls, SearchPattern::nvls, 1, 32);
  else
    graphs.nvls = {};
  if (uses_collnet(node, nodes, settings)) {
    find(graphs.collnet_chain, SearchPattern::tree, channels, channels, true);
    if (node.spec.gpus > 1) find(graphs.collnet_direct, SearchPattern::collnet_direct, 1, 32, true);
  } else {
    graphs.collnet_chain = graphs.collnet_direct = {};
  }
  return graphs;
}

/// The number of channels that NCCL makes from the graphs [NCCL-connect].
int collective_channels(const Node& node, bool network, const SearchGraphs& graphs, const NcclSettings& settings) {
  const int most = most_channels_of(settings.version);
  // Each ring graph carries both trees.
  int channels = std::min(most, 2 * std::min(graphs.ring.channels, graphs.tree.channels));
  // A chain that is faster inside the node than on the network gets half as many channels again.
  if (graphs.collnet_chain.channels > 0 && graphs.collnet_chain.bw_intra > graphs.collnet_chain.bw_inter)
    channels = std::min(most, channels + channels / 2);
  // With fewer than eight GPUs per node, two thread blocks per channel of the search do not reach the network's rate,
  // so from Hopper on NCCL makes four, since 2.18. The user's limits apply last, and the minimum after the maximum, as
  // in NCCL.
  const NcclVersion& version = settings.version;
  const bool few = version < NcclVersion{2, 20, 0} ? 2 * channels <= 32 : channels < 16;
  const bool doubled = version >= NcclVersion{2, 18, 0} && few;
  if (node.gpu.compute_capability >= 90 && network && graphs.ring.bw_intra > 45 && doubled) channels *= 2;
  if (settings.max_channels) channels = std::min(channels, *settings.max_channels);
  if (settings.min_channels) channels = std::max(channels, *settings.min_channels);
  return std::max(1, channels);
}

}  // namespace

bool uses_pxn(const Node& node, const NcclSettings& settings) {
  return node.nvlink && node.spec.nics.link != LinkKind::socket && !settings.pxn_disable.value_or(false);
}

PathType nic_distance(const Node& node, bool pxn) {
  // A wrong binding pairs GPUs and NICs by number, regardless of distance.
  const int gpus = node.spec.gpus;
  PathType worst = PathType::LOC, best = PathType::DIS;
  for (int g = 0; g < gpus && node.nics > 0; ++g) {
    const PathType distance =
        node.spec.nics.numa == NicNuma::remote
            ? node.graph.gpu_nic_distance(g, node.graph.number(g) * node.nics / node.graph.machine_gpus())
            : node.graph.nearest_nic_distance(g);
    worst = std::max(worst, distance);
    best = std::min(best, distance);
  }
  // With PXN a GPU without a near NIC uses one through a GPU that has one. The TCPX plugin pairs GPUs and NICs itself.
  const bool by_peer = pxn && node.spec.nics.numa == NicNuma::local && best <= PathType::PXB &&
                       node.spec.nics.link != LinkKind::gpudirect_tcpx;
  return by_peer ? std::min(worst, PathType::PXN) : worst;
}

bool uses_collnet(const Node& node, std::int64_t nodes, const NcclSettings& settings) {
  return settings.collnet_enable && nodes > 1 && nodes >= settings.collnet_node_threshold.value_or(2) &&
         node.spec.nics.link == LinkKind::infiniband;
}

SearchGraphs search_graphs_in(SearchStore& store, const Node& node, std::int64_t nodes, const NcclSettings& settings) {
  SearchGraphs graphs = find_graphs(node, nodes, settings, store);
  if (nodes > 1 && node.spec.nics.numa == NicNuma::remote)
    // A wrong binding of processes is not in the layout. The search finds near NICs, but data takes the far ones, so
    // the type that the cost model sees is corrected here.
    for (SearchGraph* g : {&graphs.ring, &graphs.tree})
      g->type_inter = std::max(g->type_inter, nic_distance(node, false));
  graphs.channels = collective_channels(node, nodes > 1, graphs, settings);
  return graphs;
}

SearchGraphs search_graphs(const Node& node, std::int64_t nodes, const NcclSettings& settings) {
  // Fits go through some hundred kinds of nodes in turn. A system takes some ten kilobytes.
  static SearchStore store(1024);
  return search_graphs_in(store, node, nodes, settings);
}

}  // namespace fabricast
