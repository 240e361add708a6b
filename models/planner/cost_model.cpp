// NCCL's table of latencies and bandwidths for each operation, algorithm and protocol, from which it chooses.
//
// The estimate of a call of `bytes`, counted as in nccl-tests, is
//
//   time = latency + bytes / (1000 bandwidth)        in us; the bandwidth is in GB/s                               (1)
//
// CostModel fills latency and bandwidth once per communicator [NCCL-tuning-1.3] [NCCL-tuning-1.4]; CostTable::time
// applies (1) with the corrections that depend on the size [NCCL-tuning-1.5]. The functions keep NCCL's order of
// factors and caps, because min and product do not commute. Nothing here enters a forecast: it only decides what the
// engines time.
#include "fabricast/planner/cost_model.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace fabricast {

namespace {

// Array indices are NCCL's: algorithms tree, ring, CollNetDirect, CollNetChain, NVLS, NVLSTree, PAT; protocols LL,
// LL128, Simple. They equal the first values of the enumerations Algorithm and Protocol.
using Triple = std::array<double, 3>;  // LL, LL128, Simple
using PerAlgorithm = std::array<Triple, algorithm_count>;

enum class Era { before_2_17, from_2_17, from_2_20, from_2_28, from_2_31 };

Era era_of(const NcclVersion& v) {
  if (v < NcclVersion{2, 17, 0}) return Era::before_2_17;
  if (v < NcclVersion{2, 20, 0}) return Era::from_2_17;
  if (v < NcclVersion{2, 28, 0}) return Era::from_2_20;
  return v < NcclVersion{2, 31, 0} ? Era::from_2_28 : Era::from_2_31;
}

/// Constants of one era, in NCCL's order of algorithms [NCCL-tuning-1.1].
struct Constants {
  // Latencies in us: `base` once per call, `hop` for each hop over a kind of link.
  PerAlgorithm base;
  std::array<PerAlgorithm, 3> hop;  ///< [NVLink, PCI, NET]
};

constexpr Triple none = {0, 0, 0};

// Zero means that NCCL has no such kernel, or that the other term carries the whole latency.
constexpr Constants before_2_17 = {
    {{{4.4, 4.4, 0}, {3.6, 10.0, 8.4}, {4.4, 4.4, 0}, {4.4, 4.4, 0}, {0, 0, 40}, none, none}},
    {{{{{.52, 1.25, 28}, {.47, 1.9, 3.4}, {0, 0, 8}, {0, 0, 8}, none, none, none}},
      {{{1.0, 1.9, 28}, {1.0, 2.5, 5.7}, {0, 0, 8}, {0, 0, 8}, none, none, none}},
      {{{5.0, 8.5, 28}, {2.7, 4.0, 9.6}, {0, 0, 10.7}, {0, 0, 10.7}, none, none, none}}}}};

constexpr Constants from_2_17 = {
    {{{6.8, 14, 0}, {6.6, 14, 8.4}, none, none, none, none, none}},
    {{{{{.6, 1.25, 28}, {.6, 1.9, 3.4}, {0, 0, 3.7}, {0, 0, 2.8}, {0, 0, 23}, {0, 0, 23}, none}},
      {{{1.0, 1.9, 28}, {1.0, 2.5, 5.7}, {0, 0, 3.7}, {0, 0, 2.8}, none, none, none}},
      {{{5.0, 8.5, 28}, {2.7, 4.0, 14}, {0, 0, 31}, {0, 0, 30}, {0, 0, 18}, {0, 0, 14}, none}}}}};

constexpr Constants from_2_20 = {
    {{{6.8, 14, 8.4}, {6.6, 14, 8.4}, none, none, none, none, {8, 8, 8}}},
    {{{{{.6, 1.25, 4}, {.6, 1.9, 3.4}, {0, 0, 3.7}, {0, 0, 2.8}, {0, 0, 25}, {0, 0, 25}, {0, 0, 4}}},
      {{{1.0, 1.9, 4}, {1.0, 2.5, 5.7}, {0, 0, 3.7}, {0, 0, 2.8}, none, none, {0, 0, 4}}},
      {{{5.0, 8.5, 14}, {2.7, 4.0, 14}, {0, 0, 31}, {0, 0, 30}, {0, 0, 18}, {0, 0, 14}, {0, 0, 14}}}}}};

// 2.28 changed one constant: NVLSTree over the network.
constexpr Constants from_2_28 = [] {
  Constants c = from_2_20;
  c.hop[2][5] = {0, 0, 20.9};
  return c;
}();

// Short names for the indices of algorithms in this file.
constexpr std::size_t tree = 0, ring = 1, direct = 2, chain = 3, nvls = 4, nvlstree = 5, pat = 6;

// Rows Volta, Ampere, Hopper, Blackwell; columns 1, 2, more nodes [NCCL-tuning-1.1].
// Caps on bandwidth in GB/s. Those of LL hold for all channels together, all others for one channel. Three nodes and a
// thousand share a column: NCCL's model has no further dependence on size. Rows of zeros are filled from blackwell_caps
// below.
using Caps = std::array<std::array<double, 3>, 4>;
constexpr Caps ll_max_new = {{{39, 39, 20.4}, {87.7, 22.5, 19}, {141, 45, 35}, {282, 90, 70}}};
constexpr Caps ll_max_old = {{{39, 39, 20.4}, {87.7, 22.5, 19}, {87.7, 22.5, 19}, {87.7, 22.5, 19}}};
constexpr Caps ring_ll128 = {{{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 36.7}, {}}};
constexpr Caps tree_ll128 = {{{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 29}, {}}};
constexpr Caps tree_cap = {{{26.5, 18.5, 10}, {24, 23.6, 17.8}, {38.7, 41.4, 36}, {}}};
constexpr Caps nvlstree_cap = {{{26.5, 18.5, 10}, {24, 23.6, 17.8}, {0, 57.7, 45.5}, {}}};

// For Blackwell these limits changed between patch versions.
struct BlackwellCaps {
  NcclVersion since;
  Triple ring_ll128, tree_ll128, tree, nvlstree;  ///< 1, 2, more nodes
};
constexpr Triple ll128_of_tree = {55.6, 31.67, 20}, of_tree = {70, 42.8, 24};
constexpr std::array blackwell_caps = {
    BlackwellCaps{{2, 0, 0}, {73.4, 73.4, 73.4}, {73.4, 73.4, 58}, {77.4, 82.8, 72}, {}},
    BlackwellCaps{{2, 28, 0}, {73.4, 73.4, 73.4}, ll128_of_tree, of_tree, {0, 96, 43.1}},
    BlackwellCaps{{2, 28, 7}, {73.4, 34.6, 73.4}, ll128_of_tree, of_tree, {0, 96, 43.1}},
    BlackwellCaps{{2, 28, 9}, {73.4, 34.6, 73.4}, ll128_of_tree, of_tree, {0, 96, 43.8}},
    BlackwellCaps{{2, 29, 2}, {34.5, 34.6, 34.5}, ll128_of_tree, of_tree, {0, 96, 43.8}},
    BlackwellCaps{{2, 29, 7}, {40, 40, 40}, ll128_of_tree, of_tree, {0, 96, 43.8}},
    BlackwellCaps{{2, 30, 3}, {40, 40, 40}, ll128_of_tree, of_tree, {0, 96, 80}}};

const BlackwellCaps& blackwell_of(const NcclVersion& version) {
  return *std::find_if(blackwell_caps.rbegin(), blackwell_caps.rend(),
                       [&](const BlackwellCaps& caps) { return caps.since <= version; });
}
// Fraction of the search's bandwidth that reduction in the NVSwitch reaches, by generation as above; NVLS needs Hopper.
constexpr std::array nvls_efficiency = {0., 0., .85, .74};

// NCCL's static correction of trees by floor(log2(bytes / 64)) [NCCL-tuning-1.5].
// It stands for what the formula leaves out: filling the pipeline, and the granularity of chunks. The engines compute
// these effects, so they have no such table.
constexpr std::array<std::array<double, 24>, 3> tree_correction = {{
    {1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1, 1},
    {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1, 1},
    {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9, .9},
}};

std::size_t capability_row(int capability) {
  return capability >= 100 ? 3 : capability >= 90 ? 2 : capability >= 80 ? 1 : 0;
}

/// Whether GPUDirect-TCPX is used. It places packets into GPU memory as they arrive, and a kernel on the receiving GPU
/// reassembles them.
bool unpacks_packets(const Node& node) { return network_name(node.spec).ends_with("_shared"); }

/// Fills the table of one communicator.
// A combination is unusable, with bandwidth 0, if it does not exist, if the hardware or the ranks cannot run it, or if
// the environment excludes it. `possible` and `enabled` keep these reasons apart, since only the last one has a
// fallback.
class CostModel {
 public:
  CostModel(const Node& node, std::int64_t nodes, const SearchGraphs& graphs, const NcclSettings& settings)
      : node_(node),
        nodes_(nodes),
        ranks_(nodes * node.spec.gpus),
        graphs_(graphs),
        settings_(settings),
        era_(era_of(settings.version)),
        row_(capability_row(node.gpu.compute_capability)),
        column_(static_cast<std::size_t>(std::min<std::int64_t>(nodes, 3) - 1)),
        constants_(era_ == Era::before_2_17 ? before_2_17
                   : era_ == Era::from_2_17 ? from_2_17
                   : era_ == Era::from_2_20 ? from_2_20
                                            : from_2_28) {}

