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

#include "cost_constants.hpp"

namespace fabricast {

namespace {

using namespace cost_index;

// Fraction of the search's bandwidth that reduction in the NVSwitch reaches, by generation as above; NVLS needs Hopper.
constexpr std::array nvls_efficiency = {0., 0., .85, .74};

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
        row_(capability_row(node.gpu.compute_capability)),
        column_(static_cast<std::size_t>(std::min<std::int64_t>(nodes, 3) - 1)),
        constants_(cost_constants(settings.version)) {}

  CostTable table() const {
    CostTable t;
    t.nodes = nodes_;
    t.ranks = ranks_;
    t.channels = graphs_.channels;
    t.capability = node_.gpu.compute_capability;
    t.version = settings_.version;
    t.x86 = node_.spec.cpu != CpuVendor::arm;
    t.gpus = node_.spec.gpus;
    t.nic_gbps = gigabytes_per_second(node_.nic_line_rate);
    t.joined_by_nvlink = graphs_.ring.type_intra == PathType::NVL;
    // NCCL checks usability per operation: NCCL_ALGO=PAT leaves nothing for all_reduce, and may leave PAT for
    // all_gather. Only the operation without any candidate falls back.
    for (std::size_t op = 0; op < 5; ++op) {
      fill(t, op, true);
      bool usable = false;
      for (const auto& algorithm : t.of[op])
        for (const AlgorithmCost& cost : algorithm) usable |= cost.bandwidth > 0;
      if (!usable) {
        fill(t, op, false);
        fall_back(t, op);
      }
    }
    return t;
  }

 private:
  /// Whether the version is 2.`minor`.`patch` or newer.
  bool since(int minor, int patch = 0) const { return NcclVersion{2, minor, patch} <= settings_.version; }

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
    if (a == nvlstree) return nodes_ > 1 && graphs_.nvls.channels > 0 && since(18);
    const bool collnet = uses_collnet(node_, nodes_, settings_);
    // Operations other than all_reduce need a head, and therefore a NIC, for each GPU [NCCL-tuning-1.3].
    const bool all_reduce = op == CollectiveOp::all_reduce;
    const bool heads = all_reduce || node_.spec.gpus <= node_.nics;
    // NVLS begins with 2.17. In 2.18 it serves all_reduce only.
    if (a == nvls && (!since(17) || (!all_reduce && since(18) && !since(19)))) return false;
    if (a == nvls)
      return graphs_.nvls.channels > 1 && (nodes_ == 1 || (collnet && heads)) && (all_reduce || node_.spec.gpus <= 32);
    // Before 2.9 CollNet is a chain, from then on direct; 2.14 has both.
    if ((a == direct && !since(9)) || (a == chain && since(9) && !since(14))) return false;
    if (a == direct || a == chain)
      return collnet && node_.spec.gpus <= 8 &&
             (a == chain || (heads && node_.spec.intranode == Intranode::nvswitch)) && (all_reduce || since(20));
    if (a == pat) {
      // By default PAT runs with one rank per node only. NCCL_PAT_ENABLE=1 lifts the condition.
      if (!since(23)) return false;
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
    const bool near = nodes_ == 1 || g.type_inter <= (capability >= 90 && since(17) ? PathType::PXN : PathType::PXB);
    // Through another GPU only since 2.18.3.
    const bool inside = g.type_intra <= (since(18, 3) ? PathType::NVB : PathType::NVL);
    return near && inside && has_ll128(capability);
  }

  // Before 2.27 NCCL lists the GPUs on which LL128 is tested, so Ada and other in-between capabilities are left out.
  bool has_ll128(int capability) const {
    if (since(27)) return capability >= 70;
    const bool blackwell = (capability == 100 || capability == 120) && since(25);
    return capability == 70 || capability == 80 || (capability == 90 && since(15)) || blackwell;
  }

  // The graph whose bandwidth and path types an algorithm uses.
  const SearchGraph& graph(std::size_t a) const {
    if (a == ring || a == direct || a == chain || (a == nvls && !since(18))) return graphs_.ring;
    return a == nvls || a == nvlstree ? graphs_.nvls : graphs_.tree;
  }

  double cap(const BandwidthCaps& caps) const { return caps[row_][column_]; }

