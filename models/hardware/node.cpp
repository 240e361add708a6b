// Builds a node from its section of the scenario.
//
// Layouts are the usual ones of each kind of machine, not those of individual products: GPUs and NICs are spread evenly
// over PCIe switches, and switches over sockets. Unusual layouts are given as NCCL topology files.
//
// A section becomes a Node in three steps: defaults by the kind of GPU or by a preset (default_node), the user's keys,
// and build_node. The result has two views of the same wiring: `graph`, on which transfers run, with the rates of the
// hardware data, and `layout`, on which NCCL's search runs, with the bandwidths that NCCL assumes.
#include "fabricast/hardware/node.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include "fabricast/core/error.hpp"
#include "fabricast/hardware/device_names.hpp"
#include "node_parts.hpp"

namespace fabricast {

void visit_fields(FieldVisitor& visit, NicSpec& spec) {
  visit("count", spec.count, "NIC ports of a node that connect to the fabric", between(0, 256));
  visit("rate", spec.rate, "line rate of a NIC port, one direction", line_rates);
  // Only kinds that connect nodes are words of this key.
  visit.scalar({"link", "kind of network", {}},
               WordRef{network_words, &spec.link,
                       [](const void* p) { return static_cast<std::size_t>(*static_cast<const LinkKind*>(p)); },
                       [](void* p, std::size_t i) { *static_cast<LinkKind*>(p) = static_cast<LinkKind>(i); }});
  visit("numa", spec.numa,
        "local: GPUs use NICs of their own socket; remote: a wrong binding makes them use NICs of the other socket");
  visit("delay", spec.delay, "additional time per hop over the network", between(0, 1));
}

// The section is visited in parts, because later defaults depend on earlier keys: the GPU decides memory and power, and
// the numbers of GPUs and NICs decide switches.
void visit_kind(FieldVisitor& visit, NodeSpec& spec) {
  visit("profile", spec.profile, "a node type (`fabricast list nodes`) or a fitted profile file (JSON)");
  visit("gpu", spec.gpu, "kind of GPU (`fabricast list gpus`)");
  visit("topology", spec.topology,
        "an NCCL topology file (XML) of one host; replaces all keys from gpus on except link and gdr");
}

void visit_gpu(FieldVisitor& visit, NodeSpec& spec) {
  visit("memory", spec.memory, "memory per GPU", between(0x1p30, 0x1p44));
  visit("memory_rate", spec.memory_rate, "memory bandwidth per GPU, reads and writes together", between(1e9, 1e15));
  visit("power", spec.power, "power limit per GPU", between(1, 1e5));
}

void visit_devices(FieldVisitor& visit, NodeSpec& spec) {
  visit("gpus", spec.gpus, "GPUs per node", between(1, 72));
  visit("intranode", spec.intranode, "connection of the GPUs of a node");
  visit("nics", spec.nics, "the NICs of a node");
}

void visit_host(FieldVisitor& visit, NodeSpec& spec) {
  visit("gdr", spec.gdr, "GPUDirect RDMA; auto: by NCCL's rule for the distance between GPU and NIC");
  visit("peer_to_peer", spec.peer_to_peer,
        "whether GPUs may write to each other over PCIe; auto: as the usual driver of the GPU allows");
  visit("cpu", spec.cpu, "CPU vendor, which affects NCCL's tuning");
  visit("sockets", spec.sockets, "CPU sockets", between(1, 8));
  visit("pcie_switches", spec.pcie_switches, "PCIe switches shared by GPUs and NICs; 0: only root ports",
        between(0, 64));
  visit("acs", spec.acs,
        "whether PCIe switches route traffic between their devices through the root complex (Access Control Services)");
  visit("clock", spec.clock, "clock of the GPUs relative to the usual one; below 1: capped", between(0.05, 1));
  visit("call_delay", spec.call_delay, "additional host time per call", between(0, 1));
}

void visit_fields(FieldVisitor& visit, NodeSpec& spec) {
  visit_kind(visit, spec);
  visit_gpu(visit, spec);
  visit_devices(visit, spec);
  visit_host(visit, spec);
}

namespace {

/// Overrides defaults by the properties of a preset.
void apply_preset(NodeSpec& spec, const NodePreset& preset) {
  spec.gpus = preset.gpus;
  spec.intranode = *enum_from<Intranode>(preset.intranode);
  spec.nics = {preset.nics, preset.nic_rate, preset.nic_link, NicNuma::local, {}};
  if (!preset.cpu.empty()) spec.cpu = *enum_from<CpuVendor>(preset.cpu);
  if (!preset.gdr.empty()) spec.gdr = *enum_from<Gdr>(preset.gdr);
  spec.sockets = preset.sockets.value_or(spec.sockets);
  spec.pcie_switches = preset.pcie_switches.value_or(spec.pcie_switches);
}

}  // namespace

NodeSpec default_node(const Hardware& hardware, std::string_view gpu, std::string_view preset) {
  NodeSpec spec;
  if (!preset.empty()) {
    const NodePreset& p = node_called(hardware, preset);
    spec = default_node(hardware, gpu.empty() ? p.gpu : gpu, {});
    spec.profile = p.name;
    // Another GPU than the preset's makes it another machine, so only the name of the preset is kept.
    if (spec.gpu == gpu_called(hardware, p.gpu).kind->name) apply_preset(spec, p);
    return spec;
  }
  const NamedGpu named = gpu_called(hardware, gpu.empty() ? "h100-sxm" : gpu);
  const GpuKind& kind = *named.kind;
  spec.gpu = kind.name;
  spec.gpus = kind.gpus;
  spec.intranode = *enum_from<Intranode>(kind.intranode);
  spec.cpu = *enum_from<CpuVendor>(kind.cpu);
  // A NIC for each GPU, at the rate that is usual for its generation.
  spec.nics = {kind.gpus, kind.nic_rate, LinkKind::infiniband, NicNuma::local, {}};
  spec.sockets = spec.cpu == CpuVendor::arm ? std::max(1, kind.gpus / 2) : 2;
  spec.pcie_switches = kind.pcie_switches;
  spec.memory = kind.sheet.memory;
  spec.memory_rate = kind.sheet.memory_rate;
  spec.power = kind.sheet.power;
  // A variant of a kind has other memory and is the same GPU otherwise.
  if (named.variant) {
    spec.memory = named.variant->memory;
    spec.memory_rate = named.variant->memory_rate;
  }
  return spec;
}

int usual_switches(const NodeSpec& spec, const Hardware& hardware) {
  if (spec.intranode == Intranode::nvlink_mesh) return hardware.gpus.find(spec.gpu)->second.pcie_switches_mesh;
  // With at most one NIC per two GPUs, two GPUs share a switch (guess).
  if (spec.pcie_switches == spec.gpus && 2 * spec.nics.count <= spec.gpus) return std::max(1, spec.gpus / 2);
  return spec.pcie_switches;
}

namespace {

// What a topology file states is taken as it is: cards may be bridged in ways that the kind does not list.
void check(const NodeSpec& spec, const GpuKind& gpu) {
  const auto refuse = [](std::string path, std::string message, std::string hint) {
    throw UserError::at(std::move(path), std::move(message), std::move(hint));
  };
  if ((spec.intranode == Intranode::nvswitch || spec.intranode == Intranode::nvlink_mesh) && gpu.nvlinks == 0 &&
      !(spec.layout && gpu.bridge_nvlinks > 0))
    refuse("node.intranode", fmt::format("{} has no NVLink", gpu.name), "use pcie");
  if (spec.intranode == Intranode::nvlink_pairs && gpu.bridge_nvlinks == 0)
    refuse("node.intranode", fmt::format("there is no NVLink bridge for {}", gpu.name), "use pcie");
  if (spec.intranode == Intranode::none && spec.gpus > 1)
    refuse("node.intranode", fmt::format("'none' connects no GPUs, but the node has {}", spec.gpus), "use pcie");
  if (spec.intranode == Intranode::nvlink_mesh && !spec.layout && !has_nvlink_mesh(spec.gpus, gpu.nvlinks))
    refuse("node.gpus", fmt::format("{} NVLinks cannot connect {} other GPUs", gpu.nvlinks, spec.gpus - 1),
           "use nvswitch");
  if (!is_network(spec.nics.link))
    refuse("node.nics.link", fmt::format("'{}' is not a network between nodes", name_of(spec.nics.link)),
           "use infiniband, roce, efa, slingshot, gpudirect_tcpx or socket");
}

/// NCCL merges the ports of a dual-port card (NCCL_NET_MERGE_LEVEL), and the OFI plugin groups the four EFA devices of
/// a GPU. Each then counts as one NIC. A topology file already contains the merged NICs.
int ports_per_nic(const NodeSpec& host, const NodeUse& use) {
  const int count = host.nics.count;
  if (host.layout || count <= host.gpus || count % host.gpus != 0) return 1;
  if (host.nics.link == LinkKind::efa) return count / host.gpus;
  return use.merge_ports && count == 2 * host.gpus ? 2 : 1;
}

/// NICs of a host as NCCL counts and uses them.
struct HostNics {
  int fabric_ports = 0;   ///< all NICs
  std::vector<int> used;  ///< indices among them, ascending
  BytesPerSecond rate;
};

HostNics nics_of(const NodeSpec& host, const NodeUse& use) {
  const int merged = ports_per_nic(host, use), count = host.nics.count;
  std::vector<int> ports = use.ports;
  if (ports.empty()) {
    ports.resize(static_cast<std::size_t>(count));
    std::iota(ports.begin(), ports.end(), 0);
  }
  // All NICs of this model have one rate, so all cards must keep equally many ports.
  std::map<int, int> cards;  // number of ports in use per card
  for (const int port : ports) ++cards[port / merged];
  HostNics nics;
  int used = 0;
  for (const auto& [card, n] : cards) {
    if (used > 0 && n != used)
      throw UserError::at("nccl.env.NCCL_IB_HCA", "leaves some cards with one port and others with more",
                          "name both ports of each card, or one of each");
    used = n;
    nics.used.push_back(card);
  }
  nics.fabric_ports = count / merged;
  nics.rate = host.nics.rate * static_cast<double>(std::max(1, used));
  return nics;
}

/// Several sockets per connection share the copying and use more of the line rate [NCCL-sockets].
// The kernel handles each byte in a time that does not depend on the line, and `nic_efficiency` was measured at
// 200 Gb/s. With a rate r, e = 1 / (1 + (1 / e200 - 1) r / 200 Gb/s): a slow line leaves the kernel time to keep up.
void scale_sockets(Node& node, int sockets) {
  using namespace literals;
  if (node.spec.nics.link != LinkKind::socket) return;
  constexpr BytesPerSecond measured = 200_Gbps;
  // However many sockets there are, they reach at most this fraction of the line rate (assumed).
  constexpr double most = 0.9;
  Parameter& efficiency = node.network.nic_efficiency;
  efficiency.value = 1 / (1 + (1 / efficiency.value - 1) * (node.spec.nics.rate / measured));
  efficiency.value = std::max(efficiency.value, std::min(most, efficiency.value * sockets));
  node.network.thread_rate.value *= sockets;
}

/// The wiring of one host, with only the NICs in use.
NodeLayout layout_of(const NodeSpec& host, const GpuKind& gpu, const HostNics& nics) {
  NodeLayout layout = host.layout ? *host.layout : usual_layout(host, gpu, nics.fabric_ports, nics.rate);
  std::vector<NodeLayout::Nic> used;
  for (const int port : nics.used) used.push_back(layout.nics[static_cast<std::size_t>(port)]);
  layout.nics = std::move(used);
  return layout;
}

/// The wiring as NCCL sees it. NCCL does not know of a wrong binding and assumes that NIC n is close to GPU n.
NodeLayout believed_layout(NodeSpec host, const GpuKind& gpu, const HostNics& nics) {
  host.nics.numa = NicNuma::local;
  return layout_of(host, gpu, nics);
}

}  // namespace

std::string network_name(const NodeSpec& spec) {
  std::string name(name_of(spec.nics.link));
  // Google's A3 High has four NICs for eight GPUs and uses GPUDirect-TCPX. A3 Mega has eight and uses its successor
  // TCPXO.
  if (spec.nics.link == LinkKind::gpudirect_tcpx && spec.nics.count < spec.gpus) name += "_shared";
  return name;
}

Node build_node(const NodeSpec& host, const Hardware& hardware, int hosts, const NodeUse& use) {
  Node node;
  node.hosts = hosts;
  node.spec = host;
  NodeSpec& spec = node.spec;
  // NCCL sees the hosts of an NVLink domain as one node with all their GPUs, NICs and sockets.
  spec.gpus *= hosts;
  spec.nics.count *= hosts;
  spec.sockets *= hosts;
  spec.pcie_switches *= hosts;
  node.gpu = *gpu_called(hardware, spec.gpu).kind;
  check(spec, node.gpu);
  // Cards without NVLink on the board have the links of their bridge.
  if (node.gpu.nvlinks == 0 && (spec.intranode == Intranode::nvlink_pairs || spec.layout)) {
    node.gpu.nvlink = node.gpu.bridge_nvlink;
    node.gpu.nvlinks = node.gpu.bridge_nvlinks;
  }
  if (spec.peer_to_peer != PeerToPeer::automatic) node.gpu.peer_to_peer = spec.peer_to_peer == PeerToPeer::on;
  node.architecture = hardware.architecture(node.gpu.architecture);
  // Parameters are copied into the node, so a slow host or a delayed call changes this node alone.
  scale_clock(node.architecture, spec.clock.value);
  add_call_delay(node.architecture, spec.call_delay);
  node.software = hardware.software;
  node.network = hardware.network(network_name(spec));
  node.header_efficiency = hardware.link_type(spec.nics.link, spec.nics.rate).efficiency.value;

  scale_sockets(node, use.sockets);
  const HostNics nics = nics_of(host, use);
  node.nic_line_rate = nics.rate;
  // NICs of the domain in the order of its hosts. Ports that NCCL does not use stay on the fabric, idle.
  for (int h = 0; h < hosts; ++h)
    for (const int port : nics.used) node.port_of_nic.push_back(h * nics.fabric_ports + port);
  node.nics = static_cast<int>(node.port_of_nic.size());
  node.fabric_ports = hosts * nics.fabric_ports;
  // The graph has the binding that processes really have; the layout the one that NCCL assumes.
  node.graph = build_node_graph(repeat(layout_of(host, node.gpu, nics), hosts), node, hardware);
  node.layout = repeat(believed_layout(host, node.gpu, nics), hosts);
  node.direct_path = hardware.pcie_paths.find("peer")->second;
  node.staged_path = hardware.pcie_paths.find("host_memory")->second;
  find_peer_paths(node, use);
  return node;
}

std::vector<int> hosts_of(const Node& node, const std::vector<int>& gpus) {
  std::set<int> hosts;
  for (const int g : gpus) hosts.insert(g / (node.spec.gpus / node.hosts));
  return {hosts.begin(), hosts.end()};
}

Node restricted_to(const Node& whole, const std::vector<int>& gpus, const NodeUse& use) {
  Node node = whole;
  const std::vector<int> hosts = hosts_of(whole, gpus);
  const auto left = static_cast<int>(hosts.size());
  const int gpus_of_host = whole.spec.gpus / whole.hosts, ports_of_host = whole.fabric_ports / whole.hosts;
  // Number of a host among those that remain; `left` for one that does not.
  const auto place = [&](int host) {
    return static_cast<int>(std::find(hosts.begin(), hosts.end(), host) - hosts.begin());
  };
  std::vector<int> nics;
  node.port_of_nic.clear();
  for (int n = 0; n < whole.nics; ++n) {
    const int port = whole.port_of_nic[static_cast<std::size_t>(n)], host = place(port / ports_of_host);
    if (host == left) continue;
    nics.push_back(n);
    node.port_of_nic.push_back(host * ports_of_host + port % ports_of_host);
  }
  node.graph = whole.graph.restricted_to(gpus, nics);
  node.layout = restricted_to(whole.layout, gpus, nics);
  // GPUs keep their numbers within the remaining hosts.
  node.graph.installed = left * gpus_of_host;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    const int number = place(gpus[i] / gpus_of_host) * gpus_of_host + gpus[i] % gpus_of_host;
    node.graph.numbers[i] = node.layout.gpus[i].device = number;
  }
  // Counts of the spec cover all hosts, so they shrink with them.
  const auto share = [&](int& count) { count = count / whole.hosts * left; };
  share(node.spec.nics.count);
  share(node.spec.sockets);
  share(node.spec.pcie_switches);
  share(node.fabric_ports);
  node.hosts = left;
  node.nics = static_cast<int>(nics.size());
  node.spec.gpus = static_cast<int>(gpus.size());
  find_peer_paths(node, use);
  return node;
}

BytesPerSecond Node::nic_rate(bool gdr) const {
  return nic_line_rate *
         (header_efficiency * network.nic_efficiency.value * (gdr ? 1 : network.staged_efficiency.value));
}

const LinkType& Hardware::link_type(LinkKind kind, BytesPerSecond rate) const {
  // The type of the nearest rate on a logarithmic scale: a port of 200 Gb/s on a fabric of 400 has the values of its
  // own generation.
  const LinkType* best = nullptr;
  double distance = std::numeric_limits<double>::infinity();
  for (const auto& [name, type] : links) {
    if (type.kind != kind) continue;
    const double d = std::abs(std::log(type.rate.value / rate.value));
    if (d < distance) {
      best = &type;
      distance = d;
    }
  }
  FABRICAST_CHECK(best, "no link type of that kind");
  return *best;
}

}  // namespace fabricast
