#include "fabricast/planner/search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

namespace fabricast {

namespace {

// Speeds per channel that the search tries, GB/s [NCCL-search].
constexpr std::array intra_default = {40., 30., 20., 18., 15., 12., 10., 9., 7., 6., 5., 4., 3.};
constexpr std::array inter_default = {48., 30., 28., 24., 20., 18., 15., 12., 10., 9.,
                                      7.,  6.,  5.,  4.,  3.,  2.4, 1.2, .24, .12};
constexpr std::array intra_sm90 = {60., 50., 40., 30., 24., 20., 15., 12., 11., 6., 3.};
constexpr std::array inter_sm90 = {48., 45., 42., 40., 30., 24., 22., 20., 17.5, 15., 12., 6., 3., 2.4, 1.2, .24, .12};
constexpr std::array intra_sm100 = {90., 80., 70., 60., 50., 45., 40., 30., 24., 20., 19., 18.};
constexpr std::array inter_sm100 = {96., 86.,  80., 48., 45.1, 42., 40., 30., 24., 22.,
                                    20., 17.5, 15., 12., 6.,   3.,  2.4, 1.2, .24, .12};

std::span<const double> ladder(int capability, bool inter) {
  if (capability >= 100) return inter ? std::span<const double>(inter_sm100) : intra_sm100;
  if (capability >= 90) return inter ? std::span<const double>(inter_sm90) : intra_sm90;
  return inter ? std::span<const double>(inter_default) : intra_default;
}

/// What NCCL takes one NVLink to carry, GB/s [NCCL-topo].
double nccl_nvlink(int capability) {
  if (capability >= 100) return 40.1;
  if (capability >= 90) return 20.6;
  return capability == 86 ? 12 : 20;
}

/// What NCCL takes PCIe x16 to carry: 12 GB/s for Gen3, doubling [NCCL-topo].
double nccl_pcie(const std::string& pcie) { return 12 * std::pow(2, pcie.back() - '3'); }

struct Found {
  int channels = 0;
  double speed = 0;
};

/// Walks down a ladder; `fit(speed)` channels fit at a speed. Stops where the search does: at the first speed whose
/// channels use all there is, or once the next speed is less than half of the present one.
template <class Fit>
Found descend(std::span<const double> speeds, double max_speed, double total, int max_channels, Fit fit) {
  Found best;
  for (std::size_t i = 0; i < speeds.size(); ++i) {
    const double speed = speeds[i];
    if (speed > max_speed + 1e-9) continue;
    const int channels = std::min(max_channels, fit(speed));
    if (channels > 0 && channels * speed > best.channels * best.speed + 1e-9) best = {channels, speed};
    if (best.channels > 0 && (best.channels * best.speed >= total - 1e-9 || channels == max_channels)) break;
    if (best.channels > 0 && i + 1 < speeds.size() && speeds[i + 1] / speed <= 0.49) break;
  }
  return best;
}

/// ncclTopoDupChannels: fast channels are run twice at half speed.
void duplicate(Found& found, int capability, int max_channels) {
  if (found.speed < 25 || (capability > 80 && found.speed < 50 && found.channels > 4)) return;
  const int channels = std::min(max_channels, 2 * found.channels);
  found.speed = found.speed * found.channels / channels;
  found.channels = channels;
}

int floor_fit(double total, double speed) { return static_cast<int>(std::floor(total / speed + 1e-6)); }

struct NodeSpeeds {
  double gpu = 0;   ///< all NVLinks of a GPU, or its way to the next GPU over PCIe
  double pair = 0;  ///< between two GPUs of a mesh
  PathType type = PathType::LOC;
};

NodeSpeeds node_speeds(const Node& node) {
  NodeSpeeds s;
  const int gpus = node.spec.gpus;
  if (gpus == 1) return s;
  if (node.nvlink) {
    const double links = node.gpu.nvlinks * nccl_nvlink(node.gpu.compute_capability);
    s.gpu = links, s.pair = node.spec.intranode == Intranode::nvlink_mesh ? links / (gpus - 1) : links;
    s.type = PathType::NVL;
    return s;
  }
  for (int g = 0; g < gpus; ++g) s.type = std::max(s.type, node.graph.gpu_gpu_distance(g, (g + 1) % gpus));
  s.gpu = s.pair = nccl_pcie(node.gpu.pcie);
  return s;
}

/// GPU order of one channel: from its head up or down through the node, as the search leaves it behind.
std::vector<int> order_from(int head, int gpus, bool descending) {
  std::vector<int> order(static_cast<std::size_t>(gpus));
  for (int i = 0; i < gpus; ++i)
    order[static_cast<std::size_t>(i)] = ((descending ? head - i : head + i) % gpus + gpus) % gpus;
  return order;
}

/// In a mesh each channel takes another way from its first GPU to its last, so that all NVLinks are used.
std::vector<int> mesh_order(int channel, int head, int exit, int gpus) {
  std::vector<int> order{head};
  for (int g = 0; g < gpus; ++g)
    if (g != head && g != exit) order.push_back(g);
  if (order.size() > 1)
    std::rotate(order.begin() + 1, order.begin() + 1 + channel % (static_cast<int>(order.size()) - 1), order.end());
  if (exit != head) order.push_back(exit);
  return order;
}

void shape_single_node(SearchGraph& graph, const Node& node) {
  for (int c = 0; c < graph.channels; ++c) {
    ChannelShape shape;
    const int gpus = node.spec.gpus;
    // All ordered cycles through GPU 0: the last GPU changes with the channel, too.
    shape.gpus = node.spec.intranode == Intranode::nvlink_mesh && gpus > 1
                     ? mesh_order(c / (gpus - 1), 0, 1 + c % (gpus - 1), gpus)
                     : order_from(0, gpus, false);
    graph.shapes.push_back(std::move(shape));
  }
}

SearchGraph intra_graph(const Node& node, const NodeSpeeds& speeds) {
  const int capability = node.gpu.compute_capability;
  SearchGraph graph;
  graph.type_intra = speeds.type;
  graph.type_inter = PathType::PIX;
  Found found{1, 0};
  if (node.nvlink) {
    const int ways = node.spec.intranode == Intranode::nvlink_mesh ? node.spec.gpus - 1 : 1;
    found = descend(ladder(capability, false), speeds.pair, speeds.gpu, 32,
                    [&](double speed) { return ways * floor_fit(speeds.pair, speed); });
    duplicate(found, capability, 32);
  } else if (node.spec.gpus > 1) {
    // Peer traffic through an Intel root complex costs 6/5 [NCCL-topo].
    const bool through_cpu = speeds.type >= PathType::PHB && node.spec.cpu == CpuVendor::intel;
    found = descend(ladder(capability, false), speeds.gpu / (through_cpu ? 1.2 : 1.0), speeds.gpu, 1,
                    [](double) { return 1; });
  } else {
    found.speed = ladder(capability, false).front();
  }
  graph.channels = found.channels;
  graph.bw_intra = graph.bw_inter = found.speed;
  return graph;
}

/// The GPU beside: of the same PCIe switch or socket where there is one.
int partner(int gpu, int gpus) { return (gpu ^ 1) < gpus ? gpu ^ 1 : std::max(0, gpu - 1); }

/// Channel c's NIC and the GPUs it enters and leaves by.
void shape_inter(SearchGraph& graph, const Node& node, bool tree) {
  const int gpus = node.spec.gpus, nics = node.nics;
  for (int c = 0; c < graph.channels; ++c) {
    ChannelShape shape;
    const int nic = c % nics;
    // The GPU next to the NIC; with fewer NICs than GPUs the second channel of a NIC starts at its second GPU.
    const int ports = node.fabric_ports;
    int head = node.port_of_nic[static_cast<std::size_t>(nic)] * gpus / ports;
    if (gpus > ports) head = std::min(gpus - 1, head + c / nics % (gpus / ports));
    const bool mesh = node.spec.intranode == Intranode::nvlink_mesh;
    shape.nic_in = shape.nic_out = nic;
    if (tree) {
      shape.gpus =
          graph.pattern == TreePattern::tree ? order_from(head, gpus, false) : order_from(head, gpus, c % 2 == 1);
    } else if (mesh) {
      shape.gpus = mesh_order(c, head, partner(head, gpus), gpus);
    } else {
      shape.gpus = order_from(head, gpus, c % 2 == 0);
      // Channels in pairs: 2k enters by NIC a and leaves by b, 2k + 1 the other way.
      if (graph.cross_nic == 2 && nics % 2 == 0) shape.nic_out = nic ^ 1;
    }
    graph.shapes.push_back(std::move(shape));
  }
}

SearchGraph inter_graph(const Node& node, const NodeSpeeds& speeds, const NcclSettings& settings) {
  const int capability = node.gpu.compute_capability, gpus = node.spec.gpus;
  const double nic = std::min(gigabytes_per_second(node.nic_line_rate), nccl_pcie(node.gpu.pcie));
  // One GPU's way to its NICs is one PCIe slot, however many NICs there are.
  const int usable = gpus == 1 ? 1 : node.nics;
  double gpu_total = gpus > 1 ? std::max(speeds.gpu, nic) : nic;
  SearchGraph graph;
  graph.type_intra = speeds.type;
  const bool pxn = uses_pxn(node, settings);
  graph.type_inter = nic_distance(node, pxn);
  const bool pcie_only = !node.nvlink && gpus > 1;
  Found found;
  const int nics_used = gpus == 1 ? 1 : node.nics;
  if (pcie_only) {
    // Every hop inside the node shares PCIe with the NICs: one channel per two NICs' worth of the slowest hop.
    const double hop = speeds.gpu / (speeds.type >= PathType::PHB ? 2 : 1);
    found = descend(ladder(capability, true), std::min(nic, hop), gpu_total, std::max(1, node.nics),
                    [&](double) { return std::max(1, node.nics); });
  } else {
    const auto fit = [&](double speed) {
      int channels = std::min(32, usable * floor_fit(nic, speed));
      // A ring leaves each GPU over NVLink but the last, which differs from ring to ring.
      const auto load = [&] { return (channels - channels / gpus) * speed; };
      while (node.spec.intranode == Intranode::nvswitch && gpus > 1 && load() > speeds.gpu + 1e-6) --channels;
      return channels;
    };
    found = descend(ladder(capability, true), nic, gpu_total, 32, fit);
    duplicate(found, capability, 32);
  }
  // One channel, run twice or not, is the same everywhere.
  graph.same_channels = nics_used == 1;
  graph.channels = found.channels;
  graph.bw_intra = graph.bw_inter = found.speed;
  // Where each NIC is near one GPU only, a ring comes back by its neighbour's NIC (crossNic 2); with two GPUs near a
  // NIC it comes back by the same. Blackwell nodes and slower NICs come back by PXN [NCCL-search].
  const bool own_switch = node.spec.pcie_switches >= gpus && node.nics == gpus && gpus > 1;
  const bool swaps = (capability == 90 && found.speed >= 45) || capability == 103;
  graph.cross_nic = own_switch && swaps && settings.cross_nic != 0 ? 2 : 0;
  // Without PXN over PCIe, from the GPU before the first.
  if (own_switch && graph.cross_nic == 0)
    graph.type_inter = std::max(graph.type_inter, pxn ? PathType::PXN : node.graph.gpu_nic_distance(1, 0));
  return graph;
}

SearchGraph nvls_graph(const Node& node, const NodeSpeeds& speeds, bool multi_node, const NcclSettings& settings) {
  SearchGraph graph;
  const int capability = node.gpu.compute_capability, gpus = node.spec.gpus;
  if (capability < 90 || node.spec.intranode != Intranode::nvswitch || gpus < 2 || settings.nvls_enable == 0)
    return graph;
  if (settings.version < NcclVersion{2, 17, 0}) return graph;
  const int heads = std::min(gpus, 32);
  graph.channels = multi_node ? std::min(heads, node.nics) : heads;
  const double nic = multi_node ? std::min(gigabytes_per_second(node.nic_line_rate), nccl_pcie(node.gpu.pcie))
                                : std::numeric_limits<double>::infinity();
  const auto fastest = [&](double limit) {
    for (const double speed : ladder(capability, multi_node))
      if (speed <= limit + 1e-6) return speed;
    return limit;
  };
  // A head sends every segment once and its own again as multicast. Then the network, or what stands for it on a single
  // node, is raised up to twice that [NCCL-search].
  graph.bw_intra = fastest(std::min(nic, speeds.gpu / (graph.channels + 1)));
  graph.bw_inter = fastest(std::min(nic, 2 * graph.bw_intra));
  graph.type_intra = PathType::NVL;
  graph.type_inter = PathType::PIX;
  return graph;
}

}  // namespace

bool uses_pxn(const Node& node, const NcclSettings& settings) {
  return node.nvlink && node.spec.nics.link != LinkKind::socket && !settings.pxn_disable.value_or(false);
}

PathType nic_distance(const Node& node, bool pxn) {
  // A wrong binding pairs GPUs and NICs by number, wherever they sit.
  const int gpus = node.spec.gpus;
  PathType worst = PathType::LOC, best = PathType::DIS;
  for (int g = 0; g < gpus && node.nics > 0; ++g) {
    const PathType distance = node.spec.nics.numa == NicNuma::remote
                                  ? node.graph.gpu_nic_distance(g, g * node.nics / gpus)
                                  : node.graph.nearest_nic_distance(g);
    worst = std::max(worst, distance), best = std::min(best, distance);
  }
  // A GPU without a near NIC reaches one through a GPU that has, over NVLink.
  // The TCPX plugin pairs GPUs and NICs itself.
  const bool by_peer = pxn && node.spec.nics.numa == NicNuma::local && best <= PathType::PXB &&
                       node.spec.nics.link != LinkKind::gpudirect_tcpx;
  return by_peer ? std::min(worst, PathType::PXN) : worst;
}

SearchGraphs search_graphs(const Node& node, std::int64_t nodes, const NcclSettings& settings) {
  const NodeSpeeds speeds = node_speeds(node);
  const int capability = node.gpu.compute_capability;
  SearchGraphs graphs;
  if (nodes == 1) {
    graphs.ring = intra_graph(node, speeds);
    graphs.tree = graphs.ring;
    graphs.tree.pattern = capability >= 100 ? TreePattern::tree : TreePattern::balanced;
    shape_single_node(graphs.ring, node);
    shape_single_node(graphs.tree, node);
  } else {
    graphs.ring = inter_graph(node, speeds, settings);
    graphs.tree = graphs.ring;
    graphs.tree.cross_nic = 0;
    const bool plain = capability >= 90 && node.nics >= node.spec.gpus && node.gpu.c2c.empty();
    graphs.tree.pattern = plain ? TreePattern::tree : TreePattern::balanced;
    // Trees may use the links inside the node up to twice as fast as the network [NCCL-search].
    if (node.spec.gpus > 1 && node.nvlink && graphs.ring.cross_nic != 2) {
      const double inside = speeds.gpu * node.spec.gpus / (node.spec.gpus - 1) / graphs.tree.channels;
      for (const double speed : ladder(capability, true))
        if (speed <= std::min(inside, 2 * graphs.tree.bw_inter) + 1e-9) {
          graphs.tree.bw_intra = std::max(graphs.tree.bw_intra, speed);
          break;
        }
    }
    shape_inter(graphs.ring, node, false);
    shape_inter(graphs.tree, node, true);
  }
  graphs.nvls = nvls_graph(node, speeds, nodes > 1, settings);

  // Postset: channels are doubled, so that each ring graph carries both trees; then the user's limits.
  int channels = std::min(64, 2 * std::min(graphs.ring.channels, graphs.tree.channels));
  if (capability >= 90 && nodes > 1 && graphs.ring.bw_intra > 45 && channels < 16)
    channels = std::min(64, 2 * channels);
  if (settings.max_channels) channels = std::min(channels, *settings.max_channels);
  if (settings.min_channels) channels = std::max(channels, *settings.min_channels);
  graphs.channels = std::max(1, channels);
  return graphs;
}

}  // namespace fabricast
