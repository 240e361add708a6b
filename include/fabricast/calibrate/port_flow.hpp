// Priority flow control of this host's network interfaces, as the kernel tells it by netlink (DCB, IEEE 802.1Qaz).
// Read-only: one request per interface, nothing is set. Drivers without DCB, and kernels without it, tell nothing.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fabricast/calibrate/doctor.hpp"

namespace fabricast {

/// The message that asks for the IEEE attributes of an interface.
std::string dcb_request(std::string_view netdev);
/// What an answer says of PFC, and of DSCP's priorities; nothing if it is another message, or damaged.
std::optional<PriorityFlow> dcb_answer(std::string_view bytes);

/// Sends a request, and waits for its answer; empty: there is none.
using DcbExchange = std::string (*)(const std::string& request);
/// That of the kernel, over a socket of its own, for a second at most.
std::string ask_kernel(const std::string& request);

/// Of these interfaces those that answer.
std::map<std::string, PriorityFlow> flow_of_ports(const std::vector<std::string>& netdevs,
                                                  DcbExchange ask = ask_kernel);
/// The interfaces of this host that are devices and not made by software.
std::vector<std::string> hardware_netdevs();

}  // namespace fabricast
