// Whether the interrupts of a NIC are handled on CPUs near it.
//
// RDMA bypasses the kernel, so data cause no interrupts; sockets and the completion events of connections do. The
// finding is a warning only where sockets carry the data.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "checks.hpp"
#include "netdevs.hpp"

namespace fabricast {

namespace {

constexpr int most_cpus = 1 << 16;

/// The CPUs of a list such as "0-3,8,10-11"; empty if it is malformed.
std::set<int> cpus_of(const std::string& list) {
  std::set<int> cpus;
  for (const std::string& part : split(list, ',')) {
    char* end = nullptr;
    const long first = std::strtol(part.c_str(), &end, 10);
    if (end == part.c_str()) return {};
    const long last = *end == '-' ? std::strtol(end + 1, nullptr, 10) : first;
    // Bounds what a damaged file can make this loop do.
    if (first < 0 || last < first || last >= most_cpus) return {};
    for (long cpu = first; cpu <= last; ++cpu) cpus.insert(static_cast<int>(cpu));
  }
  return cpus;
}

bool meet(const std::set<int>& a, const std::set<int>& b) {
  return std::any_of(a.begin(), a.end(), [&](int cpu) { return b.contains(cpu); });
}

/// Whether irqbalance, the daemon that moves interrupts, runs or starts with the host.
std::string irqbalance(const Tree& tree) {
  for (const std::string& name : tree.names("proc"))
    if (name.find_first_not_of("0123456789") == std::string::npos &&
        tree.line("proc/" + name + "/comm") == "irqbalance")
      return "irqbalance is running";
  return tree.has("etc/systemd/system/multi-user.target.wants/irqbalance.service") ? "irqbalance starts with the host"
                                                                                   : "irqbalance was not found";
}

struct Card {
  std::string name, address, netdev;
  int numa = -1;
};

/// RDMA devices, and fast interfaces of other PCI functions; one entry per PCI function.
std::vector<Card> cards(const HostFiles& host) {
  std::vector<Card> list;
  std::set<std::string> seen;
  const auto add = [&](const Card& card) {
    // An RDMA device and its network interface are one PCI function.
    if (seen.insert(card.address).second) list.push_back(card);
  };
  for (const RdmaNic& nic : host.nics)
    if (nic.pci) add({nic.name, nic.pci->address, nic.ports.empty() ? "" : nic.ports.front().netdev, nic.pci->numa});
  for (const Netdev& netdev : fast_netdevs(host)) {
    const std::string device = host.tree.target("sys/class/net/" + netdev.name + "/device");
    if (!device.empty())
      add({netdev.name, device.substr(device.find_last_of('/') + 1), netdev.name,
           static_cast<int>(host.tree.number(device + "/numa_node").value_or(-1))});
  }
  return list;
}

}  // namespace

Findings check_irq_affinity(const HostFiles& host) {
  // With one NUMA node every CPU is near.
  if (host.numa_nodes < 2) return {};
  Findings found;
  const std::string balancer = irqbalance(host.tree);
  for (const Card& card : cards(host)) {
    if (card.numa < 0) continue;
    const std::set<int> near =
        cpus_of(host.tree.line(fmt::format("sys/devices/system/node/node{}/cpulist", card.numa)));
    int all = 0, far = 0;
    for (const std::string& irq : host.tree.names("sys/bus/pci/devices/" + card.address + "/msi_irqs")) {
      // The effective list is where interrupts go; the other one is where they may go.
      const std::string folder = "proc/irq/" + irq;
      std::string list = host.tree.line(folder + "/effective_affinity_list");
      if (list.empty()) list = host.tree.line(folder + "/smp_affinity_list");
      const std::set<int> cpus = cpus_of(list);
      if (cpus.empty()) continue;
      ++all;
      // An interrupt that may go to near and far CPUs counts as near.
      if (!meet(cpus, near)) ++far;
    }
    if (all == 0 || near.empty()) continue;
    const std::string subject = fmt::format("{} ({})", card.name, card.address);
    const std::string expected = fmt::format("interrupts on CPUs of NUMA node {}", card.numa);
    if (far == 0) {
      found.push_back(good(subject, fmt::format("{} of {} there", all, all), expected, from::irq_affinity));
      continue;
    }
    found.push_back(
        {"", subject, sockets_carry_data(host) ? FindingStatus::warning : FindingStatus::note,
         fmt::format("{} of {} on CPUs of other NUMA nodes; {}", far, all, balancer), expected,
         "socket packets and RDMA events are handled across the link between CPU sockets; RDMA data need no "
         "interrupts",
         fmt::format("sudo systemctl disable --now irqbalance; sudo set_irq_affinity_bynode.sh {} {}", card.numa,
                     card.netdev.empty() ? card.name : card.netdev),
         std::string(from::irq_affinity)});
  }
  return found;
}

}  // namespace fabricast