  CostTable table() const {
    CostTable t;
    t.nodes = nodes_, t.ranks = ranks_, t.channels = graphs_.channels;
    t.capability = node_.gpu.compute_capability, t.version = settings_.version;
    t.x86 = node_.spec.cpu != CpuVendor::arm;
    t.gpus = node_.spec.gpus, t.nic_gbps = gigabytes_per_second(node_.nic_line_rate);
    t.joined_by_nvlink = graphs_.ring.type_intra == PathType::NVL;
    // NCCL checks usability per operation: NCCL_ALGO=PAT leaves nothing for all_reduce, and may leave PAT for
    // all_gather. Only the operation without any candidate falls back.
    for (std::size_t op = 0; op < 5; ++op) {
      fill(t, op, true);
      bool usable = false;
      for (const auto& algorithm : t.of[op])
        for (const AlgorithmCost& cost : algorithm) usable |= cost.bandwidth > 0;
      if (!usable) fill(t, op, false), fall_back(t, op);
    }
    return t;
  }

 private:
  // Which kernels NCCL has. PAT has no all_reduce, and trees have only all_reduce.
  static constexpr bool exists(CollectiveOp op, std::size_t a) {
    switch (op) {
      case CollectiveOp::broadcast:
      case CollectiveOp::reduce: return a == ring;
      case CollectiveOp::all_gather:
      case CollectiveOp::reduce_scatter: return a == ring || a == direct || a == nvls || a == pat;
      default: return a != pat;
    }
  }

