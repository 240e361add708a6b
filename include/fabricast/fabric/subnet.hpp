// Addresses of an InfiniBand fabric, as its subnet manager assigns them. Forwarding tables are written in terms of them
// (routing/forwarding.hpp).
//
// Only fabrics read from a file have addresses, and only if the file states them (docs/imports.md). Plain values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fabricast {

/// The address of a NIC port or switch.
struct SubnetAddress {
  int lid = 0;       ///< local identifier; 0: not stated
  int lmc = 0;       ///< LID mask control: the port answers to 2^lmc LIDs, starting at `lid` [IBTA-spec]
  std::string guid;  ///< for switches, 16 hexadecimal digits; empty: not stated
};

/// The addresses of all vertices of a Fabric and the port numbers of its links.
struct Subnet {
  std::vector<SubnetAddress> of_vertex;
  std::vector<std::uint8_t> port_of_link;  ///< port by which a link leaves its switch; 0: not stated, or a NIC port
};

}  // namespace fabricast
