// Settings that sockets need: large buffers, enough ports, jumbo frames. Without RDMA, sockets carry the data of
// collectives; with RDMA, only NCCL's bootstrap, and findings are milder.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "checks.hpp"
#include "netdevs.hpp"

namespace fabricast {

namespace {

/// Whether the interface belongs to an RDMA port.
bool of_rdma(const HostFiles& host, const std::string& netdev) {
  for (const RdmaNic& nic : host.nics)
    for (const RdmaPort& port : nic.ports)
      if (port.netdev == netdev) return true;
  return false;
}

/// The last number of tcp_rmem or tcp_wmem, which hold minimum, default and maximum in bytes; 0 if unknown.
double most_of(const Tree& tree, const char* file) {
  std::string text = tree.line(file);
  std::replace(text.begin(), text.end(), '\t', ' ');
  const std::vector<std::string> words = split(text, ' ');
  return words.size() == 3 ? std::strtod(words[2].c_str(), nullptr) : 0;
}

std::string mib(double bytes) { return fmt::format("{:.3g} MiB", bytes / (1 << 20)); }

}  // namespace

std::vector<Netdev> fast_netdevs(const HostFiles& host) {
  std::vector<Netdev> found;
  for (const std::string& name : host.tree.names("sys/class/net")) {
    const std::string folder = "sys/class/net/" + name;
    // sysfs states Mb/s, and -1 if the interface does not know.
    const double gbit = host.tree.number(folder + "/speed").value_or(0) / 1000;
    if (gbit < 25 || host.tree.line(folder + "/operstate") != "up") continue;
    found.push_back({name, gbit, host.tree.number(folder + "/mtu")});
  }
  return found;
}

bool sockets_carry_data(const HostFiles& host) {
  // An active RDMA port is taken as used: NCCL prefers RDMA to sockets unless variables say otherwise (variables.cpp).
  return std::none_of(host.nics.begin(), host.nics.end(), [](const RdmaNic& n) { return n.active(); });
}

Findings check_socket_buffers(const HostFiles& host) {
  const std::vector<Netdev> netdevs = fast_netdevs(host);
  const double receive = most_of(host.tree, "proc/sys/net/ipv4/tcp_rmem");
  const double send = most_of(host.tree, "proc/sys/net/ipv4/tcp_wmem");
  if (netdevs.empty() || receive <= 0 || send <= 0) return {};
  const auto fastest = std::max_element(netdevs.begin(), netdevs.end(),
                                        [](const Netdev& a, const Netdev& b) { return a.gbit < b.gbit; });
  // Half a millisecond is the round trip through a few switches with full queues. The receiver offers half of its
  // buffer as window, so it needs twice the data in flight.
  constexpr double round_trip_s = 5e-4;
  // Bandwidth-delay product of one connection at line rate.
  const double in_flight = fastest->gbit * 1e9 / 8 * round_trip_s;
  const std::string is = fmt::format("tcp_rmem up to {}, tcp_wmem up to {}", mib(receive), mib(send));
  const std::string expected = fmt::format("{} and {} for one connection at {:g} Gb/s ({}) and 0.5 ms",
                                           mib(2 * in_flight), mib(in_flight), fastest->gbit, fastest->name);
  Findings found;
  if (receive >= 2 * in_flight && send >= in_flight) {
    found.push_back(good("host", is, expected, from::tcp_settings));
  } else {
    // At least 16 MiB, so that the suggestion still holds on a longer path.
    const double wanted = std::max(2 * in_flight, double{1 << 24});
    found.push_back(
        {"", "host", sockets_carry_data(host) ? FindingStatus::warning : FindingStatus::note, is, expected,
         sockets_carry_data(host) ? "a connection stalls when its buffers are full: then only more connections "
                                    "(NCCL_NSOCKS_PERTHREAD) reach the line rate"
                                  : "RDMA carries the data; without it, sockets would be slow",
         fmt::format(
             "sudo sysctl -w net.ipv4.tcp_rmem='4096 131072 {0:.0f}' net.ipv4.tcp_wmem='4096 65536 {0:.0f}', and the "
             "same lines in /etc/sysctl.d/",
             wanted),
         std::string(from::tcp_settings)});
  }
  const std::pair<const char*, const char*> limits[] = {{"NCCL_SOCKET_RCVBUF", "rmem_max"},
                                                        {"NCCL_SOCKET_SNDBUF", "wmem_max"}};
  for (const auto& [name, file] : limits) {
    const SetVariable* v = host.variable(name);
    const std::optional<double> limit = host.tree.number(std::string("proc/sys/net/core/") + file);
    const double wanted = v ? std::strtod(v->value.c_str(), nullptr) : 0;
    // A size that a program sets is limited by rmem_max and wmem_max, not by tcp_rmem and tcp_wmem, and turns off
    // automatic sizing.
    if (wanted > 0 && limit && *limit < wanted)
      found.push_back({"", name, FindingStatus::warning,
                       fmt::format("{} requested, but net.core.{} allows {}", mib(wanted), file, mib(*limit)),
                       fmt::format("net.core.{} of at least that size", file),
                       "the kernel limits the size that NCCL requests, and no longer enlarges the buffer automatically",
                       fmt::format("sudo sysctl -w net.core.{}={:.0f}", file, wanted),
                       std::string(from::tcp_settings)});
  }
  return found;
}

Findings check_local_ports(const HostFiles& host) {
  std::string text = host.tree.line("proc/sys/net/ipv4/ip_local_port_range");
  std::replace(text.begin(), text.end(), '\t', ' ');
  const std::vector<std::string> words = split(text, ' ');
  if (words.size() != 2) return {};
  const int low = std::atoi(words[0].c_str()), high = std::atoi(words[1].c_str()), count = high - low + 1;
  // Linux's default range has 28,232 ports.
  constexpr int few = 16384;
  const std::string is = fmt::format("{} ports ({} to {})", std::max(count, 0), low, high);
  const std::string expected = fmt::format("{} or more", few);
  if (count >= few) return {good("host", is, expected, from::tcp_settings)};
  return {
      {"", "host", FindingStatus::warning, is, expected,
       "every rank uses ports of this range for the bootstrap and, with sockets, for each peer and channel; when they "
       "run out, NCCL reports 'Address already in use' or 'Cannot assign requested address'",
       "sudo sysctl -w net.ipv4.ip_local_port_range='32768 60999', and the same line in /etc/sysctl.d/",
       std::string(from::tcp_settings)}};
}

Findings check_socket_mtu(const HostFiles& host) {
  Findings found;
  const std::string expected = "9000, or the maximum of the network";
  for (const Netdev& netdev : fast_netdevs(host)) {
    // The mtu check covers interfaces of RoCE.
    if (!netdev.mtu || of_rdma(host, netdev.name)) continue;
    const std::string is = fmt::format("{:g} at {:g} Gb/s", *netdev.mtu, netdev.gbit);
    if (*netdev.mtu > 1500) {
      found.push_back(good(netdev.name, is, expected, from::network_guide));
      continue;
    }
    found.push_back(
        {"", netdev.name, sockets_carry_data(host) ? FindingStatus::warning : FindingStatus::note, is, expected,
         "the CPU handles six times as many packets, and NCCL's sockets are limited by the CPU",
         fmt::format("ip link set {} mtu 9000, and the same on every switch and host of the network", netdev.name),
         std::string(from::network_guide)});
  }
  return found;
}

}  // namespace fabricast