  /// What remains if the environment leaves nothing usable. From 2.24 on NCCL stops with an error. Before, it falls
  /// back to rings if the algorithms were set and include NVLSTree, and otherwise to rings and trees.
  void fall_back(CostTable& t, std::size_t op) const {
    t.fell_back[op] = true;
    const bool ring_alone = settings_.algorithms_given && settings_.algorithms.of[op][nvlstree];
    for (std::size_t a = 0; a < algorithm_count; ++a)
      if (a != ring && (ring_alone || a != tree)) t.of[op][a].fill({});
  }

  void fill(CostTable& t, std::size_t op, bool with_environment) const {
    for (std::size_t a = 0; a < algorithm_count; ++a)
      for (std::size_t p = 0; p < 3; ++p) {
        AlgorithmCost& cost = t.of[op][a][p];
        cost = {};
        if (ranks_ < 2 || !exists(static_cast<CollectiveOp>(op), a) || !possible(static_cast<CollectiveOp>(op), a, p))
          continue;
        if (!enabled(op, a, p, with_environment)) continue;
        cost.bandwidth = std::max(0.0, bandwidth(static_cast<CollectiveOp>(op), a, p));
        cost.latency = latency(static_cast<CollectiveOp>(op), a, p);
      }
  }

  // Whether hardware and ranks allow the combination, regardless of the environment's lists [NCCL-tuning-1.6].
  bool possible(CollectiveOp op, std::size_t a, std::size_t p) const {
    // Only trees and rings have kernels for LL and LL128.
    if (a > ring && p != 2) return false;
    if (a == nvlstree) return nodes_ > 1 && graphs_.nvls.channels > 0 && era_ != Era::before_2_17;
    const bool collnet = uses_collnet(node_, nodes_, settings_);
    // Operations other than all_reduce need a head, and therefore a NIC, for each GPU [NCCL-tuning-1.3].
    const bool all_reduce = op == CollectiveOp::all_reduce;
    const bool heads = all_reduce || node_.spec.gpus <= node_.nics;
    if (a == nvls)
      return graphs_.nvls.channels > 1 && (nodes_ == 1 || (collnet && heads)) && (all_reduce || node_.spec.gpus <= 32);
    if (a == direct || a == chain)
      return collnet && node_.spec.gpus <= 8 && (a == chain || (heads && node_.spec.intranode == Intranode::nvswitch));
    if (a == pat) {
      // By default PAT runs with one rank per node only. NCCL_PAT_ENABLE=1 lifts the condition.
      if (settings_.version < NcclVersion{2, 23, 0}) return false;
      return settings_.pat_enable == 1 || (settings_.pat_enable == 2 && nodes_ == ranks_);
    }
    return true;
  }

