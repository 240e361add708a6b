// Ports of RDMA devices: state, rate, MTU, GIDs.
//
// Ports are compared with others of the same host, because sysfs does not state what a port should reach. A finding is
// milder for a NIC that serves no GPU: such NICs often belong to storage or management and may be unused.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "checks.hpp"

namespace fabricast {

namespace {

/// Whether some port of the same card is up. Ports may be PCI functions of their own.
bool neighbour_is_up(const HostFiles& host, const RdmaNic& nic) {
  if (nic.active()) return true;
  if (!nic.pci) return false;
  const auto slot = [](const PciDevice& d) { return d.address.substr(0, d.address.find_last_of('.')); };
  return std::any_of(host.nics.begin(), host.nics.end(),
                     [&](const RdmaNic& n) { return n.pci && n.active() && slot(*n.pci) == slot(*nic.pci); });
}

/// Whether another NIC of the same model serves a GPU.
bool like_a_paired_one(const HostFiles& host, const RdmaNic& nic) {
  return std::any_of(host.nics.begin(), host.nics.end(),
                     [&](const RdmaNic& n) { return n.name != nic.name && host.paired(n) && n.kind() == nic.kind(); });
}

template <class F>
void for_active_ports(const HostFiles& host, F f) {
  for (const RdmaNic& nic : host.nics)
    for (const RdmaPort& port : nic.ports)
      if (port.active()) f(nic, port);
}

std::string netdev_mtu_file(const RdmaPort& port) { return "sys/class/net/" + port.netdev + "/mtu"; }

/// Payload of a RoCE packet in bytes. Linux deducts 96 bytes for the longest headers and takes the next lower MTU of
/// the standard [Linux-iboe-mtu].
int roce_mtu(double netdev_mtu) {
  for (const int mtu : {4096, 2048, 1024, 512})
    if (netdev_mtu - 96 >= mtu) return mtu;
  return 256;
}

}  // namespace

Findings check_link_state(const HostFiles& host) {
  Findings found;
  const bool none = std::none_of(host.nics.begin(), host.nics.end(), [](const RdmaNic& n) { return n.active(); });
  for (const RdmaNic& nic : host.nics)
    for (const RdmaPort& port : nic.ports) {
      const std::string subject = port_name(nic, port), expected = "ACTIVE";
      const std::string text = fmt::format("{}{}", port.state.empty() ? "state unknown" : port.state,
                                           port.physical.empty() ? "" : " (" + port.physical + ")");
      if (port.active()) {
        found.push_back(good(subject, text, expected, from::network_guide));
        continue;
      }
      Finding f{"",
                subject,
                FindingStatus::note,
                text,
                expected,
                "nothing is sent over this port",
                fmt::format("ibstat {}; {}check cable, module and switch port: sudo mlxlink -d {} -m", nic.name,
                            port.netdev.empty() ? "" : fmt::format("ip link set {} up; ", port.netdev), nic.name),
                std::string(from::network_guide)};
      // Physically connected, but without an address: InfiniBand needs a subnet manager before any data.
      if (port.state == "INIT" || port.state == "ARMED") {
        f.status = FindingStatus::error;
        f.why = "the link is up, but no subnet manager has configured it";
        f.fix = "sudo sminfo; start opensm or the subnet manager of the switch";
      } else if (none || (host.paired(nic) && !neighbour_is_up(host, nic))) {
        // One port of a dual-port card may be unused by design, as long as the other one serves the GPU.
        f.status = FindingStatus::error;
        f.why = none ? "no port of this host is up: NCCL falls back to sockets"
                     : "the GPU that it serves must use another NIC, which is then shared";
      } else if (!neighbour_is_up(host, nic) && like_a_paired_one(host, nic)) {
        // Equal to the NICs of the GPUs, but not assigned to one: possibly the fault is why it is not.
        f.status = FindingStatus::warning;
        f.why = "similar NICs serve GPUs; this one does not";
      }
      found.push_back(std::move(f));
    }
  return found;
}

Findings check_link_rate(const HostFiles& host) {
  Findings found;
  for_active_ports(host, [&](const RdmaNic& nic, const RdmaPort& port) {
    double best = 0;
    std::string lanes;
    // The fastest port of the same model and link layer on this host.
    for_active_ports(host, [&](const RdmaNic& other, const RdmaPort& p) {
      if (other.kind() == nic.kind() && p.layer == port.layer && p.gbit > best) {
        best = p.gbit;
        lanes = p.lanes;
      }
    });
    const auto text = [](double gbit, const std::string& words) {
      return fmt::format("{:g} Gb/s{}", gbit, words.empty() ? "" : " (" + words + ")");
    };
    const std::string subject = port_name(nic, port), is = text(port.gbit, port.lanes), expected = text(best, lanes);
    const std::string fix = fmt::format(
        "sudo mlxlink -d {} -m -c shows speed, width and errors; clean or swap the cable, check the switch port",
        nic.name);
    if (port.gbit <= 0)
      found.push_back({"", subject, FindingStatus::unknown, "unknown", "a rate", "", "ibstat " + nic.name,
                       std::string(from::kernel_rdma)});
    else if (port.gbit < best)
      found.push_back({"", subject,
                       host.pairs.empty() || host.paired(nic) ? FindingStatus::warning : FindingStatus::note, is,
                       expected + ", as on similar ports", "rings and trees run at the rate of their slowest NIC", fix,
                       std::string(from::likeness)});
    // Catches the case in which all ports are equally bad.
    else if (port.layer == "InfiniBand" && port.lanes.starts_with("1X"))
      found.push_back({"", subject, FindingStatus::warning, is, "2 or 4 lanes",
                       "InfiniBand cables have more lanes: some do not work", fix, std::string(from::network_guide)});
    else
      found.push_back(good(subject, is, expected + ", as on similar ports", from::likeness));
  });
  return found;
}

Findings check_mtu(const HostFiles& host) {
  Findings found;
  for_active_ports(host, [&](const RdmaNic& nic, const RdmaPort& port) {
    const std::string subject = port_name(nic, port);
    if (port.ethernet()) {
      const std::optional<double> mtu = host.tree.number(netdev_mtu_file(port));
      const std::string expected = "4200 or more on the netdev, for RDMA packets of 4096 bytes";
      if (port.netdev.empty() || !mtu) {
        found.push_back({"", subject, FindingStatus::unknown, "netdev or its MTU unknown", expected,
                         "small packets lower the rate", "rdma link; ip link show", std::string(from::kernel_roce)});
        return;
      }
      // RoCE takes its packet size from the network interface.
      const int packet = roce_mtu(*mtu);
      const std::string is = fmt::format("{:g} on {}: packets of {} bytes", *mtu, port.netdev, packet);
      if (packet >= 4096)
        found.push_back(good(subject, is, expected, from::kernel_roce));
      else
        found.push_back(
            {"", subject, FindingStatus::warning, is, expected,
             fmt::format("RoCE adds 82 bytes to each packet: {:.1f} % of the line rate is data, instead of "
                         "98.0 %, and the NIC handles {} times as many packets",
                         100.0 * packet / (packet + 82), 4096 / packet),
             fmt::format("ip link set {} mtu 9000, and the same on every switch of the fabric", port.netdev),
             std::string(from::links) + ", " + std::string(from::kernel_roce)});
      return;
    }
    if (port.layer != "InfiniBand") return;
    // The active MTU of an InfiniBand port is not in sysfs. libibverbs reports it where the program has it.
    const auto active = host.extras.active_mtu.find({nic.name, port.number});
    const std::string expected = "4096";
    if (active == host.extras.active_mtu.end())
      found.push_back({"", subject, FindingStatus::unknown, "not in sysfs", expected, "smaller packets lower the rate",
                       fmt::format("ibv_devinfo -d {} | grep active_mtu", nic.name), std::string(from::links)});
    else if (active->second < 4096)
      found.push_back({"", subject, FindingStatus::warning, std::to_string(active->second), expected,
                       "more headers, and more packets for the NIC to handle",
                       "mtu=5 for the partition in opensm's partitions.conf (Default=0x7fff, ipoib, mtu=5: ALL=full;), "
                       "then restart opensm",
                       std::string(from::links)});
    else
      found.push_back(good(subject, std::to_string(active->second), expected, from::links));
  });
  return found;
}

Findings check_gid_index(const HostFiles& host) {
  Findings found;
  const SetVariable* set = host.variable("NCCL_IB_GID_INDEX");
  // -1 is NCCL's own default: choose an index.
  const int wanted = set ? std::atoi(set->value.c_str()) : -1;
  for_active_ports(host, [&](const RdmaNic& nic, const RdmaPort& port) {
    if (!port.ethernet()) return;
    const std::string subject = port_name(nic, port);
    std::string usable;
    for (const RdmaGid& g : port.gids)
      if (g.type == "RoCE v2" && g.ipv4()) usable += fmt::format("{}{}", usable.empty() ? "" : ", ", g.index);
    const std::string why =
        "switches route RoCE v2 over IPv4; with other GIDs NCCL cannot connect, or only within "
        "one subnet";
    // A set index is used as it is, whatever it holds.
    if (wanted >= 0) {
      const auto it =
          std::find_if(port.gids.begin(), port.gids.end(), [&](const auto& g) { return g.index == wanted; });
      const std::string expected = usable.empty() ? "an index of RoCE v2 over IPv4" : "index " + usable;
      const std::string is = fmt::format("NCCL_IB_GID_INDEX={} ({}): {}", wanted, set->from,
                                         it == port.gids.end() ? "empty"
                                         : it->type.empty()    ? "type unknown"
                                                               : it->type + (it->ipv4()         ? " over IPv4"
                                                                             : it->link_local() ? ", link-local"
                                                                                                : " over IPv6"));
      const bool v2 = it != port.gids.end() && it->type == "RoCE v2";
      if (v2 && it->ipv4()) {
        found.push_back(good(subject, is, expected, from::nccl_env));
        return;
      }
      const bool routed = v2 && !it->link_local();
      found.push_back({"", subject,
                       it == port.gids.end() ? FindingStatus::error
                       : routed              ? FindingStatus::note
                                             : FindingStatus::warning,
                       is, expected, routed ? "IPv6 works if the whole fabric routes it" : why,
                       usable.empty()
                           ? "give the netdev an IPv4 address; show_gids " + nic.name
                           : "unset NCCL_IB_GID_INDEX (NCCL 2.21 and later choose an index), or set it to " + usable,
                       std::string(from::nccl_env)});
      return;
    }
    // Without the variable NCCL 2.21 and later choose an index of RoCE v2 over IPv4; one is enough.
    if (!usable.empty()) {
      found.push_back(
          good(subject, "index " + usable + " is RoCE v2 over IPv4", "an index of RoCE v2 over IPv4", from::nccl_env));
      return;
    }
    const bool routed = std::any_of(port.gids.begin(), port.gids.end(),
                                    [](const RdmaGid& g) { return g.type == "RoCE v2" && !g.link_local(); });
    found.push_back({"", subject, routed ? FindingStatus::note : FindingStatus::error,
                     routed ? "RoCE v2 over IPv6 only" : "no index of RoCE v2 over IP", "an index of RoCE v2 over IPv4",
                     routed ? "works if the whole fabric routes IPv6 (NCCL_IB_ADDR_FAMILY=AF_INET6)" : why,
                     fmt::format("ip address add ADDRESS/BITS dev {}; then show_gids {}",
                                 port.netdev.empty() ? "NETDEV" : port.netdev, nic.name),
                     std::string(from::nccl_env)});
  });
  return found;
}

}  // namespace fabricast
