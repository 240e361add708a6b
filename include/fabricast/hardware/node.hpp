// One node: what the scenario says of it, and the model built from that and the hardware data.
#pragma once

#include <optional>
#include <vector>

#include "fabricast/hardware/hardware.hpp"

namespace fabricast {

enum class Intranode { nvswitch, nvlink_mesh, pcie, none };
template <>
struct EnumNames<Intranode> {
  static constexpr std::array<std::string_view, 4> names{"nvswitch", "nvlink_mesh", "pcie", "none"};
};
enum class CpuVendor { intel, amd, arm };
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
};

struct NodeSpec {
  std::string profile;
  std::string gpu = "h100-sxm";
  int gpus = 8;
  Intranode intranode = Intranode::nvswitch;
  NicSpec nics;
  Gdr gdr = Gdr::automatic;
  CpuVendor cpu = CpuVendor::intel;
  int sockets = 2;
  int pcie_switches = 0;
};
void visit_fields(FieldVisitor& visit, NicSpec& spec);
void visit_fields(FieldVisitor& visit, NodeSpec& spec);
/// The two halves of it: what decides the defaults, and the rest.
void visit_kind(FieldVisitor& visit, NodeSpec& spec);
void visit_rest(FieldVisitor& visit, NodeSpec& spec);

/// Defaults of every field given the GPU kind and, if not empty, a preset.
/// \throws UserError (path node.gpu or node.profile) if the name is unknown.
NodeSpec default_node(const Hardware& hardware, std::string_view gpu, std::string_view preset);

/// What NCCL's variables leave of a node.
struct NodeUse {
  std::vector<int> ports;              ///< NIC ports in use, rising; empty: all
  bool merge_ports = true;             ///< whether ports of one card are one NIC
  std::optional<PathType> peer_level;  ///< longest way of peer to peer; absent: NCCL's rule
  int sockets = 1;                     ///< TCP sockets of a connection
};

/// A node with all its numbers resolved; a plain value.
struct Node {
  NodeSpec spec;
  GpuKind gpu;
  Architecture architecture;
  PciePath pcie_path;
  Network network;
  Software software;
  NodeGraph graph;
  int nics = 0;                  ///< as NCCL sees them: ports of one card, and EFA rails of one GPU, are one
  int fabric_ports = 0;          ///< NICs, with those that NCCL_IB_HCA leaves out
  std::vector<int> port_of_nic;  ///< place of each NIC among the fabric's ports
  BytesPerSecond nic_line_rate;  ///< of such a NIC
  double header_efficiency = 1;
  bool nvlink = false;        ///< GPUs exchange data over NVLink
  bool peer_to_peer = false;  ///< over PCIe: directly, not through host memory

  /// Rate of a NIC on the wire for payload.
  BytesPerSecond nic_rate(bool gdr) const;
};

/// \throws UserError if the parts do not fit together.
/// The name of a node's kind of network in the hardware data: GPUDirect-TCPX differs where GPUs share NICs.
std::string network_name(const NodeSpec& spec);

Node build_node(const NodeSpec& spec, const Hardware& hardware, const NodeUse& use = {});

}  // namespace fabricast