  bool enabled(std::size_t op, std::size_t a, std::size_t p, bool with_environment) const {
    // Before lists were strict, NCCL never disables rings for operations other than all_reduce, so that an application
    // also runs with NCCL_ALGO=Tree.
    const bool never_without_ring =
        settings_.version < strict_lists && a == ring && static_cast<CollectiveOp>(op) != CollectiveOp::all_reduce;
    if (with_environment && !settings_.algorithms.of[op][a] && !never_without_ring) return false;
    const ProtocolSwitch protocol = with_environment ? settings_.protocols.of[op][p]
                                    : p == 1         ? ProtocolSwitch::automatic
                                                     : ProtocolSwitch::on;
    if (protocol != ProtocolSwitch::automatic) return protocol == ProtocolSwitch::on;
    // By default LL128 is only used where 128 B stores stay whole: over NVLink and to a near NIC [NCCL-tuning-1.6].
    if (nodes_ > 1 && unpacks_packets(node_)) return false;
    const int capability = node_.gpu.compute_capability;
    const SearchGraph& g = graph(a);
    const PathType farthest = capability >= 90 && era_ != Era::before_2_17 ? PathType::PXN : PathType::PXB;
    const bool near = nodes_ == 1 || g.type_inter <= farthest;
    // Before 2.20 NCCL listed the GPUs with LL128, so Ada and other in-between capabilities were left out.
    const bool known =
        era_ >= Era::from_2_20 ? capability >= 70 : capability == 70 || capability == 80 || capability == 90;
    return near && g.type_intra <= PathType::NVB && known;
  }

  // The graph whose bandwidth and path types an algorithm uses.
  const SearchGraph& graph(std::size_t a) const {
    if (a == ring || a == direct || a == chain) return graphs_.ring;
    return a == nvls || a == nvlstree ? graphs_.nvls : graphs_.tree;
  }

  double cap(const Caps& caps, Triple BlackwellCaps::*of_blackwell) const {
    return row_ == 3 ? (blackwell_of(settings_.version).*of_blackwell)[column_] : caps[row_][column_];
  }

