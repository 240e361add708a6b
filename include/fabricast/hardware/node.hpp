// One node: what the scenario says of it, and the model built from that and the hardware data.
#pragma once

#include <optional>
#include <vector>

#include "fabricast/core/error.hpp"
#include "fabricast/hardware/hardware.hpp"
#include "fabricast/hardware/layout.hpp"

namespace fabricast {

enum class Intranode { nvswitch, nvlink_mesh, nvlink_pairs, pcie, none };
template <>
struct EnumNames<Intranode> {
  static constexpr std::array<std::string_view, 5> names{"nvswitch", "nvlink_mesh", "nvlink_pairs", "pcie", "none"};
};
template <>
struct EnumNames<CpuVendor> {
  static constexpr std::array<std::string_view, 3> names{"intel", "amd", "arm"};
};
/// GPUDirect RDMA: decided by NCCL's rule from the distance of GPU and NIC, or given.
enum class Gdr { automatic, on, off };
template <>
struct EnumNames<Gdr> {
  static constexpr std::array<std::string_view, 3> names{"auto", "true", "false"};
};
/// Whether GPUs write to each other over PCIe: as the kind of GPU comes with its usual driver, or given.
enum class PeerToPeer { automatic, on, off };
template <>
struct EnumNames<PeerToPeer> {
  static constexpr std::array<std::string_view, 3> names{"auto", "true", "false"};
};
/// Whether GPUs use the NICs of their own CPU socket, or by a wrong binding those of the other.
enum class NicNuma { local, remote };
template <>
struct EnumNames<NicNuma> {
  static constexpr std::array<std::string_view, 2> names{"local", "remote"};
};

struct NicSpec {
  int count = 0;
  BytesPerSecond rate{50e9};
  LinkKind link = LinkKind::infiniband;
  NicNuma numa = NicNuma::local;
  Seconds delay;  ///< that each hop over the network takes beyond the usual
};

struct NodeSpec {
  std::string profile;
  std::string gpu = "h100-sxm";
  std::string topology;              ///< path of a NCCL topology file; empty: none
  std::optional<NodeLayout> layout;  ///< what stands in it
  Bytes memory;                      ///< of a GPU, as the next two: the same chip is sold with more or less
  BytesPerSecond memory_rate;
  Watts power;  ///< limit, above or below that of the data sheet
  int gpus = 8;
  Intranode intranode = Intranode::nvswitch;
  NicSpec nics;
  Gdr gdr = Gdr::automatic;
  PeerToPeer peer_to_peer = PeerToPeer::automatic;
  CpuVendor cpu = CpuVendor::intel;
  int sockets = 2;
  int pcie_switches = 0;
  bool acs = false;    ///< PCIe switches send what comes from below up to the root complex, whoever it is for
  Ratio clock{1};      ///< of the GPUs, relative to the usual one
  Seconds call_delay;  ///< that the host takes for each call beyond the usual
};
void visit_fields(FieldVisitor& visit, NicSpec& spec);
void visit_fields(FieldVisitor& visit, NodeSpec& spec);
/// The parts of it: what decides the defaults, a GPU, GPUs and NICs, and what their number suggests.
void visit_kind(FieldVisitor& visit, NodeSpec& spec);
void visit_gpu(FieldVisitor& visit, NodeSpec& spec);
void visit_devices(FieldVisitor& visit, NodeSpec& spec);
void visit_host(FieldVisitor& visit, NodeSpec& spec);

/// Defaults of every field given the GPU kind and, if not empty, a preset.
/// \throws UserError (path node.gpu or node.profile) if the name is unknown.
NodeSpec default_node(const Hardware& hardware, std::string_view gpu, std::string_view preset);

/// PCIe switches of the usual node with as many GPUs and NICs, where `spec` has those of its kind of GPU.
int usual_switches(const NodeSpec& spec, const Hardware& hardware);

/// The kinds of GPUs that may be the ones of a topology file.
std::vector<std::string_view> fitting_gpus(const Hardware& hardware, const NodeLayout& layout);
/// Lays what a topology file says over a spec.
void lay_topology_over(NodeSpec& spec, NodeLayout layout);
/// What a spec says otherwise than its topology file.
std::vector<Diagnostic> contradictions(const NodeSpec& spec, const Hardware& hardware);

/// How two GPUs of a host reach each other: over NVLink, over two NVLinks and a GPU between them, over PCIe, or by a buffer
/// in host memory.
enum class PeerPath : std::uint8_t { nvlink, nvlink_by_peer, pcie, host_memory };

/// The longest way on which GPUs access each other directly; beyond, they meet in host memory.
struct PeerLevels {
  PathType of_two = PathType::PXB;  ///< where a communicator has no more than two GPUs of the host
  PathType of_more = PathType::PXB;
};
/// NCCL's rule since 2.23 [NCCL-paths].
PeerLevels usual_peer_levels(CpuVendor cpu);

/// What NCCL's variables leave of a node.
struct NodeUse {
  std::vector<int> ports;                 ///< NIC ports in use, rising; empty: all
  bool merge_ports = true;                ///< whether ports of one card are one NIC
  std::optional<PeerLevels> peer_levels;  ///< absent: the usual ones
  int sockets = 1;                        ///< TCP sockets of a connection
};

/// A node with all its numbers resolved; a plain value.
struct Node {
  NodeSpec spec;
  GpuKind gpu;
  Architecture architecture;
  PciePath direct_path, staged_path;  ///< of GPUs over PCIe: peer to peer, and through host memory
  Network network;
  Software software;
  NodeGraph graph;
  NodeLayout layout;             ///< the same wiring in NCCL's numbers, as NCCL believes it to be
  int hosts = 1;                 ///< that share the NVSwitch; `spec` counts what all of them hold
  int parts = 1;                 ///< of a host that reach each other over the network alone: this is the first of them
  int nics = 0;                  ///< as NCCL sees them: ports of one card, and EFA rails of one GPU, are one
  int fabric_ports = 0;          ///< NICs, with those that NCCL_IB_HCA leaves out
  std::vector<int> port_of_nic;  ///< place of each NIC among the fabric's ports
  BytesPerSecond nic_line_rate;  ///< of such a NIC
  double header_efficiency = 1;
  bool nvlink = false;             ///< GPUs exchange data over NVLink, at least some
  bool all_nvlink = false;         ///< every two of them are neighbours there
  bool peer_to_peer = false;       ///< over PCIe, all pairs: directly, not through host memory
  std::vector<PeerPath> peer_paths;  ///< [from * GPUs + to]; empty: NVLink for all

