// Kinds and classes of links, of the fabric and inside nodes.
//
// Rates are bytes per second in one direction, latencies seconds. A link of a graph is directed; a cable is two links
// of the same class. Links share a class where they have all properties in common, so a fabric of a million links has
// few.
//
// Plain values.
// Not modelled here: loss, buffers and priorities. A link has a rate and a latency.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

#include "fabricast/core/enum_names.hpp"
#include "fabricast/core/units.hpp"

namespace fabricast {

/// The technology of a link. Its hardware data give rates, efficiencies and latencies (models/hardware/data). Those of
/// networks come first, which `is_network` relies on.
enum class LinkKind {
  infiniband,        ///< NDR, HDR and older, through verbs
  roce,              ///< RDMA over Ethernet (RoCEv2), through verbs
  efa,               ///< Elastic Fabric Adapter of AWS, through NCCL's OFI plugin
  slingshot,         ///< HPE Slingshot, through NCCL's OFI plugin
  gpudirect_tcpx,    ///< GPUDirect-TCPX and its successor TCPXO of Google Cloud
  socket,            ///< TCP through the kernel, over Ethernet or IPoIB
  nvlink,            ///< between GPUs, directly or through NVSwitches
  pcie,              ///< between GPUs, NICs, PCIe switches and CPUs
  c2c,               ///< NVLink-C2C between a Grace CPU and its GPU
  cpu_interconnect,  ///< UPI, xGMI
  memory             ///< DRAM of a CPU socket
};

template <>
struct EnumNames<LinkKind> {
  static constexpr std::array<std::string_view, 11> names{
      "infiniband", "roce", "efa", "slingshot",        "gpudirect_tcpx", "socket",
      "nvlink",     "pcie", "c2c", "cpu_interconnect", "memory"};
};

/// Whether links of this kind connect nodes.
constexpr bool is_network(LinkKind kind) { return kind <= LinkKind::socket; }
/// The words of these kinds, which are the first ones of LinkKind.
inline constexpr std::span<const std::string_view> network_words{EnumNames<LinkKind>::names.data(),
                                                                 static_cast<std::size_t>(LinkKind::socket) + 1};

/// Properties that many links have in common.
struct LinkClass {
  LinkKind kind = LinkKind::infiniband;  ///< of a cable between switches: that of the NICs that it serves
  BytesPerSecond rate;                   ///< maximum payload rate of one direction: line rate times header efficiency
  Seconds latency;                       ///< of a transfer over the link: propagation, and the device that it enters
  friend bool operator==(const LinkClass&, const LinkClass&) = default;
};

/// Section `fabric.switch`: the switch that a topology is built from. All switches of a fabric are equal. The defaults
/// are those of a 64-port switch for 400 Gb/s.
struct SwitchSpec {
  int ports = 64;             ///< radix
  BytesPerSecond rate{50e9};  ///< line rate of a port, one direction
  Seconds latency{250e-9};    ///< latency from port to port, with FEC
};

/// Time of a signal in optical fiber, with a refractive index of 1.468 [FABRICS-2]: 4.9 ns per metre, one way. Copper
/// cables, which are a few metres long, are given the same time per metre.
constexpr Seconds propagation(Metres length) { return {length.value * 4.9e-9}; }

}  // namespace fabricast