  // Bandwidth in GB/s of the size that nccl-tests counts: the channels' bus bandwidth, capped, times bytes per bus
  // byte. Up to two nodes NCCL takes a channel's speed inside the node, from three nodes on that of the network.
  double bandwidth(CollectiveOp op, std::size_t a, std::size_t p) const {
    const SearchGraph& g = graph(a);
    const double channels = g.channels, per_node = static_cast<double>(ranks_) / static_cast<double>(nodes_);
    double per_channel = nodes_ <= 2 || a == direct || a == chain ? g.bw_intra : g.bw_inter;
    const bool blackwell = node_.gpu.compute_capability >= 100;
    if (era_ >= Era::from_2_31) {
      if (a == ring && blackwell && nodes_ == 2) per_channel = g.bw_inter;
      if ((a == tree && blackwell) || a == pat) per_channel = std::min(g.bw_intra, g.bw_inter);
    }
    if (a == nvls || a == nvlstree) per_channel = nvls_bandwidth(op, a, per_node);
    double bus = channels * per_channel;
    // Caps of this era on the bus of Ampere and Hopper, GB/s.
    if (era_ == Era::before_2_17 && row_ == 1) bus = std::min(bus, 235.0);
    if (era_ == Era::before_2_17 && row_ == 2) bus = std::min(bus, 370.0);
    const bool amd = node_.spec.cpu == CpuVendor::amd;
    const Caps& ll_max = era_ >= Era::from_2_20 ? ll_max_new : ll_max_old;
    // Over several nodes NCCL selects the row by the vendor of the CPU, not by the GPU: Ampere's for AMD, else Volta's.
    // The rows of Hopper and Blackwell therefore matter on one node only.
    const double ll_cap = ll_max[nodes_ == 1 ? row_ : amd ? 1 : 0][column_];
    // LL carries 4 B of data in 8 B, so it cannot exceed half of the bus; older versions assumed a quarter or a third.
    if (a == ring && p == 0) {
      const bool slow = nodes_ > 1 || op == CollectiveOp::all_reduce || op == CollectiveOp::reduce;
      bus = std::min(ll_cap, bus * (era_ >= Era::from_2_20 ? 0.5 : slow ? 1.0 / 4 : 1.0 / 3));
    }
    if (a == ring && p == 1)
      // LL128 carries 120 of 128 B, which NCCL rounds to 0.92.
      bus = std::min(bus * (era_ < Era::from_2_20 && per_node < 2 ? 0.7 : 0.92),
                     channels * cap(ring_ll128, &BlackwellCaps::ring_ll128));
    if (a == tree) bus = tree_bandwidth(bus, channels, p, ll_cap);
    if (a == pat) bus *= .75;
    if (a == direct) {
      // Every GPU of a node is a head with its own NIC, so the node's rate is that of all heads together.
      if (op != CollectiveOp::all_reduce) return per_node * std::min(g.bw_intra, .9 * g.bw_inter);
      double factor = per_node / channels;
      factor -= (factor - 1) / 2;
      bus /= factor;
      if (row_ >= 2) bus *= .85;
    }
    if (a == chain && era_ == Era::before_2_17) bus *= .75;
    // From bus bandwidth to bandwidth of the size that nccl-tests counts.
    if (a != ring && op != CollectiveOp::all_reduce) return bus;
    const double n = static_cast<double>(ranks_);
    // A ring sends `steps` blocks of 1/n of the size over each link. Without a ring NCCL counts each byte twice, up and
    // down. Operations other than all_reduce are already in bytes of the total size.
    const double steps = op == CollectiveOp::all_reduce                                         ? 2 * (n - 1)
                         : op == CollectiveOp::all_gather || op == CollectiveOp::reduce_scatter ? n - 1
                                                                                                : n;
    if (a == ring) return bus * n / steps;
    if (a == nvls || a == nvlstree)
      return bus * (era_ >= Era::from_2_28 ? n / steps : era_ == Era::before_2_17 ? .75 : 5.0 / 6);
    return bus * .5;
  }

  // Trees reach 0.92 of the bus and at most the cap of a channel. The factors of LL and LL128 are empirical, and NCCL
  // has no derivation of them. A plain tree pattern puts all network edges on one GPU, for which NCCL takes another
  // 0.85.
  double tree_bandwidth(double bus, double channels, std::size_t p, double ll_cap) const {
    bus = std::min(bus * .92, channels * cap(tree_cap, &BlackwellCaps::tree));
    if (p == 0) bus = std::min(bus / 3.8, ll_cap);
    if (p == 1)
      bus =
          std::min(bus * (nodes_ == 1 ? 7.0 / 9 : 120.0 / 128), channels * cap(tree_ll128, &BlackwellCaps::tree_ll128));
    if (graphs_.tree.pattern == TreePattern::tree && era_ != Era::before_2_17) bus *= .85;
    return bus;
  }

  // Bandwidth of a channel with NVLS, GB/s: the minimum of NVSwitch and network. Since 2.28 NCCL counts one channel
  // fewer than the search found, and the two directions of an all_reduce separately.
  double nvls_bandwidth(CollectiveOp op, std::size_t a, double per_node) const {
    const SearchGraph& g = graphs_.nvls;
    if (era_ >= Era::from_2_28) {
      const double share = (g.channels - 1.0) / g.channels;
      double intra = g.bw_intra * nvls_efficiency[row_] * share;
      intra *= op == CollectiveOp::all_reduce ? 2 : (per_node - 1) / per_node;
      const double inter = g.bw_inter * (a == nvlstree && nodes_ <= 2 ? 2 : 1);
      const double both = std::min(intra, inter);
      return a == nvlstree ? std::min(both, cap(nvlstree_cap, &BlackwellCaps::nvlstree)) : both;
    }
    if (a == nvlstree) return std::min(g.bw_intra, nodes_ <= 2 ? g.bw_inter : g.bw_inter / 2);
    if (op == CollectiveOp::all_reduce) return std::min(g.bw_intra, g.bw_inter);
    return std::min(g.bw_intra * (per_node - 1) / per_node, .9 * g.bw_inter);
  }