  // Bandwidth in GB/s of the size that nccl-tests counts: the channels' bus bandwidth, capped, times bytes per bus
  // byte. Up to two nodes NCCL takes a channel's speed inside the node, from three nodes on that of the network.
  double bandwidth(CollectiveOp op, std::size_t a, std::size_t p) const {
    const SearchGraph& g = graph(a);
    const double channels = g.channels, per_node = static_cast<double>(ranks_) / static_cast<double>(nodes_);
    double per_channel = nodes_ <= 2 || a == direct || a == chain ? g.bw_intra : g.bw_inter;
    const bool blackwell = node_.gpu.compute_capability >= 100;
    if (since(31)) {
      if (a == ring && blackwell && nodes_ == 2) per_channel = g.bw_inter;
      if ((a == tree && blackwell) || a == pat) per_channel = std::min(g.bw_intra, g.bw_inter);
    }
    if ((a == nvls && since(18)) || a == nvlstree) per_channel = nvls_bandwidth(op, a, per_node);
    double bus = channels * per_channel;
    // Caps on the bus of Ampere and Hopper, GB/s.
    if (row_ == 1 && !since(18)) bus = std::min(bus, 235.0);
    if (row_ >= 2 && since(17) && !since(18)) bus = std::min(bus, 370.0);
    const bool amd = node_.spec.cpu == CpuVendor::amd;
    // Over several nodes NCCL selects the row by the vendor of the CPU, not by the GPU: Ampere's for AMD, else Volta's.
    // The rows of Hopper and Blackwell therefore matter on one node only.
    const double ll_cap = constants_.ll[nodes_ == 1 ? row_ : amd ? 1 : 0][column_];
    // LL carries 4 B of data in 8 B, so it cannot exceed half of the bus; older versions assumed a quarter or a third.
    if (a == ring && p == 0) {
      const bool slow = nodes_ > 1 || op == CollectiveOp::all_reduce || op == CollectiveOp::reduce;
      bus = std::min(ll_cap, bus * (since(21) ? 0.5 : slow ? 1.0 / 4 : 1.0 / 3));
    }
    if (a == ring && p == 1)
      // LL128 carries 120 of 128 B, which NCCL rounds to 0.92.
      bus = std::min(bus * (!since(23) && per_node < 2 ? 0.7 : 0.92), channels * ring_ll128_cap(op));
    if (a == tree) bus = tree_bandwidth(bus, channels, p, ll_cap);
    if (a == pat) bus *= since(24) ? .75 : .85;
    if (a == direct) {
      // Every GPU of a node is a head with its own NIC, so the node's rate is that of all heads together.
      if (op != CollectiveOp::all_reduce) return direct_bandwidth(g, per_node);
      double factor = since(14) ? per_node / channels : 1;
      factor -= (factor - 1) / 2;
      bus /= factor;
      if (row_ >= 2 && since(18)) bus *= .85;
    }
    if (a == chain && !since(18)) bus *= since(9) ? .75 : .9;
    if (a == direct && !since(10)) bus *= .9;
    // From bus bandwidth to bandwidth of the size that nccl-tests counts.
    if (a != ring && op != CollectiveOp::all_reduce && since(23)) return bus;
    const double n = static_cast<double>(ranks_);
    // A ring sends `steps` blocks of 1/n of the size over each link. Without a ring NCCL counts each byte twice, up and
    // down. Operations other than all_reduce are already in bytes of the total size.
    const double steps = op == CollectiveOp::all_reduce                                         ? 2 * (n - 1)
                         : op == CollectiveOp::all_gather || op == CollectiveOp::reduce_scatter ? n - 1
                                                                                                : n;
    if (a == ring) return bus * n / steps;
    if (a == nvls || a == nvlstree) return bus * nvls_ratio(a, n / steps);
    return bus * .5;
  }

  // Caps of a ring's channel in LL128, GB/s; before 2.10 by operation.
  double ring_ll128_cap(CollectiveOp op) const {
    if (since(10)) return cap(constants_.ring_ll128);
    constexpr std::array by_op = {18.8, 12.0, 18.3, 15.2};
    if (op == CollectiveOp::all_reduce) return since(8) ? 16.9 : 16.7;
    return by_op[static_cast<std::size_t>(op)];
  }

  // all_gather and reduce_scatter in GB/s. Before 2.27 NCCL interpolates between two measurements, one and eight GPUs
  // per node.
  double direct_bandwidth(const SearchGraph& g, double per_node) const {
    if (since(27)) return per_node * std::min(g.bw_intra, .9 * g.bw_inter);
    const double w = (per_node - 1) / 7;
    return per_node * g.bw_intra * (w * .85 + (1 - w) * .95);
  }

