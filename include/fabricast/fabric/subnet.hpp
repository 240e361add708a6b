// What an InfiniBand subnet manager calls the parts of a fabric: the addresses that forwarding tables are made of.
//
// Only fabrics read from a file have it, and only if the file tells it (see docs/imports.md).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fabricast {

/// A port with LMC m answers to 2^m LIDs from `lid` on [IBTA-spec].
struct SubnetAddress {
  int lid = 0;  ///< 0: not told
  int lmc = 0;
  std::string guid;  ///< 16 hexadecimal digits, of switches; empty: not told
};

struct Subnet {
  std::vector<SubnetAddress> of_vertex;
  std::vector<std::uint8_t> port_of_link;  ///< number of the port that a link leaves by; 0: not told, or a NIC's
};

}  // namespace fabricast