  // Latency in us: `base` plus hops. Of the s steps of a ring, k cross the network; the others stay in the node:
  //
  //   ring        base + (s - k) intra + k inter,      s = 2 (n - 1) for all_reduce, else n - 1
  //   tree        base + 2 ((GPUs per node - 1) intra + floor(log2 nodes) inter)
  //
  // Floors of logarithms are NCCL's: nine nodes count as eight.
  double latency(CollectiveOp op, std::size_t a, std::size_t p) const {
    const SearchGraph& g = graph(a);
    const std::size_t inside = g.type_intra == PathType::NVL ? 0 : 1;
    const double n = static_cast<double>(ranks_), nodes = static_cast<double>(nodes_);
    const double base = constants_.base[a][p];
    double intra = constants_.hop[inside][a][p];
    if (era_ == Era::before_2_17 && nodes_ > 1 && p == 0) intra *= 1.8;
    // With one rank per node NCCL charges every algorithm the network latency of a tree.
    const bool exposed = era_ >= Era::from_2_20 && nodes_ == ranks_;
    // The latency that the device states; Simple counts it twice because of the flush [NCCL-tuning-1.4].
    double inter = constants_.hop[2][exposed ? tree : a][p];
    if (era_ != Era::before_2_17)
      inter += g.latency_inter * (p == 2 ? 2 : 1);
    else if (g.latency_inter > 0)
      inter = g.latency_inter;
    const double log_nodes = static_cast<double>(std::bit_width(static_cast<std::uint64_t>(nodes_)) - 1);
    const double local = std::floor(n / nodes);
    switch (a) {
      case ring: {
        const double steps = op == CollectiveOp::all_reduce                                         ? 2 * (n - 1)
                             : op == CollectiveOp::all_gather || op == CollectiveOp::reduce_scatter ? n - 1
                                                                                                    : n;
        // Broadcast and reduce pass each rank once. If all channels have the same GPU order NCCL counts one hop, as if
        // chunks were pipelined; otherwise it counts every hop, in Simple with the latency of a tree.
        if (is_chain(op)) {
          const std::size_t hw = nodes_ == 1 ? inside : 2;
          if (g.same_channels) return base + constants_.hop[hw][ring][p];
          return base + steps * constants_.hop[hw][p == 2 ? tree : ring][p];
        }
        // Ranks of a ring move in step, so no step is shorter than the CPU's work for a message; with Simple NCCL
        // counts that work three times.
        if (nodes_ > 1 && era_ != Era::before_2_17) intra = std::max(intra, net_overhead() * (p == 2 ? 3 : 1));
        double by_net = nodes_ == 1 ? 0 : op == CollectiveOp::all_reduce ? 2 * (nodes - 1) : nodes - 1;
        if (era_ < Era::from_2_20 && nodes_ > 1 && op == CollectiveOp::all_reduce) by_net = 2 * nodes;
        return base + (steps - by_net) * intra + by_net * inter;
      }
      case tree: return base + 2 * ((local - 1) * intra + log_nodes * inter);
      case direct:
        return base + 2 * (std::min(1.0, local - 1) * intra + (local - 1) * (era_ == Era::before_2_17 ? .5 : .4)) +
               inter;
      case chain: return base + 2 * (local - 1) * intra + (era_ == Era::before_2_17 ? 0 : inter);
      case nvls: return intra + (nodes_ > 1 ? inter : 0);
      case nvlstree: return base + intra + 2 * log_nodes * inter;
      default: return base + log_nodes * inter / 3.5 + 2.8 * n;
    }
  }

  // CPU time of a message in us; it is longer on AMD hosts [NCCL-tuning-1.4].
  double net_overhead() const {
    if (settings_.net_overhead_us) return *settings_.net_overhead_us;
    return node_.spec.cpu == CpuVendor::amd ? 2.0 : 1.0;
  }

