// A node: its section of the scenario, and the model that is built from this section and the hardware data.
//
// In NCCL's terms a *node* is an NVLink domain. It may consist of several *hosts*, as in NVL72. NodeSpec describes one
// host; Node describes the node, and its counts cover all hosts.
//
// A section becomes a Node in three steps: defaults by the kind of GPU or by a preset (default_node), the user's keys
// (visit_fields), and build_node, which copies into the node every parameter that it needs. So a node is complete: what
// changes the Hardware later does not reach it.
//
// A node has two views of the same wiring: `graph`, on which transfers run, with the rates of the hardware data, and
// `layout`, on which NCCL's search runs, with the bandwidths that NCCL assumes.
//
// Plain values and pure functions; safe to call concurrently. Layouts are the usual ones of each kind of machine
// (docs/models/node.md). What is unusual is given as an NCCL topology file.
// Not modelled: hosts of one job that differ; a slow part is a fault of the scenario instead.
#pragma once

#include <optional>
#include <vector>

#include "fabricast/core/error.hpp"
#include "fabricast/hardware/hardware.hpp"
#include "fabricast/hardware/layout.hpp"

namespace fabricast {

/// What connects the GPUs of a host.
enum class Intranode {
  nvswitch,      ///< all pairs at the full rate of a GPU's NVLinks
  nvlink_mesh,   ///< NVLinks from GPU to GPU without a switch, as on boards of four or eight
  nvlink_pairs,  ///< bridges between neighbouring cards 0-1, 2-3 and so on; PCIe between the pairs
  pcie,          ///< PCIe alone
  none           ///< a single GPU
};
template <>
struct EnumNames<Intranode> {
  static constexpr std::array<std::string_view, 5> names{"nvswitch", "nvlink_mesh", "nvlink_pairs", "pcie", "none"};
};
template <>
struct EnumNames<CpuVendor> {
  static constexpr std::array<std::string_view, 3> names{"intel", "amd", "arm"};
};
/// GPUDirect RDMA; automatic: by NCCL's rule, from the distance between GPU and NIC.
enum class Gdr { automatic, on, off };
template <>
struct EnumNames<Gdr> {
  static constexpr std::array<std::string_view, 3> names{"auto", "true", "false"};
};
/// Whether GPUs write to each other over PCIe; automatic: as the usual driver of the GPU allows.
enum class PeerToPeer { automatic, on, off };
template <>
struct EnumNames<PeerToPeer> {
  static constexpr std::array<std::string_view, 3> names{"auto", "true", "false"};
};
/// Whether GPUs use the NICs of their own CPU socket, or, because of a wrong binding, those of the other.
enum class NicNuma { local, remote };
template <>
struct EnumNames<NicNuma> {
  static constexpr std::array<std::string_view, 2> names{"local", "remote"};
};

/// Section `node.nics`. All NICs of a node are alike.
struct NicSpec {
  int count = 0;                         ///< ports of a host that connect to the fabric
  BytesPerSecond rate{50e9};             ///< line rate of a port, one direction
  LinkKind link = LinkKind::infiniband;  ///< a network (is_network)
  NicNuma numa = NicNuma::local;
  Seconds delay;  ///< added to each hop over the network
};

/// Section `node`: one host.
struct NodeSpec {
  std::string profile;               ///< name of the preset; empty: none
  std::string gpu = "h100-sxm";      ///< key of Hardware::gpus
  std::string topology;              ///< path of an NCCL topology file; empty: none
  std::optional<NodeLayout> layout;  ///< contents of that file
  Bytes memory;                      ///< per GPU, as the next two
  BytesPerSecond memory_rate;        ///< reads and writes together
  Watts power;                       ///< power limit; may differ from the data sheet
  int gpus = 8;                      ///< of one host
  Intranode intranode = Intranode::nvswitch;
  NicSpec nics;
  Gdr gdr = Gdr::automatic;
  PeerToPeer peer_to_peer = PeerToPeer::automatic;
  CpuVendor cpu = CpuVendor::intel;
  int sockets = 2;
  int pcie_switches = 0;  ///< that GPUs and NICs share; 0: they have root ports of the sockets
  bool acs = false;       ///< PCIe switches route traffic between their devices through the root complex
  Ratio clock{1};         ///< of the GPUs, relative to the usual clock
  Seconds call_delay;     ///< host time added to each call
};
/// The keys of the sections with their limits (core/fields.hpp).
void visit_fields(FieldVisitor& visit, NicSpec& spec);
void visit_fields(FieldVisitor& visit, NodeSpec& spec);
/// The parts of the section: what decides the defaults; one GPU; GPUs and NICs; and what depends on their numbers. A
/// reader visits them one by one and sets the defaults of the next part in between.
void visit_kind(FieldVisitor& visit, NodeSpec& spec);
void visit_gpu(FieldVisitor& visit, NodeSpec& spec);
void visit_devices(FieldVisitor& visit, NodeSpec& spec);
void visit_host(FieldVisitor& visit, NodeSpec& spec);

/// Defaults of all fields for a kind of GPU and a preset. Either may be empty; without both it is a host of eight H100.
/// If the GPU is not that of the preset, it is another machine: only the name of the preset is kept. The default
/// network is InfiniBand with one NIC per GPU, at the rate that is usual for the GPU's generation.
/// \throws UserError (path node.gpu or node.profile) if the name is unknown.
NodeSpec default_node(const Hardware& hardware, std::string_view gpu, std::string_view preset);

/// Number of PCIe switches of the usual node with the GPUs and NICs of `spec`, which holds the default of its kind of
/// GPU. With at most one NIC for two GPUs, two GPUs share a switch (guess).
int usual_switches(const NodeSpec& spec, const Hardware& hardware);

/// The kinds of GPU that match a topology file: those with exactly the NVLinks of its first GPU if there are any, else
/// all that are possible. Kinds that a file cannot tell from a more usual one are left out.
std::vector<std::string_view> fitting_gpus(const Hardware& hardware, const NodeLayout& layout);
/// Overrides a spec by the contents of a topology file: numbers, rates and wiring, but not the kind of network, which
/// the file does not state.
void lay_topology_over(NodeSpec& spec, NodeLayout layout);
/// Keys of a spec that contradict its topology file, as errors with paths below `node`. Empty without a file.
std::vector<Diagnostic> contradictions(const NodeSpec& spec, const Hardware& hardware);

/// How two GPUs of a host reach each other.
enum class PeerPath : std::uint8_t {
  nvlink,          ///< directly or through an NVSwitch
  nvlink_by_peer,  ///< two NVLinks through a third GPU
  pcie,            ///< the sender writes to the receiver's memory; the driver must allow it
  host_memory      ///< through a buffer in host memory
};

/// The maximum distance at which GPUs access each other directly. Beyond it they use host memory.
struct PeerLevels {
  PathType of_two = PathType::PXB;  ///< if a communicator has at most two GPUs of the host
  PathType of_more = PathType::PXB;
};
/// NCCL's rule since 2.23 [NCCL-paths]: up to PXB; any distance between the two GPUs of an AMD host, whose root ports
/// forward such traffic at full rate.
PeerLevels usual_peer_levels(CpuVendor cpu);

/// Restrictions of a node by NCCL's variables. A default one restricts nothing.
struct NodeUse {
  std::vector<int> ports;                 ///< NIC ports in use, ascending; empty: all
  bool merge_ports = true;                ///< whether ports of one card form one NIC
  std::optional<PeerLevels> peer_levels;  ///< absent: usual_peer_levels
  int sockets = 1;                        ///< TCP sockets per connection
};

/// A node with all numbers resolved. A plain value.
struct Node {
  NodeSpec spec;
  GpuKind gpu;
  Architecture architecture;
  PciePath direct_path, staged_path;  ///< between GPUs over PCIe: peer to peer, and through host memory
  Network network;
  Software software;
  NodeGraph graph;               ///< with the binding that processes really have; `layout` has the one NCCL assumes
  NodeLayout layout;             ///< the wiring as NCCL sees it, with NCCL's bandwidths
  int hosts = 1;                 ///< hosts that share the NVSwitch; `spec` counts the devices of all of them
  int parts = 1;                 ///< parts of a host that only the network connects; this node is the first of them
  int nics = 0;                  ///< as NCCL counts them: ports of one card, and EFA devices of one GPU, are one NIC
  int fabric_ports = 0;          ///< NICs including those that NCCL_IB_HCA excludes
  std::vector<int> port_of_nic;  ///< index of each NIC among the fabric's ports
  BytesPerSecond nic_line_rate;  ///< of a NIC as NCCL counts them
  double header_efficiency = 1;  ///< payload fraction of the line rate, from the link type of nearest rate
  bool nvlink = false;           ///< at least some pairs of GPUs use NVLink
  bool all_nvlink = false;       ///< all pairs of GPUs use NVLink
  bool peer_to_peer = false;     ///< no NVLink, and all pairs write directly over PCIe
  std::vector<PeerPath> peer_paths;  ///< [from * GPUs + to]; empty: NVLink for all

