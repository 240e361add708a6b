// Applies NCCL's variables to a host: its NICs, its network, and the paths between its GPUs.
//
// Variables act at three places: here, on the host before its graph is built; in the search and the cost model; and in
// the sizes of plans. What a NodeSpec can express is changed in it, and the rest is returned as NodeUse: which NIC
// ports are left, whether the ports of a card are merged, the sockets of a connection, and the distances up to which
// GPUs access each other.
#include "fabricast/planner/node_use.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "fabricast/core/quantity.hpp"
#include "fabricast/core/text.hpp"

namespace fabricast {

namespace {

[[noreturn]] void refuse(std::string_view variable, std::string message, std::string hint) {
  throw UserError::at("nccl.env." + std::string(variable), std::move(message), std::move(hint));
}

// Networks of the built-in IB transport, to which NCCL_IB_* variables apply. Plugins (EFA, TCPX) ignore them.
bool has_devices(LinkKind link) { return link == LinkKind::infiniband || link == LinkKind::roce; }

/// An entry of NCCL_IB_HCA: a device, with all of its ports or one.
struct DeviceName {
  std::string device;
  std::int64_t port = -1;
  bool matches(std::string_view name, bool exact) const {
    if (port > 1) return false;  // every port of a card is a separate device with one port
    return exact ? name == device : name.starts_with(device);
  }
};

DeviceName device_name(std::string_view word) {
  const auto colon = word.find(':');
  DeviceName name{std::string(word.substr(0, colon)), -1};
  if (colon == std::string_view::npos) return name;
  const auto port = parse_integer(word.substr(colon + 1));
  if (!port || port.value < 1)
    refuse("NCCL_IB_HCA", fmt::format("'{}' has no valid port number", word), "write e.g. mlx5_0:1");
  name.port = port.value;
  return name;
}

/// Numbers of the NIC ports that NCCL_IB_HCA selects. Port i is the device mlx5_i.
// NCCL's grammar: a leading ^ excludes, = demands exact names, and plain names are prefixes, so that mlx5_1 also
// selects mlx5_10 to mlx5_19.
std::vector<int> selected_ports(std::string_view text, int count) {
  const std::string_view whole = text;
  const bool excluded = text.starts_with('^');
  if (excluded) text.remove_prefix(1);
  const bool exact = text.starts_with('=');
  if (exact) text.remove_prefix(1);
  std::vector<DeviceName> names;
  while (!text.empty()) {
    const auto comma = text.find(',');
    if (comma != 0) names.push_back(device_name(text.substr(0, comma)));
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
  }
  std::vector<int> left;
  bool each_found = true;
  for (int i = 0; i < count; ++i) {
    const std::string device = fmt::format("mlx5_{}", i);
    const bool named =
        std::any_of(names.begin(), names.end(), [&](const DeviceName& n) { return n.matches(device, exact); });
    if (named != excluded) left.push_back(i);
  }
  if (excluded && left.empty())
    refuse("NCCL_IB_HCA", fmt::format("'{}' excludes all NICs, mlx5_0 to mlx5_{}", whole, count - 1),
           "for sockets, set NCCL_IB_DISABLE=1");
  if (excluded) return left;
  // Every name must exist: NCCL would silently use the remaining NICs, and a forecast for a mistyped list would be
  // wrong without notice.
  for (const DeviceName& n : names) {
    bool found = false;
    for (int i = 0; i < count; ++i) found = found || n.matches(fmt::format("mlx5_{}", i), exact);
    each_found = each_found && found;
  }
  if (!left.empty() && each_found) return left;
  // Hosts number their devices differently, so as many names as NICs stand for all of them.
  if (static_cast<int>(names.size()) >= count) return {};
  refuse("NCCL_IB_HCA",
         fmt::format("'{}' names a device that does not exist: the NICs are mlx5_0 to mlx5_{}", whole, count - 1),
         "number the NICs of a host from 0, in the order of the PCIe bus");
}

/// Whether variables make NCCL use TCP sockets on NICs that support more.
bool by_sockets(LinkKind link, const NcclSettings& s) {
  // NCCL_NET selects a transport by name. Names of plugins are accepted and change nothing, because the plugin of a
  // network is part of its kind of link.
  const std::string net = lower_case(s.net.value_or(""));
  if (net == "ib" && link == LinkKind::socket)
    refuse("NCCL_NET", "selects InfiniBand or RoCE, but node.nics.link is socket",
           "remove it, or change node.nics.link");
  if (net == "ib" && s.ib_disable.value_or(false))
    refuse("NCCL_NET", "selects IB, which NCCL_IB_DISABLE=1 disables", "remove one of them");
  return net == "socket" || (has_devices(link) && s.ib_disable.value_or(false));
}

}  // namespace

PathType peer_level(const NcclSettings& s, PathType otherwise) {
  return s.p2p_disable.value_or(false) ? PathType::LOC : s.p2p_level.value_or(otherwise);
}

/// Intel's root ports forward traffic between GPUs at a low rate, so NCCL avoids them. For other CPUs the maximum
/// distance decreased from version to version [NCCL-paths].
PeerLevels peer_levels(const NcclSettings& s, CpuVendor cpu) {
  if (s.p2p_disable.value_or(false) || s.p2p_level) {
    const PathType given = peer_level(s, PathType::SYS);
    return {given, given};
  }
  const bool amd = cpu == CpuVendor::amd, intel = cpu == CpuVendor::intel;
  if (s.version >= NcclVersion{2, 23, 0}) return usual_peer_levels(cpu);
  if (amd) return {PathType::SYS, PathType::SYS};
  if (intel && s.version < NcclVersion{2, 6, 0}) return {PathType::PHB, PathType::PHB};
  if (intel && s.version < NcclVersion{2, 7, 0}) return {PathType::SYS, PathType::SYS};
  if (intel && s.version < NcclVersion{2, 9, 0}) return {PathType::PHB, PathType::PHB};
  return {PathType::PXB, PathType::PXB};
}

NodeUse use_of_node(NodeSpec& spec, const NcclSettings& s, std::vector<Diagnostic>& warnings) {
  NodeUse use;
  const auto idle = [&](std::string_view variable, std::string message) {
    warnings.push_back(
        {Diagnostic::Severity::warning, {}, "nccl.env." + std::string(variable), std::move(message), {}});
  };
  // Sockets never use GPUDirect RDMA, so a request for it must not survive the change.
  if (spec.nics.count > 0 && by_sockets(spec.nics.link, s)) {
    spec.nics.link = LinkKind::socket;
    spec.gdr = Gdr::automatic;
  }
  if (s.ib_hca) {
    if (has_devices(spec.nics.link) && spec.nics.count > 0)
      use.ports = selected_ports(*s.ib_hca, spec.nics.count);
    else
      idle("NCCL_IB_HCA", "has no effect: the network is neither InfiniBand nor RoCE");
  }
  if ((s.socket_threads || s.sockets_per_thread) && spec.nics.link != LinkKind::socket)
    idle(s.socket_threads ? "NCCL_SOCKET_NTHREADS" : "NCCL_NSOCKS_PERTHREAD",
         "has no effect: the network does not use sockets");
  use.merge_ports = s.merge_nics.value_or(true);
  // Without helper threads the proxy thread serves one socket.
  use.sockets = std::max(1, s.socket_threads.value_or(0) * s.sockets_per_thread.value_or(1));
  use.peer_levels = peer_levels(s, spec.cpu);
  // Without peer-to-peer access NVLink is unused.
  if (peer_level(s, PathType::SYS) < PathType::NVL && spec.gpus > 1) {
    spec.intranode = Intranode::pcie;
    if (spec.layout)
      for (NodeLayout::Gpu& gpu : spec.layout->gpus) gpu.nvlinks.clear();
  }
  return use;
}

/// Groups of GPUs that reach each other without host memory, as NCCL finds them: by the first GPU of each group.
static std::vector<std::vector<int>> groups_of(const Node& node) {
  std::vector<std::vector<int>> groups;
  std::vector<int> first;
  for (int g = 0; g < node.spec.gpus; ++g) {
    // Reachability is taken as NCCL takes it: a GPU joins the lowest-numbered group of any GPU that it reaches. Groups
    // are not merged later, even if a further GPU reaches both.
    first.push_back(g);
    for (int p = 0; p < g; ++p)
      if (node.route(g, p) != PeerPath::host_memory)
        first.back() = std::min(first.back(), first[static_cast<std::size_t>(p)]);
    if (first.back() == g) groups.emplace_back();
    const auto group = std::find_if(groups.begin(), groups.end(), [&](const std::vector<int>& members) {
      return members.empty() || members.front() == first.back();
    });
    group->push_back(g);
  }
  return groups;
}

Node split_by_network(const Node& host, const NcclSettings& s, const NodeUse& use) {
  if (!s.shm_disable.value_or(false) || host.spec.gpus < 2) return host;
  const std::vector<std::vector<int>> groups = groups_of(host);
  if (groups.size() == 1) return host;
  // All nodes of a communicator are alike in this model, and rank r is GPU r % gpus of node r / gpus, so groups must be
  // equal and contiguous.
  const auto alike = [&](const std::vector<int>& group) {
    return group.size() == groups.front().size() && group.back() - group.front() + 1 == static_cast<int>(group.size());
  };
  if (!std::all_of(groups.begin(), groups.end(), alike))
    refuse("NCCL_SHM_DISABLE", "splits the node into groups of GPUs that differ in size or interleave",
           "allow host memory, or peer-to-peer access with NCCL_P2P_LEVEL");
  Node part = restricted_to(host, groups.front(), use);
  part.parts = static_cast<int>(groups.size());
  return part;
}

void check_paths_inside(const Node& node, const NcclSettings& s) {
  if (s.shm_disable.value_or(false) && groups_of(node).size() > 1)
    refuse("NCCL_SHM_DISABLE",
           "leaves only the network between GPUs of a host, which is simulated only for single collectives",
           "allow host memory, or peer-to-peer access with NCCL_P2P_LEVEL");
}

}  // namespace fabricast
