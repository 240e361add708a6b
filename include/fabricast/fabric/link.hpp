// Kinds and classes of links, of the fabric and inside nodes.
//
// Rates are bytes per second in one direction, latencies seconds. Plain values.
#pragma once

#include <array>
#include <string>

#include "fabricast/core/enum_names.hpp"
#include "fabricast/core/units.hpp"

namespace fabricast {

/// The technology of a link. Its hardware data give rates, efficiencies and latencies.
enum class LinkKind {
  infiniband,
  roce,
  efa,
  slingshot,
  gpudirect_tcpx,
  socket,  ///< TCP through the kernel, over Ethernet or IPoIB
  nvlink,
  pcie,
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

/// Properties that many links have in common.
struct LinkClass {
  LinkKind kind = LinkKind::infiniband;
  BytesPerSecond rate;  ///< maximum payload rate of one direction: line rate times header efficiency
  Seconds latency;      ///< of a transfer over the link: propagation, and the device that it enters
  friend bool operator==(const LinkClass&, const LinkClass&) = default;
};

/// Section `fabric.switch`: the switch that a topology is built from.
struct SwitchSpec {
  int ports = 64;             ///< radix
  BytesPerSecond rate{50e9};  ///< line rate of a port, one direction
  Seconds latency{250e-9};    ///< from port to port, with FEC
};

/// Time of a signal in optical fiber, with a refractive index of 1.468 [FABRICS-2].
constexpr Seconds propagation(Metres length) { return {length.value * 4.9e-9}; }

}  // namespace fabricast
