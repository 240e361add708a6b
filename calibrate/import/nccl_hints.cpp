// NCCL's lines about the topology and about features that it does not use [NCCL-log], and counts over its connections.
//
// These lines have no common form, and each is one fact. A log of many ranks repeats them, so counts are of lines and
// not of ranks. evidence_nccl.cpp in calibrate/check says what follows from them.
#include <algorithm>
#include <set>

#include "format.hpp"
#include "scan.hpp"

namespace fabricast {

/// `NET/IB: [0] mlx5_0:uverbs0:1/IB provider=Mlx5 speed=400000 context=0x55 pciPath=... ar=1`, of NIC mlx5_0:1
static void read_nic_speed(std::string_view text, NcclFacts& facts) {
  constexpr std::size_t most_nics = 256;
  const auto device = after(text, "] "), speed = after(text, " speed=");
  if (!device || !speed || facts.nic_speeds.size() >= most_nics) return;
  const std::string_view name = device->substr(0, device->find_first_of("/ "));
  // The middle part is the device of user verbs. Name and port alone are how `NET/IB : Using` names the NIC.
  const std::size_t first = name.find(':'), last = name.rfind(':');
  const auto rate = whole_number(speed->substr(0, speed->find(' ')));
  if (first == std::string_view::npos || !rate || *rate < 1) return;
  facts.nic_speeds.emplace(shown(name.substr(0, first), 40) + shown(name.substr(last), 40), *rate);
}

void read_nccl_hint(std::string_view text, NcclFacts& facts) {
  const auto contains = [&](std::string_view part) { return text.find(part) != std::string_view::npos; };
  // `MNNVL 1 cliqueId 0 cliqueSize 8 cliqueRank 0`, or a warning if MNNVL is available but fails
  if (text.starts_with("MNNVL ")) {
    std::string_view rest = text.substr(6);
    if (contains(" is available but not working")) facts.mnnvl_broken = true;
    // Ranks may differ, for example if one host has no IMEX daemon; NVLink across hosts counts as used if any rank uses
    // it.
    if (const auto used = take_number(rest); used && contains(" cliqueId "))
      facts.mnnvl = facts.mnnvl.value_or(false) || *used != 0;
    return;
  }
  if (text.starts_with("P2P is disabled between ") || text.starts_with("Could not enable P2P between ")) {
    ++facts.peers_refused;
    return;
  }
  if (text.starts_with("HINT: ")) {
    if (contains(" ACS is enabled")) facts.acs_hint = true;
    return;
  }
  constexpr std::string_view loading = "Loading topology file ";
  if (text.starts_with(loading)) {
    if (facts.topology_file.empty()) facts.topology_file = shown(trimmed(text.substr(loading.size())), 200);
    return;
  }
  if (text.starts_with("NET/IB: [")) return read_nic_speed(text, facts);
  if (text.starts_with("Could not open XML topology file ")) facts.topology_missing = true;
  // NCCL attaches a NIC without a PCI path, such as one of a container or virtual machine, to the first CPU.
  if (text.starts_with("Topology detection: network path ") && contains("Attaching to first CPU"))
    ++facts.unplaced_nics;
}

NcclConnections NcclFacts::over_network() const {
  NcclConnections c;
  for (const NcclEdge& edge : edges) {
    if (!edge.transport.starts_with("NET/")) continue;
    // Counted twice on purpose: by the path to the GPU, and by the kind of network.
    ++(edge.transport.find("/GDRDMA") != std::string::npos ? c.gdr : c.staged);
    ++(edge.transport.starts_with("NET/Socket") ? c.sockets : c.other);
  }
  return c;
}

NcclPeers NcclFacts::between_gpus() const {
  NcclPeers p;
  for (const NcclEdge& edge : edges) {
    const std::string_view transport = edge.transport;
    // SHM copies through host memory; all forms of P2P are direct.
    p.host_memory += transport.starts_with("SHM");
    if (!transport.starts_with("P2P/")) continue;
    ++p.direct;
    p.same_process += transport.starts_with("P2P/direct pointer");
    p.across_hosts += transport.starts_with("P2P/MNNVL");
  }
  return p;
}

/// `NET/IB/3/GDRDMA`, `NET/IB/3(5)/GDRDMA` by another rank's proxy thread, `NET/AWS Libfabric/3`.
std::vector<int> NcclFacts::nics_in_use() const {
  std::set<int> numbers;
  for (const NcclEdge& edge : edges) {
    std::string_view rest = edge.transport;
    if (!rest.starts_with("NET/")) continue;
    const std::size_t name_ends = rest.find('/', 4);
    if (name_ends == std::string_view::npos) continue;
    rest.remove_prefix(name_ends + 1);
    if (const auto number = take_number(rest); number && *number >= 0) numbers.insert(*number);
  }
  return {numbers.begin(), numbers.end()};
}

int NcclFacts::ranks_that_print() const {
  // Both ends of a connection may print it; the one that prints is known from the direction.
  std::set<int> ranks;
  for (const NcclEdge& edge : edges) ranks.insert(edge.receives ? edge.to : edge.from);
  return static_cast<int>(ranks.size());
}

NcclCommunicator NcclFacts::largest() const {
  NcclCommunicator most;
  for (const NcclCommunicator& c : communicators) most = std::max(most, c);
  return most;
}

}  // namespace fabricast