  PeerPath route(int from, int to) const {
    return peer_paths.empty() ? PeerPath::nvlink : peer_paths[static_cast<std::size_t>(from * spec.gpus + to)];
  }
  /// Of a way over PCIe.
  const PciePath& pcie_path(PeerPath route) const { return route == PeerPath::pcie ? direct_path : staged_path; }

  /// Rate of a NIC on the wire for payload.
  BytesPerSecond nic_rate(bool gdr) const;
};

/// The name of a node's kind of network in the hardware data: GPUDirect-TCPX differs where GPUs share NICs.
std::string network_name(const NodeSpec& spec);

/// \param host one host; \param hosts as many of it in one NVLink domain; \param use of each of them
/// \throws UserError if the parts do not fit together.
Node build_node(const NodeSpec& host, const Hardware& hardware, int hosts = 1, const NodeUse& use = {});

/// The node as a communicator of some of its GPUs finds it, in the order given. NICs stay; of several hosts that share
/// the NVSwitch, those without such a GPU go with their NICs. Links of the graph keep their numbers and names.
/// \param use  as the node was built with
Node restricted_to(const Node& whole, const std::vector<int>& gpus, const NodeUse& use = {});
/// The hosts that hold such GPUs, rising.
std::vector<int> hosts_of(const Node& node, const std::vector<int>& gpus);

}  // namespace fabricast
