// From the few words of a scenario to the graph of a node.
//
// Layouts are the usual ones of each kind of machine, not surveys of each product: GPUs and NICs spread evenly over
// PCIe switches, switches over sockets. What is unusual can be given as a NCCL topology file in a later version.
#include "fabricast/hardware/node.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "fabricast/core/error.hpp"
#include "fabricast/core/names.hpp"

namespace fabricast {

void visit_fields(FieldVisitor& visit, NicSpec& spec) {
  visit("count", spec.count, "NIC ports of a node on the fabric", between(0, 256));
  visit("rate", spec.rate, "line rate of a NIC port, one direction", line_rates);
  visit("link", spec.link, "kind of network");
  visit("numa", spec.numa,
        "local: GPUs use NICs of their own socket; remote: a wrong binding makes them cross sockets");
}

void visit_kind(FieldVisitor& visit, NodeSpec& spec) {
  visit("profile", spec.profile, "a shipped kind of node (`fabricast list nodes`) or a fitted profile file (JSON)");
  visit("gpu", spec.gpu, "kind of GPU (`fabricast list gpus`)");
}

void visit_rest(FieldVisitor& visit, NodeSpec& spec) {
  visit("gpus", spec.gpus, "GPUs in a node", between(1, 72));
  visit("intranode", spec.intranode, "what joins the GPUs of a node");
  visit("nics", spec.nics, "the NICs");
  visit("gdr", spec.gdr, "GPUDirect RDMA; auto: by NCCL's rule, from the distance of GPU and NIC");
  visit("cpu", spec.cpu, "CPU vendor; NCCL's tuning looks at it");
  visit("sockets", spec.sockets, "CPU sockets", between(1, 8));
  visit("pcie_switches", spec.pcie_switches, "PCIe switches shared by GPUs and NICs; 0: root ports only",
        between(0, 64));
}

void visit_fields(FieldVisitor& visit, NodeSpec& spec) {
  visit_kind(visit, spec);
  visit_rest(visit, spec);
}

namespace {

template <class Map>
const typename Map::mapped_type& lookup(const Map& map, std::string_view name, std::string path,
                                        std::string_view what) {
  const auto it = map.find(name);
  if (it != map.end()) return it->second;
  std::vector<std::string_view> known;
  for (const auto& entry : map) known.push_back(entry.first);
  throw UserError::at(std::move(path), fmt::format("unknown {} '{}'", what, name), suggestion(name, known));
}

}  // namespace

NodeSpec default_node(const Hardware& hardware, std::string_view gpu, std::string_view preset) {
  NodeSpec spec;
  if (!preset.empty()) {
    const NodePreset& p = lookup(hardware.nodes, preset, "node.profile", "profile");
    spec = default_node(hardware, gpu.empty() ? p.gpu : gpu, {});
    spec.profile = preset;
    if (spec.gpu == p.gpu) {
      spec.gpus = p.gpus, spec.intranode = *enum_from<Intranode>(p.intranode);
      spec.nics = {p.nics, p.nic_rate, p.nic_link, NicNuma::local};
    }
    return spec;
  }
  const GpuKind& kind = lookup(hardware.gpus, gpu.empty() ? "h100-sxm" : gpu, "node.gpu", "GPU");
  spec.gpu = kind.name, spec.gpus = kind.gpus;
  spec.intranode = *enum_from<Intranode>(kind.intranode);
  spec.cpu = *enum_from<CpuVendor>(kind.cpu);
  spec.nics = {kind.gpus, kind.nic_rate, LinkKind::infiniband, NicNuma::local};
  spec.sockets = spec.cpu == CpuVendor::arm ? std::max(1, kind.gpus / 2) : 2;
  spec.pcie_switches = kind.pcie_switches;
  return spec;
}

namespace {

LinkClass class_of(const LinkType& type, double count = 1, double efficiency = 1) {
  return {type.kind, type.rate * (type.efficiency.value * count * efficiency), type.latency.us()};
}

class NodeBuilder {
 public:
  NodeBuilder(const Node& node, const Hardware& hardware) : node_(node), spec_(node.spec), hardware_(hardware) {}

  NodeGraph build() {
    graph_.gpus = spec_.gpus, graph_.nics = node_.nics;
    for (int g = 0; g < spec_.gpus; ++g) graph_.add_vertex(NodeVertexKind::gpu, fmt::format("gpu{}", g));
    for (const int port : node_.port_of_nic) graph_.add_vertex(NodeVertexKind::nic, fmt::format("nic{}", port));
    add_sockets();
    add_pcie();
    if (spec_.intranode == Intranode::nvswitch) add_nvswitch();
    if (spec_.intranode == Intranode::nvlink_mesh) add_mesh();
    return std::move(graph_);
  }

 private:
  const LinkType& link(const std::string& name) const {
    const auto it = hardware_.links.find(name);
    FABRICAST_CHECK(it != hardware_.links.end(), "no link type " + name);
    return it->second;
  }

