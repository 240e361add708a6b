// Priority flow control (PFC) of this host's network interfaces, as the kernel reports it by netlink (DCB, IEEE
// 802.1Qaz, [Linux-dcbnl]).
//
// Read-only: one request per interface, and nothing is set. There is no answer from drivers or kernels without DCB, and
// none about other hosts. The functions keep no state and may run concurrently.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fabricast/calibrate/doctor.hpp"

namespace fabricast {

/// The netlink message that requests the IEEE attributes of an interface.
std::string dcb_request(std::string_view netdev);
/// PFC and the mapping of DSCPs in an answer; empty if it is another message, damaged, or without PFC.
std::optional<PriorityFlow> dcb_answer(std::string_view bytes);

/// Sends a request and returns the answer, or an empty string if there is none. Tests replace it.
using DcbExchange = std::string (*)(const std::string& request);
/// Asks the kernel over a new netlink socket, and waits for the answer for one second at most.
std::string ask_kernel(const std::string& request);

/// PFC of each interface that answers.
std::map<std::string, PriorityFlow> flow_of_ports(const std::vector<std::string>& netdevs,
                                                  DcbExchange ask = ask_kernel);
/// Names of this host's interfaces that are hardware devices, sorted; software interfaces such as bridges are left out.
std::vector<std::string> hardware_netdevs();

}  // namespace fabricast
