// Kinds and classes of links.
#pragma once

#include <array>
#include <string>

#include "fabricast/core/enum_names.hpp"
#include "fabricast/core/units.hpp"

namespace fabricast {

enum class LinkKind {
  infiniband,
  roce,
  efa,
  slingshot,
  gpudirect_tcpx,
  socket,  ///< TCP through the kernel, on whatever Ethernet or IPoIB there is
  nvlink,
  pcie,
  c2c,               ///< NVLink-C2C between a Grace CPU and its GPU
  cpu_interconnect,  ///< UPI, xGMI
  memory             ///< a socket's DRAM
};

template <>
struct EnumNames<LinkKind> {
  static constexpr std::array<std::string_view, 11> names{
      "infiniband", "roce", "efa", "slingshot",        "gpudirect_tcpx", "socket",
      "nvlink",     "pcie", "c2c", "cpu_interconnect", "memory"};
};

/// The kinds that join nodes.
constexpr bool is_network(LinkKind kind) { return kind <= LinkKind::socket; }

/// What many links have in common. `rate` is what the payload of one direction can reach: signalling rate times
/// header efficiency. `latency` is charged when a transfer crosses the link (propagation, and the device entered).
struct LinkClass {
  LinkKind kind = LinkKind::infiniband;
  BytesPerSecond rate;
  Seconds latency;
  friend bool operator==(const LinkClass&, const LinkClass&) = default;
};

/// What a topology is built from: the links' line rate and payload efficiency, and the switches they join.
struct SwitchSpec {
  int ports = 64;
  BytesPerSecond rate{50e9};  ///< line rate of a port, one direction
  Seconds latency{250e-9};    ///< port to port, including FEC
};

/// Light in fibre: n = 1.468 [FABRICS-2].
constexpr Seconds propagation(Metres length) { return {length.value * 4.9e-9}; }

}  // namespace fabricast
