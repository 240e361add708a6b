// The active MTU of RDMA ports, which sysfs does not contain. Asks libibverbs, which is loaded at run time.
#pragma once

#include <map>
#include <string>
#include <utility>

namespace fabricast {

/// Payload of a packet in bytes (256 to 4096) of each active port of this host, by device and port. Empty without
/// libibverbs or RDMA devices. Devices that cannot be opened or queried are left out.
std::map<std::pair<std::string, int>, int> active_mtu_of_ports();

}  // namespace fabricast
