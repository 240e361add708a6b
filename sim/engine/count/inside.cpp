// Inside the nodes: paths of transfers, and their loads. For each link l of a node
//
//   m_lc          = sum over transfers t of channel c whose path crosses l  of  weight of t
//   C_l           = rate of l  x  fraction that its driver reaches  x  fraction that faults leave
//   contention(l) = sum over c of m_lc / C_l                      connections per B/s                               (1)
//
// and a transfer sees the most loaded link of its path. All nodes of a role are alike, so one of them is counted for
// all. A node with a fault of its own is counted in addition. Groups are single links here, because a node has few.
#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "fabricast/protocol/costs.hpp"
#include "loads.hpp"

namespace fabricast {

using Key = InsidePaths::Key;
static Key key_of(const NodeTransfer& t) { return {t.kind, t.from, t.to}; }

/// The path from a GPU to a NIC. If the NIC is far and a peer over NVLink is near it, the path goes through the nearest
/// peer (PXN) [NCCL-paths]; among equally near peers, through the one whose own NIC it is. The NIC of another host of
/// an NVLink domain cannot be reached otherwise.
static std::vector<std::uint16_t> path_out(const Communicator& comm, int gpu, int nic) {
  const NodeGraph& graph = comm.node.graph;
  const bool gdr = comm.gdr && comm.gdr_read;
  const PathType distance = graph.gpu_nic_distance(gpu, nic);
  const bool elsewhere = distance == PathType::DIS;
  if (!comm.node.nvlink || !(elsewhere || (comm.pxn && gdr && distance > PathType::P2C)))
    return graph.gpu_to_nic(gpu, nic, gdr);
  // A peer must be nearer to the NIC than the distance class of a path through a peer (PXN), else nothing is gained.
  // For the NIC of another host of the domain any nearest peer is accepted, however far.
  int nearest = -1;
  PathType least = elsewhere ? PathType::DIS : PathType::PXN;
  for (int peer = 0; peer < comm.gpus(); ++peer) {
    if (peer != gpu && comm.node.route(gpu, peer) != PeerPath::nvlink) continue;
    const PathType d = graph.gpu_nic_distance(peer, nic);
    const bool own = nearest >= 0 && d == least && comm.nic_of_gpu[static_cast<std::size_t>(peer)] == nic &&
                     comm.nic_of_gpu[static_cast<std::size_t>(nearest)] != nic;
    if (d < least || own) {
      least = d;
      nearest = peer;
    }
  }
  if (nearest < 0) return graph.gpu_to_nic(gpu, nic, gdr);
  std::vector<std::uint16_t> path = graph.gpu_to_gpu(gpu, nearest);
  const std::vector<std::uint16_t> rest = graph.gpu_to_nic(nearest, nic, gdr);
  path.insert(path.end(), rest.begin(), rest.end());
  return path;
}

/// All links of one operation of the NVSwitch: from every GPU to it and from it to one GPU, or the reverse.
static std::vector<std::uint16_t> through_nvswitch(const Communicator& comm, const NodeTransfer& t) {
  const NodeGraph& graph = comm.node.graph;
  const std::uint16_t nvswitch = graph.find(NodeVertexKind::nvswitch, 0);
  std::vector<std::uint16_t> path;
  const auto append = [&](std::uint16_t from, std::uint16_t to) {
    const std::vector<std::uint16_t> links = graph.path(from, to, true);
    path.insert(path.end(), links.begin(), links.end());
  };
  for (int g = 0; g < comm.gpus(); ++g)
    t.kind == NodeTransfer::Kind::reduce ? append(graph.gpu(g), nvswitch) : append(nvswitch, graph.gpu(g));
  t.kind == NodeTransfer::Kind::reduce ? append(nvswitch, graph.gpu(t.to)) : append(graph.gpu(t.from), nvswitch);
  return path;
}

static std::vector<std::uint16_t> direct_path(const Communicator& comm, const NodeTransfer& t) {
  const NodeGraph& graph = comm.node.graph;
  switch (t.kind) {
    case NodeTransfer::Kind::gpu_to_nic: return path_out(comm, t.from, t.to);
    case NodeTransfer::Kind::nic_to_gpu: return graph.nic_to_gpu(t.from, t.to, comm.gdr);
    case NodeTransfer::Kind::reduce:
    case NodeTransfer::Kind::multicast: return through_nvswitch(comm, t);
    case NodeTransfer::Kind::gpu_to_gpu: break;
  }
  if (comm.node.route(t.from, t.to) != PeerPath::host_memory) return graph.gpu_to_gpu(t.from, t.to);
  // Through host memory: one GPU stores, the other loads.
  const std::uint16_t memory = graph.memory_of_gpu(t.from);
  std::vector<std::uint16_t> path = graph.path(graph.gpu(t.from), memory, false);
  const std::vector<std::uint16_t> out = graph.path(memory, graph.gpu(t.to), false);
  path.insert(path.end(), out.begin(), out.end());
  return path;
}

std::vector<std::uint16_t> inside_path(const Communicator& comm, const NodeTransfer& t) {
  std::vector<std::uint16_t> path = direct_path(comm, t);
  return comm.node.spec.acs ? comm.node.graph.by_root_complex(path) : path;
}

const std::vector<std::uint16_t>& InsidePaths::of(const NodeTransfer& t) {
  const auto [it, fresh] = paths_.try_emplace(key_of(t));
  if (fresh) it->second = inside_path(*comm_, t);
  return it->second;
}

double inside_rate(const Communicator& comm, const NetworkSegment& segment, std::uint32_t node, std::uint16_t link,
                   const NodeTransfer& transfer) {
  const NodeTransfer::Kind kind = transfer.kind;
  const LinkClass& c = comm.node.graph.links[link].link_class;
  // The fraction of PCIe's payload rate that is reached depends on the driver: GPUs reach less than DMA engines.
  const NodeGraph& graph = comm.node.graph;
  const auto is_gpu = [&](std::uint16_t v) { return graph.vertices[v].kind == NodeVertexKind::gpu; };
  const bool at_gpu = is_gpu(graph.links[link].from) || is_gpu(graph.links[link].to);
  const bool by_gpu = c.kind == LinkKind::pcie && (kind == NodeTransfer::Kind::gpu_to_gpu || (!comm.gdr && at_gpu));
  // Between a NIC and a GPU of different root ports less is reached as well.
  const bool through_cpu = comm.gdr_by_cpu && c.kind == LinkKind::pcie &&
                           (kind == NodeTransfer::Kind::gpu_to_nic || kind == NodeTransfer::Kind::nic_to_gpu);
  // In an NCCL node of several hosts, a fault applies by the number of its link in the node's graph.
  const PeerPath staged = comm.node.peer_to_peer ? PeerPath::pcie : PeerPath::host_memory;
  const PeerPath route = kind == NodeTransfer::Kind::gpu_to_gpu ? comm.node.route(transfer.from, transfer.to) : staged;
  double rate = c.rate.value * (by_gpu ? comm.node.pcie_path(route).efficiency.value : 1.0) *
                (through_cpu ? comm.node.software.gdr_by_cpu.value : 1.0);
  for (const auto& f : segment.inside)
    if (f.link == link && comm.has_host(node, f.node)) rate *= f.factor;
  return rate;
}

namespace {

/// The most loaded link of every transfer over the nodes that have been seen, by channel.
class WorstInside {
 public:
  explicit WorstInside(std::size_t channels) : found_(channels), worst_(channels), place_(channels) {}