  void add_sockets() {
    const std::string cpu(name_of(spec_.cpu));
    for (int s = 0; s < spec_.sockets; ++s) {
      sockets_.push_back(graph_.add_vertex(NodeVertexKind::socket, fmt::format("cpu{}", s)));
      graph_.add_cable(sockets_.back(), graph_.add_vertex(NodeVertexKind::memory, fmt::format("dram{}", s)),
                       class_of(link("memory-" + cpu)));
      for (int t = 0; t < s; ++t)
        graph_.add_cable(sockets_[static_cast<std::size_t>(t)], sockets_.back(), class_of(link("socket-link-" + cpu)));
    }
  }

  /// The i-th of n things, spread evenly over m owners.
  static std::size_t spread(int i, int n, int m) { return static_cast<std::size_t>(i * m / n); }

  void add_pcie() {
    const LinkClass pcie = class_of(link(node_.gpu.pcie));
    const int switches = spec_.pcie_switches;
    std::vector<std::uint16_t> hub;
    std::vector<std::size_t> socket_of_hub;
    for (int i = 0; i < switches; ++i) {
      const std::size_t socket = spread(i, switches, spec_.sockets);
      hub.push_back(graph_.add_vertex(NodeVertexKind::pcie_switch, fmt::format("pcie{}", i)));
      graph_.add_cable(sockets_[socket], hub.back(), pcie);
    }
    const int ports = node_.fabric_ports;
    const auto attach = [&](int i, int n, bool nic) {
      // A wrong binding pairs GPUs of one half of the node with NICs of the other.
      const int place = nic && spec_.nics.numa == NicNuma::remote ? (i + (n + 1) / 2) % n : i;
      return switches > 0 ? hub[spread(place, n, switches)] : sockets_[spread(place, n, spec_.sockets)];
    };
    const bool grace = !node_.gpu.c2c.empty();
    for (int g = 0; g < spec_.gpus; ++g) {
      if (grace)
        graph_.add_cable(sockets_[spread(g, spec_.gpus, spec_.sockets)], graph_.gpu(g), class_of(link(node_.gpu.c2c)));
      else
        graph_.add_cable(attach(g, spec_.gpus, false), graph_.gpu(g), pcie);
    }
    for (int n = 0; n < node_.nics; ++n) {
      // A NIC faster than the slot of its GPU's generation has the slot it needs: dual cards, or a later PCIe.
      LinkClass slot = pcie;
      slot.rate.value = std::max(slot.rate.value, node_.nic_line_rate.value * node_.header_efficiency);
      graph_.add_cable(attach(node_.port_of_nic[static_cast<std::size_t>(n)], ports, true), graph_.nic(n), slot);
    }
  }

  void add_nvswitch() {
    const LinkClass port = class_of(link(node_.gpu.nvlink), node_.gpu.nvlinks);
    const std::uint16_t nvswitch = graph_.add_vertex(NodeVertexKind::nvswitch, "nvswitch");
    for (int g = 0; g < spec_.gpus; ++g) graph_.add_cable(graph_.gpu(g), nvswitch, port);
  }

  void add_mesh() {
    if (spec_.gpus < 2) return;
    const double per_pair = static_cast<double>(node_.gpu.nvlinks) / (spec_.gpus - 1);
    const LinkClass pair = class_of(link(node_.gpu.nvlink), per_pair);
    for (int a = 0; a < spec_.gpus; ++a)
      for (int b = a + 1; b < spec_.gpus; ++b) graph_.add_cable(graph_.gpu(a), graph_.gpu(b), pair);
  }

