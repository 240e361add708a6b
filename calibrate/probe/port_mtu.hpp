// The active MTU of RDMA ports through a table of calls.
#pragma once

#include "fabricast/calibrate/port_mtu.hpp"
#include "verbs_calls.hpp"

namespace fabricast {

/// Like `active_mtu_of_ports()`, with calls that a test can replace.
std::map<std::pair<std::string, int>, int> active_mtu_of_ports(const VerbsCalls& verbs);

}  // namespace fabricast