  /// \param group_of     the groups of a node's links
  /// \param contentions  by group
  void see(std::size_t channel, const NodeTransfer& t, const std::vector<std::uint16_t>& path,
           const std::vector<std::uint32_t>& group_of, const std::vector<double>& contentions) {
    InsideGroups& inside = found_[channel];
    const auto [place, fresh] = place_[channel].try_emplace(key_of(t), inside.transfers.size());
    if (fresh) {
      inside.transfers.push_back(t);
      inside.group.push_back(no_group);
      worst_[channel].push_back(0);
    }
    double& worst = worst_[channel][place->second];
    // Among equally loaded links the first one counts.
    for (const std::uint16_t l : path)
      if (const std::uint32_t g = group_of[l]; contentions[g] > worst) {
        worst = contentions[g];
        inside.group[place->second] = g;
      }
  }
  std::vector<InsideGroups> take() { return std::move(found_); }

 private:
  std::vector<InsideGroups> found_;                ///< by channel
  std::vector<std::vector<double>> worst_;         ///< contention of the chosen group, by transfer
  std::vector<std::map<Key, std::size_t>> place_;  ///< position of a transfer in the channel's list
};

/// Counts what the transfers of one node cross. \returns groups by link
std::vector<std::uint32_t> count_node(const Communicator& comm, const Plan& plan, const NetworkSegment& segment,
                                      const NodeClass& c, InsidePaths& paths, std::vector<LinkGroup>& groups) {
  const CollectiveAlgorithm& algorithm = *find_by_algorithm(plan.algorithm);
  const auto channels = static_cast<std::size_t>(plan.channels);
  std::vector<std::uint32_t> group_of(comm.node.graph.links.size(), no_group);
  std::map<std::pair<std::uint16_t, std::size_t>, std::set<int>> nics;  // by link and position of the transfer
  std::vector<NodeTransfer> transfers;
  for (std::size_t ch = 0; ch < channels; ++ch) {
    algorithm.node_transfers(comm, plan, static_cast<int>(ch), c.node, transfers);
    for (std::size_t i = 0; i < transfers.size(); ++i) {
      const NodeTransfer& t = transfers[i];
      for (const std::uint16_t l : paths.of(t)) {
        if (group_of[l] == no_group) {
          group_of[l] = static_cast<std::uint32_t>(groups.size());
          LinkGroup g;
          // The capacity is that of the first transfer that crosses the link, because it depends on the driver.
          g.capacity = inside_rate(comm, segment, c.node, l, t);
          g.connections.assign(channels, 0);
          g.resource = l;
          g.node = c.node;
          g.inside = true;
          g.members = c.count;
          groups.push_back(std::move(g));
        }
        LinkGroup& g = groups[group_of[l]];
        g.connections[ch] += t.weight;
        if (t.kind != NodeTransfer::Kind::gpu_to_nic && t.kind != NodeTransfer::Kind::nic_to_gpu) {
          g.between_gpus += t.weight;
          continue;
        }
        // Channels run in step: transfers at the same position in their lists happen at the same time.
        std::set<int>& at_once = nics[{l, i}];
        at_once.insert(t.kind == NodeTransfer::Kind::gpu_to_nic ? t.to : t.from);
        g.nics = std::max(g.nics, static_cast<std::uint32_t>(at_once.size()));
      }
    }
  }
  for (const std::uint32_t g : group_of)
    if (g != no_group) {
      LinkGroup& group = groups[g];
      group.between_gpus /= std::accumulate(group.connections.begin(), group.connections.end(), 0.0);
    }
  return group_of;
}

}  // namespace

void count_inside(const Communicator& comm, const Plan& plan, const NetworkSegment& segment, InsidePaths& paths,
                  Loads& loads) {
  const CollectiveAlgorithm& algorithm = *find_by_algorithm(plan.algorithm);
  const auto channels = static_cast<std::size_t>(plan.channels);
  // `usual` serves paths that go node by node, such as chains. Elsewhere the slowest node sets the pace.
  WorstInside all(channels), usual(channels);
  const bool faults = !segment.inside.empty();
  std::vector<NodeTransfer> transfers;
  std::vector<double> contentions;  // by group
  const auto count = [&](const NodeClass& c, WorstInside& other) {
    const std::vector<std::uint32_t> group_of = count_node(comm, plan, segment, c, paths, loads.groups);
    // For the groups that this node has added. Those of earlier nodes do not change.
    for (std::size_t g = contentions.size(); g < loads.groups.size(); ++g)
      contentions.push_back(loads.groups[g].contention());
    for (std::size_t ch = 0; ch < channels; ++ch) {
      algorithm.node_transfers(comm, plan, static_cast<int>(ch), c.node, transfers);
      for (const NodeTransfer& t : transfers) {
        all.see(ch, t, paths.of(t), group_of, contentions);
        if (faults) other.see(ch, t, paths.of(t), group_of, contentions);
      }
    }
  };
  // Faults name hosts of the fabric; loads are by NCCL node of the job.
  std::set<std::uint32_t> faulty;
  for (const auto& f : segment.inside)
    for (std::uint32_t node = 0; node < comm.nodes(); ++node)
      if (comm.has_host(node, f.node)) faulty.insert(node);
  const auto role = [&](std::uint32_t node) { return algorithm.node_role ? algorithm.node_role(comm, node) : 0; };
  for (const NodeClass& c : node_classes(comm, plan.algorithm)) {
    // A node with a fault does not stand for the others of its role.
    std::uint32_t node = c.node;
    while (node < comm.nodes() && (faulty.contains(node) || role(node) != role(c.node))) ++node;
    if (node < comm.nodes()) count({node, c.count}, usual);
  }
  if (faults) loads.usual_inside = usual.take();
  for (const std::uint32_t node : faulty) {
    WorstInside own(channels);
    count({node, 1}, own);
    loads.faulty_inside.emplace(node, own.take());
  }
  loads.inside = all.take();
}

}  // namespace fabricast
