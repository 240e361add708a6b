// Whether RoCE loses packets under load: PFC and ECN on the priority of NCCL's packets.
//
// The priority of a packet follows from its traffic class: the upper 6 bits are the DSCP, which the port maps to one of
// 8 priorities. PFC pauses single priorities. If NCCL's packets are in another one, they are dropped under load
// although PFC is on. Switches must agree, which a host cannot see.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "checks.hpp"

namespace fabricast {

namespace {

constexpr const char* expected = "PFC on the priority of RoCE packets and trust dscp, as on the switches";

/// PFC as the kernel reports it; else from tool output for this interface; else from output that names no interface.
PriorityFlow flow_of(const HostFiles& host, const std::string& netdev) {
  if (const auto it = host.extras.flow.find(netdev); it != host.extras.flow.end() && it->second.pfc) return it->second;
  for (const std::string& name : {netdev, std::string()})
    if (const auto it = host.tools.flow.find(name); it != host.tools.flow.end() && it->second.pfc) return it->second;
  return {};
}

struct TrafficClass {
  int value = 0;
  std::string from;
};

/// A class set for the port ("Global tclass=106") applies to all queue pairs and overrides NCCL_IB_TC, whose default is
/// 0.
TrafficClass class_of(const HostFiles& host, const std::string& nic, int port) {
  const std::string forced = host.tree.line(fmt::format("sys/class/infiniband/{}/tc/{}/traffic_class", nic, port));
  if (const std::size_t at = forced.find("tclass="); at != std::string::npos)
    return {std::atoi(forced.c_str() + at + 7), "set for the port"};
  if (const SetVariable* v = host.variable("NCCL_IB_TC"))
    if (const long value = std::strtol(v->value.c_str(), nullptr, 0); value >= 0 && value < 256)
      return {static_cast<int>(value), "NCCL_IB_TC"};
  return {0, "NCCL_IB_TC is not set"};
}

std::string priorities(unsigned mask) {
  std::string text;
  for (int p = 0; p < 8; ++p)
    if (mask >> p & 1) text += fmt::format("{}{}", text.empty() ? "" : ", ", p);
  return text.empty() ? "none" : text;
}

/// State of ECN for a priority: "on" if the NIC reports marked packets (np) and slows down when notified (rp); empty if
/// unknown. Only NVIDIA's driver package has these files.
std::string ecn_of(const HostFiles& host, const std::string& netdev, int priority) {
  const std::string folder = "sys/class/net/" + netdev + "/ecn/";
  const std::string np = host.tree.line(fmt::format("{}roce_np/enable/{}", folder, priority));
  const std::string rp = host.tree.line(fmt::format("{}roce_rp/enable/{}", folder, priority));
  if (np.empty() && rp.empty()) return {};
  // Marking and reaction are separate: without either of them senders do not slow down.
  return np == "0" || rp == "0" ? "off" : "on";
}

Finding judged(const HostFiles& host, const std::string& subject, const std::string& netdev, const PriorityFlow& flow,
               const TrafficClass& klass) {
  // Without an entry for the DSCP, ports map its upper 3 bits.
  const int dscp = klass.value >> 2;
  const auto mapped = flow.priority_of_dscp.find(dscp);
  const int priority = mapped == flow.priority_of_dscp.end() ? dscp >> 3 : mapped->second;
  const std::string ecn = ecn_of(host, netdev, priority);
  const std::string is =
      fmt::format("PFC on priority {}; packets of class {} ({}) have priority {}{}", priorities(*flow.pfc), klass.value,
                  klass.from, flow.trust == "pcp" ? "0, because trust is pcp" : fmt::format("{}", priority),
                  ecn.empty() ? "" : fmt::format("; ECN {} for {}", ecn, priority));
  // With trust pcp the port reads the priority from the VLAN tag. RoCE packets of NCCL are untagged and get priority 0.
  const int counted = flow.trust == "pcp" ? 0 : priority;
  if (*flow.pfc >> counted & 1) return good(subject, is, expected, from::flow_control);
  Finding f{"", subject, FindingStatus::warning, is, expected, {}, {}, std::string(from::flow_control)};
  if (*flow.pfc == 0) {
    // Some fabrics run lossy RoCE with ECN on purpose, which the fix mentions. It is still a warning: no file of the
    // host states such a design.
    f.why = ecn == "on"
                ? "ECN slows senders only after the first marks, so bursts of collectives lose packets"
                : "switches drop RoCE packets under load, and NICs resend each lost packet and all that followed it";
    f.fix = fmt::format(
        "sudo mlnx_qos -i {} --pfc 0,0,0,1,0,0,0,0 --trust dscp, NCCL_IB_TC=106, and the same on the switches; "
        "no change on fabrics designed for lossy RoCE",
        netdev);
  } else {
    f.why = "PFC protects a priority other than that of NCCL's packets";
    f.fix = fmt::format(
        "NCCL_IB_TC={} on all ranks, if priority {} is lossless on the switches; show_gids and mlnx_qos -i {}",
        // Most fabrics map DSCP 26 (traffic class 104) to priority 3. For other priorities, the lowest DSCP is used.
        *flow.pfc >> 3 & 1 ? 106 : 32 * static_cast<int>(priorities(*flow.pfc)[0] - '0'), priorities(*flow.pfc),
        netdev);
  }
  return f;
}

}  // namespace

Findings check_flow_control(const HostFiles& host) {
  Findings found;
  for (const RdmaNic& nic : host.nics)
    for (const RdmaPort& port : nic.ports) {
      if (!port.active() || !port.ethernet() || !nic.pci) continue;
      const std::string subject = port_name(nic, port), netdev = port.netdev.empty() ? "NETDEV" : port.netdev;
      PriorityFlow flow = flow_of(host, netdev);
      // Only NVIDIA's driver package has this file.
      const std::string trust = host.tree.line("sys/class/net/" + netdev + "/qos/trust");
      if (flow.trust.empty()) flow.trust = trust;
      if (flow.pfc) {
        found.push_back(judged(host, subject, netdev, flow, class_of(host, nic.name, port.number)));
      } else {
        const std::string ecn = ecn_of(host, netdev, 3);
        std::string is = "PFC is not in sysfs";
        if (!trust.empty()) is += ", trust " + trust;
        if (!ecn.empty()) is += ", ECN " + ecn + " for priority 3";
        found.push_back({"", subject, FindingStatus::unknown, is, expected,
                         "without flow control RoCE loses packets under load, and retransmits everything after a loss",
                         fmt::format("sudo mlnx_qos -i {0}, or dcb pfc show dev {0}; ethtool -S {0} | grep -e pause -e "
                                     "discard",
                                     netdev),
                         std::string(from::flow_control)});
      }
      if (flow.trust == "pcp")
        found.push_back({"", subject, FindingStatus::note, "trust pcp", "trust dscp",
                         "all untagged packets then have one priority, and PFC on another does not protect them",
                         fmt::format("sudo mlnx_qos -i {} --trust dscp", netdev), std::string(from::flow_control)});
    }
  return found;
}

}  // namespace fabricast