  /// How GPU `from` reaches GPU `to`, by their indices in this node.
  PeerPath route(int from, int to) const {
    return peer_paths.empty() ? PeerPath::nvlink : peer_paths[static_cast<std::size_t>(from * spec.gpus + to)];
  }
  /// Parameters of a path over PCIe or through host memory.
  const PciePath& pcie_path(PeerPath route) const { return route == PeerPath::pcie ? direct_path : staged_path; }

  /// Payload rate of a NIC as NCCL counts them: line rate x header efficiency x efficiency of the NIC, and without
  /// GPUDirect RDMA x that of staging. \param gdr  whether it uses GPUDirect RDMA
  BytesPerSecond nic_rate(bool gdr) const;
};

/// Name of the node's kind of network in the hardware data. GPUDirect-TCPX has a second one for GPUs that share NICs.
std::string network_name(const NodeSpec& spec);

/// Builds a node. \param host  one host  \param hosts  number of such hosts in the NVLink domain  \param use  of each
/// host
/// Sockets scale the rate of a TCP connection, by a rule that was fitted at 200 Gb/s [NCCL-sockets].
/// \throws UserError (paths node.* and nccl.env.NCCL_IB_HCA) if the properties are inconsistent, such as NVLink on a
///         GPU that has none
/// \pre the names of the spec exist in `hardware`, except that of the GPU, which is checked
Node build_node(const NodeSpec& host, const Hardware& hardware, int hosts = 1, const NodeUse& use = {});

/// The node as a communicator of some of its GPUs sees it, in the order given. NICs stay. Hosts of the NVLink domain
/// without any of these GPUs are removed with their NICs. Links of the graph keep their numbers and names.
/// \param use  the one that the node was built with
Node restricted_to(const Node& whole, const std::vector<int>& gpus, const NodeUse& use = {});
/// The hosts of the NVLink domain that hold these GPUs, ascending. GPUs are numbered host by host.
std::vector<int> hosts_of(const Node& node, const std::vector<int>& gpus);

}  // namespace fabricast
