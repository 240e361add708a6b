// What sysfs does not tell of RDMA ports.
#pragma once

#include <map>
#include <string>
#include <utility>

namespace fabricast {

/// Bytes that a packet of an active port carries, by device and port. Empty without libibverbs or RDMA devices; ports
/// that can not be asked are left out.
std::map<std::pair<std::string, int>, int> active_mtu_of_ports();

}  // namespace fabricast
