// The active MTU of RDMA ports, which sysfs does not contain. It is queried through libibverbs.
#pragma once

#include <map>
#include <string>
#include <utility>

namespace fabricast {

/// Payload of a packet in bytes (256 to 4096) for each active port of this host, by device and port number. Empty if
/// Fabricast was built without libibverbs or the host has no RDMA devices. Devices and ports that cannot be opened or
/// queried are left out. Keeps no state.
std::map<std::pair<std::string, int>, int> active_mtu_of_ports();

}  // namespace fabricast