  const Node& node_;
  const NodeSpec& spec_;
  const Hardware& hardware_;
  NodeGraph graph_;
  std::vector<std::uint16_t> sockets_;
};

void check(const NodeSpec& spec, const GpuKind& gpu) {
  const auto refuse = [](std::string path, std::string message, std::string hint) {
    throw UserError::at(std::move(path), std::move(message), std::move(hint));
  };
  if ((spec.intranode == Intranode::nvswitch || spec.intranode == Intranode::nvlink_mesh) && gpu.nvlinks == 0)
    refuse("node.intranode", fmt::format("{} has no NVLink", gpu.name), "use pcie");
  if (spec.intranode == Intranode::none && spec.gpus > 1)
    refuse("node.intranode", fmt::format("'none' joins nothing, and the node has {} GPUs", spec.gpus), "use pcie");
  if (spec.intranode == Intranode::nvlink_mesh && spec.gpus > gpu.nvlinks + 1)
    refuse("node.gpus", fmt::format("{} NVLinks do not reach {} other GPUs", gpu.nvlinks, spec.gpus - 1),
           "use nvswitch");
  if (!is_network(spec.nics.link))
    refuse("node.nics.link", fmt::format("'{}' does not join nodes", name_of(spec.nics.link)),
           "infiniband, roce, efa, slingshot, gpudirect_tcpx or socket");
}

/// Ports of one dual-port card, and the four EFA devices of a GPU, are one NIC to NCCL (NCCL_NET_MERGE_LEVEL, and the
/// OFI plugin's groups).
int ports_per_nic(const NodeSpec& spec, const NodeUse& use) {
  const int count = spec.nics.count;
  if (count <= spec.gpus || count % spec.gpus != 0) return 1;
  if (spec.nics.link == LinkKind::efa) return count / spec.gpus;
  return use.merge_ports && count == 2 * spec.gpus ? 2 : 1;
}

void count_nics(Node& node, const NodeUse& use) {
  const int merged = ports_per_nic(node.spec, use), count = node.spec.nics.count;
  std::vector<int> ports = use.ports;
  if (ports.empty()) {
    ports.resize(static_cast<std::size_t>(count));
    std::iota(ports.begin(), ports.end(), 0);
  }
  std::map<int, int> cards;  // ports in use of each
  for (const int port : ports) ++cards[port / merged];
  int used = 0;
  for (const auto& [card, n] : cards) {
    if (used > 0 && n != used)
      throw UserError::at("nccl.env.NCCL_IB_HCA", "leaves cards with one and with more ports",
                          "name both ports of each card, or one of each");
    used = n;
    node.port_of_nic.push_back(card);
  }
  node.nics = static_cast<int>(cards.size());
  node.fabric_ports = count / merged;
  node.nic_line_rate = node.spec.nics.rate * static_cast<double>(std::max(1, used));
}

/// More sockets share the copying, until the line is full [NCCL-sockets].
void scale_sockets(Node& node, int sockets) {
  if (node.spec.nics.link != LinkKind::socket) return;
  constexpr double most = 0.9;
  Parameter& efficiency = node.network.nic_efficiency;
  efficiency.value = std::max(efficiency.value, std::min(most, efficiency.value * sockets));
}

/// NCCL uses peer-to-peer copies over PCIe up to a distance: one or more switches, or with two GPUs of an AMD host also
/// across its root ports [NCCL-paths]; beyond, GPUs meet in host memory.
bool peers_over_pcie(const Node& node, const NodeUse& use) {
  const NodeSpec& spec = node.spec;
  PathType farthest = PathType::LOC;
  for (int g = 0; g < spec.gpus; ++g)
    farthest = std::max(farthest, node.graph.gpu_gpu_distance(g, (g + 1) % spec.gpus));
  const bool small_amd = spec.cpu == CpuVendor::amd && spec.gpus <= 2;
  return node.gpu.peer_to_peer && farthest <= use.peer_level.value_or(small_amd ? PathType::SYS : PathType::PXB);
}

}  // namespace

std::string network_name(const NodeSpec& spec) {
  std::string name(name_of(spec.nics.link));
  // Google's A3 High has four NICs for eight GPUs and GPUDirect-TCPX, A3 Mega eight and its successor TCPXO.
  if (spec.nics.link == LinkKind::gpudirect_tcpx && spec.nics.count < spec.gpus) name += "_shared";
  return name;
}

Node build_node(const NodeSpec& spec, const Hardware& hardware, const NodeUse& use) {
  Node node;
  node.spec = spec;
  node.gpu = lookup(hardware.gpus, spec.gpu, "node.gpu", "GPU");
  check(spec, node.gpu);
  node.architecture = hardware.architectures.find(node.gpu.architecture)->second;
  node.software = hardware.software;
  node.nvlink = spec.intranode == Intranode::nvswitch || spec.intranode == Intranode::nvlink_mesh;
  node.network = hardware.networks.find(network_name(spec))->second;
  node.header_efficiency = hardware.link_type(spec.nics.link, spec.nics.rate).efficiency.value;

  scale_sockets(node, use.sockets);
  count_nics(node, use);
  node.graph = NodeBuilder(node, hardware).build();
  node.peer_to_peer = !node.nvlink && spec.gpus > 1 && peers_over_pcie(node, use);
  node.pcie_path = hardware.pcie_paths.find(node.peer_to_peer ? "peer" : "host_memory")->second;
  return node;
}

BytesPerSecond Node::nic_rate(bool gdr) const {
  return nic_line_rate *
         (header_efficiency * network.nic_efficiency.value * (gdr ? 1 : network.staged_efficiency.value));
}

const LinkType& Hardware::link_type(LinkKind kind, BytesPerSecond rate) const {
  const LinkType* best = nullptr;
  double distance = std::numeric_limits<double>::infinity();
  for (const auto& [name, type] : links) {
    if (type.kind != kind) continue;
    const double d = std::abs(std::log(type.rate.value / rate.value));
    if (d < distance) best = &type, distance = d;
  }
  FABRICAST_CHECK(best, "no link type of that kind");
  return *best;
}

}  // namespace fabricast