  // Bytes of the size per byte of the bus with NVLS. \param ring  that of a ring
  double nvls_ratio(std::size_t a, double ring) const {
    if (since(28)) return ring;
    if (since(19)) return 5.0 / 6;
    if (a == nvlstree) return .7 * static_cast<double>(nodes_) / static_cast<double>(2 * (nodes_ - 1));
    return since(18, 3) ? 5.0 / 6 : .75;
  }

  // Trees reach 0.92 of the bus and at most the cap of a channel. The factors of LL and LL128 are empirical, and NCCL
  // has no derivation of them. A plain tree pattern puts all network edges on one GPU, for which NCCL takes another
  // 0.85.
  double tree_bandwidth(double bus, double channels, std::size_t p, double ll_cap) const {
    if (since(8)) {
      bus = std::min(bus * .92, channels * cap(constants_.tree));
    } else {
      // The cap of all channels together.
      const double most = nodes_ > 2 ? 80 : 110, ampere_ll128 = nodes_ > 2 ? 105 : 130;
      bus = std::min(bus * .9, row_ == 1 && p == 1 ? ampere_ll128 : most);
    }
    if (p == 0) bus = std::min(bus / 3.8, ll_cap);
    if (p == 1) {
      const double payload = nodes_ == 1 ? 7.0 / 9 : since(10) ? 120.0 / 128 : .915;
      const double old_cap = ring_ll128_cap(CollectiveOp::all_reduce) * (since(8) ? 1 : 7.0 / 9);
      bus = std::min(bus * payload, channels * (since(10) ? cap(constants_.tree_ll128) : old_cap));
    }
    if (graphs_.tree.pattern == TreePattern::tree && since(18, 3)) bus *= .85;
    return bus;
  }