  const Node& node_;
  std::int64_t nodes_, ranks_;
  const SearchGraphs& graphs_;
  const NcclSettings& settings_;
  Era era_;
  std::size_t row_, column_;
  const Constants& constants_;
};

}  // namespace

CostTable nccl_cost_model(const Node& node, std::int64_t nodes, const SearchGraphs& graphs,
                          const NcclSettings& settings) {
  return CostModel(node, nodes, graphs, settings).table();
}

/// Whether the correction of trees also applies to NVLSTree: on Blackwell with x86 since 2.29.2, and on trays of four
/// GPUs with fast NICs since 2.31.
bool CostTable::corrects_nvlstree(int log_size) const {
  if (capability < 100 || version < NcclVersion{2, 29, 2}) return false;
  if (x86) return log_size < 24;
  if (version < NcclVersion{2, 31, 0} || gpus != 4 || nic_gbps < 96) return false;
  return log_size < (version < NcclVersion{2, 32, 3} ? 23 : 20) || nodes > 2;
}

/// Factor on the latency of a ring in one NVLink domain of Blackwell GPUs, since 2.31. Since 2.32.3 it also applies to
/// all_reduce and is lower for larger messages.
double CostTable::one_domain_plateau(CollectiveOp op, std::int64_t bytes) const {
  if (nodes > 1 || capability < 100 || !joined_by_nvlink || version < NcclVersion{2, 31, 0}) return 1;
  const bool all_reduce = op == CollectiveOp::all_reduce;
  if (!all_reduce && op != CollectiveOp::all_gather && op != CollectiveOp::reduce_scatter) return 1;
  const double each = static_cast<double>(bytes) / static_cast<double>(channels * ranks);
  if (each < 64) return 1;
  if (version < NcclVersion{2, 32, 3}) return all_reduce ? 1 : 1.4;
  constexpr double most = 0.4, quarter = 256 * 1024;
  const double steps = static_cast<double>(all_reduce ? 2 * (ranks - 1) : ranks - 1);
  const double approach = 1 - std::pow(0.1 / most, std::max(0.0, steps - 1));
  const double depth = each > quarter ? most - 0.1 * std::min(1.0, (each - quarter) / quarter) : most;
  return 1 + approach * depth;
}

double CostTable::time(CollectiveOp op, Algorithm algorithm, Protocol protocol, std::int64_t bytes) const {
  // Sends and receives are not in NCCL's table.
  if (op > CollectiveOp::all_reduce) return -1;
  AlgorithmCost cost =
      of[static_cast<std::size_t>(op)][static_cast<std::size_t>(algorithm)][static_cast<std::size_t>(protocol)];
  if (cost.bandwidth <= 0) return -1;
  const Era era = era_of(version);
  // Index of the correction: floor(log2(bytes / 64)), and none below 64 B.
  const auto units = static_cast<std::uint64_t>(bytes) >> 6;
  const int log_size = units == 0 ? -1 : static_cast<int>(std::bit_width(units)) - 1;
  const bool all_reduce = op == CollectiveOp::all_reduce;
  const bool corrected = all_reduce && ((algorithm == Algorithm::tree && log_size < 23) ||
                                        (algorithm == Algorithm::nvlstree && corrects_nvlstree(log_size)));
  if (corrected && log_size >= 0 && log_size < 24)
    cost.bandwidth *= tree_correction[static_cast<std::size_t>(protocol)][static_cast<std::size_t>(log_size)];
  if (algorithm == Algorithm::ring && protocol == Protocol::simple) cost.latency *= one_domain_plateau(op, bytes);
  if (algorithm == Algorithm::ring && protocol == Protocol::simple && nodes > 1 && all_reduce) {
    // The plateau of multi-node rings: NCCL raises their latency from the size on at which each rank has 64 B on every
    // channel.
    const bool plateau = era == Era::before_2_17 ? static_cast<double>(bytes) >= static_cast<double>(ranks) / 16 * 65536
                                                 : bytes / (channels * ranks) >= 64;
    if (plateau) cost.latency *= era == Era::before_2_17 ? (capability < 90 ? 1.9 : 1.5) : capability < 80 ? 1.9 : 1.4;
  }
  return cost.latency + static_cast<double>(bytes) / (1000 * cost.bandwidth);
}

}  // namespace fabricast