  // Bandwidth of a channel with NVLS, GB/s: the minimum of NVSwitch and network. Since 2.28 NCCL counts one channel
  // fewer than the search found, and the two directions of an all_reduce separately.
  double nvls_bandwidth(CollectiveOp op, std::size_t a, double per_node) const {
    const SearchGraph& g = graphs_.nvls;
    if (since(28)) {
      const double share = (g.channels - 1.0) / g.channels;
      double intra = g.bw_intra * nvls_efficiency[row_] * share;
      intra *= op == CollectiveOp::all_reduce ? 2 : (per_node - 1) / per_node;
      const double inter = g.bw_inter * (a == nvlstree && nodes_ <= 2 ? 2 : 1);
      const double both = std::min(intra, inter);
      return a == nvlstree ? std::min(both, cap(constants_.nvlstree)) : both;
    }
    if (!since(19)) return nodes_ <= 2 ? g.bw_intra : g.bw_inter;
    if (a == nvlstree) return std::min(g.bw_intra, nodes_ <= 2 ? g.bw_inter : g.bw_inter / 2);
    if (op == CollectiveOp::all_reduce || !since(27)) return std::min(g.bw_intra, g.bw_inter);
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
    if (!since(18) && nodes_ > 1 && p == 0) intra *= 1.8;
    // With one rank per node NCCL charges every algorithm the network latency of a tree.
    const bool exposed = since(23) && nodes_ == ranks_;
    // The latency that the device states; Simple counts it twice because of the flush [NCCL-tuning-1.4].
    double inter = constants_.hop[2][exposed ? tree : a][p];
    if (since(18))
      inter += g.latency_inter * (p == 2 ? 2 : 1);
    else if (g.latency_inter > 0 && since(12))
      inter = g.latency_inter;
    const double log_nodes = static_cast<double>(std::bit_width(static_cast<std::uint64_t>(nodes_)) - 1);
    const double local = std::floor(n / nodes);
    // Before 2.5 NCCL has no table: trees run up to the size at which two straight lines cross.
    if (!since(5) && op == CollectiveOp::all_reduce && nodes_ > 1)
      return base + (a == ring ? 6 * (n - 1) : 15 * log_nodes + 4 * (local - 1));
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
        if (nodes_ > 1 && since(18)) intra = std::max(intra, net_overhead() * (p == 2 ? 3 : 1));
        double by_net = nodes_ == 1 ? 0 : op == CollectiveOp::all_reduce ? 2 * (nodes - 1) : nodes - 1;
        // One hop too many per direction, as 2.12 to 2.22 count.
        if (since(12) && !since(23) && nodes_ > 1 && op == CollectiveOp::all_reduce) by_net = 2 * nodes;
        return base + (steps - by_net) * intra + by_net * inter;
      }
      case tree: return base + 2 * ((local - 1) * intra + log_nodes * inter);
      case direct: {
        if (!since(10)) return base + 2 * (local - 1) * intra + inter;
        const double serial = (local - 1) * (since(19) ? .4 : .5);
        return base + 2 * (std::min(1.0, local - 1) * intra + serial) + inter;
      }
      case chain: return base + 2 * (local - 1) * intra + (since(18) || !since(9) ? inter : 0);
      case nvls: {
        if (!since(18)) return base;
        const double network = since(19) ? inter : constants_.hop[2][nvls][p];
        return base + intra + (nodes_ > 1 ? network : 0);
      }
      case nvlstree: {
        // 2.18 counts all nodes one after the other.
        if (!since(19)) return base + 2 * (nodes - 1) * constants_.hop[2][nvlstree][p];
        return base + intra + 2 * log_nodes * inter;
      }
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
  std::size_t row_, column_;
  const CostConstants& constants_;
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

// getKernelInfo() of NCCL 2.4: LL up to a number of bytes per thread, where every thread of every channel works on each
// chunk of a loop. LL128 came with 2.5.
bool CostTable::runs_before_2_5(CollectiveOp op, Algorithm algorithm, Protocol protocol, std::int64_t bytes) const {
  const bool with_ll = of[static_cast<std::size_t>(op)][static_cast<std::size_t>(algorithm)][0].bandwidth > 0;
  if (!with_ll || protocol == Protocol::ll128) return protocol == Protocol::simple;
  constexpr std::int64_t threads = 256, bytes_per_thread = 64;
  const std::int64_t of_thread = bytes_per_thread * (nodes > 1 ? 2 : 1) * (algorithm == Algorithm::tree ? 4 : 1);
  const bool pipeline = algorithm == Algorithm::tree || op == CollectiveOp::broadcast || op == CollectiveOp::reduce;
  const std::int64_t largest_ll = channels * threads * of_thread * (pipeline ? 1 : ranks);
  return (bytes <= largest_ll) == (protocol == Protocol::ll);
}

double CostTable::time(CollectiveOp op, Algorithm algorithm, Protocol protocol, std::int64_t bytes) const {
  // Sends and receives are not in NCCL's table.
  if (op > CollectiveOp::all_reduce) return -1;
  AlgorithmCost cost =
      of[static_cast<std::size_t>(op)][static_cast<std::size_t>(algorithm)][static_cast<std::size_t>(protocol)];
  if (cost.bandwidth <= 0) return -1;
  if (version < NcclVersion{2, 5, 0} && !runs_before_2_5(op, algorithm, protocol, bytes)) return -1;
  // Index of the correction: floor(log2(bytes / 64)), and none below 64 B.
  const auto units = static_cast<std::uint64_t>(bytes) >> 6;
  const int log_size = units == 0 ? -1 : static_cast<int>(std::bit_width(units)) - 1;
  const bool all_reduce = op == CollectiveOp::all_reduce;
  const bool corrected = all_reduce && ((algorithm == Algorithm::tree && log_size < 23) ||
                                        (algorithm == Algorithm::nvlstree && corrects_nvlstree(log_size)));
  if (corrected && log_size >= 0 && log_size < 24)
    cost.bandwidth *=
        cost_constants(version).tree_correction[static_cast<std::size_t>(protocol)][static_cast<std::size_t>(log_size)];
  if (algorithm == Algorithm::ring && protocol == Protocol::simple) cost.latency *= one_domain_plateau(op, bytes);
  if (algorithm == Algorithm::ring && protocol == Protocol::simple && nodes > 1 && all_reduce) {
    // The plateau of multi-node rings: NCCL raises their latency from the size on at which each rank has 64 B on every
    // channel.
    if (version < NcclVersion{2, 18, 0}) {
      // In these versions by the size alone.
      const bool plateau = static_cast<double>(bytes) >= static_cast<double>(ranks) / 16 * 65536;
      const bool less = capability >= 90 && version >= NcclVersion{2, 17, 0};
      if (plateau) cost.latency *= less ? 1.5 : 1.9;
    } else if (bytes / (channels * ranks) >= 64) {
      cost.latency *= capability < 80 ? 1.9 : 1.4;
    }
  }
  return cost.latency + static_cast<double>(bytes) / (1000 * cost.bandwidth);
}

}  // namespace fabricast
