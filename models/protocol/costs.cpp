// The costs of the stations of one call, computed from the hardware parameters of its node in four parts: threads and
// hops inside the node, the network between two buffers, the adjustments of the algorithm, and the paths that do not
// depend on it. The order matters: an algorithm scales costs of the network before delays are added that no algorithm
// changes. docs/models/protocols.md has the equations.
#include "fabricast/protocol/costs.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>

#include "fabricast/collective/algorithm.hpp"

namespace fabricast {

std::vector<NodeClass> node_classes(const Communicator& comm, Algorithm algorithm) {
  const CollectiveAlgorithm& a = *find_by_algorithm(algorithm);
  if (!a.node_role) return {{0, static_cast<std::uint32_t>(comm.nodes())}};
  std::vector<NodeClass> classes;
  std::map<std::uint64_t, std::size_t> index_of;
  for (std::uint32_t node = 0; node < static_cast<std::uint32_t>(comm.nodes()); ++node) {
    // The first node of a role stands for it, so the order of classes depends on the numbers of nodes only.
    const auto [it, fresh] = index_of.try_emplace(a.node_role(comm, node), classes.size());
    if (fresh)
      classes.push_back({node, 1});
    else
      ++classes[it->second].count;
  }
  return classes;
}

namespace {

/// Messages that the busiest proxy thread handles while each channel moves one slice. A thread serves the connections
/// of one GPU.
struct ProxyLoad {
  double visits = 0;  ///< sends and receives
  double sends = 0;
};

ProxyLoad busiest_proxy(const Communicator& comm, const Plan& plan) {
  ProxyLoad most;
  const CollectiveAlgorithm& algorithm = *find_by_algorithm(plan.algorithm);
  std::vector<NodeTransfer> transfers;
  // Nodes of one role have equal loads, so one node of each role is enough, whatever the size of the job.
  for (const NodeClass& c : node_classes(comm, plan.algorithm)) {
    std::vector<ProxyLoad> load(static_cast<std::size_t>(comm.gpus()));
    for (int channel = 0; channel < plan.channels; ++channel) {
      algorithm.node_transfers(comm, plan, channel, c.node, transfers);
      for (const NodeTransfer& t : transfers) {
        if (t.kind == NodeTransfer::Kind::gpu_to_nic) {
          load[static_cast<std::size_t>(t.from)].visits += 1;
          load[static_cast<std::size_t>(t.from)].sends += 1;
        }
        if (t.kind == NodeTransfer::Kind::nic_to_gpu) load[static_cast<std::size_t>(t.to)].visits += 1;
      }
    }
    for (const ProxyLoad& l : load) {
      most.visits = std::max(most.visits, l.visits);
      most.sends = std::max(most.sends, l.sends);
    }
  }
  return most;
}

/// Latency of the link between the sockets, if a wrong binding pairs a GPU with a NIC of the other socket.
Seconds socket_crossing(const Communicator& comm) {
  if (comm.node.spec.nics.numa != NicNuma::remote) return {};
  Seconds crossing;
  // The first GPU stands for all: a wrong binding is the same rotation for every GPU.
  const NodeGraph& graph = comm.node.graph;
  for (const std::uint16_t l : graph.gpu_to_nic(0, comm.nic_of_gpu.front(), comm.gdr))
    if (graph.links[l].link_class.kind == LinkKind::cpu_interconnect) crossing += graph.links[l].link_class.latency;
  return crossing;
}

}  // namespace

// A channel is a thread block, and the work of each is written before the kernel starts. 2.9 made this several times
// cheaper.
Seconds channel_launch(const Communicator& comm, const Plan& plan) {
  const Software& s = comm.node.software;
  return (comm.version < NcclVersion{2, 9, 0} ? s.channel_launch_old : s.channel_launch).us() * plan.open_channels();
}

namespace {

/// From a GPU to another one of its node, over a route.
Seconds hop_inside(const Communicator& comm, const Plan& plan, PeerPath route) {
  const Node& node = comm.node;
  const auto p = static_cast<std::size_t>(plan.protocol);
  if (route == PeerPath::nvlink || route == PeerPath::nvlink_by_peer) return node.architecture.hop[p].us();
  return node.pcie_path(route).hop[p].us() * node.architecture.pcie_hop.value;
}

/// The mean over all hops of a channel, because a message that goes around a ring meets each of them.
Seconds mean_hop_inside(const Communicator& comm, const Plan& plan, const CollectiveAlgorithm& algorithm) {
  const std::vector<PeerPath>& routes = comm.node.peer_paths;
  std::vector<NodeTransfer> transfers;
  if (!routes.empty()) algorithm.node_transfers(comm, plan, 0, 0, transfers);
  std::array<double, 4> hops{};  // by PeerPath
  for (const NodeTransfer& t : transfers)
    if (t.kind == NodeTransfer::Kind::gpu_to_gpu)
      hops[static_cast<std::size_t>(comm.node.route(t.from, t.to))] += t.weight;
  const double all = std::accumulate(hops.begin(), hops.end(), 0.0);
  const Node& node = comm.node;
  // Algorithms without transfers between GPUs of a node, and one GPU per node: the value is only used where a hop
  // occurs.
  if (all == 0)
    return hop_inside(comm, plan,
                      node.nvlink         ? PeerPath::nvlink
                      : node.peer_to_peer ? PeerPath::pcie
                                          : PeerPath::host_memory);
  Seconds sum;
  for (std::size_t route = 0; route < hops.size(); ++route)
    sum += hops[route] / all * hop_inside(comm, plan, static_cast<PeerPath>(route));
  return sum;
}

/// The threads of a plan as a fraction of the largest block. A warp takes the same time for a line of LL or LL128
/// whatever the other warps do, so fewer warps move less. In Simple each of fewer warps keeps more loads in flight.
double part_of_threads(const Plan& plan, const CollectiveAlgorithm& algorithm) {
  constexpr double most_ll = 512, most_ll128 = 640;  // [NCCL-protocols]
  if (algorithm.in_pairs || plan.protocol == Protocol::simple) return 1;
  return std::min(1.0, plan.threads / (plan.protocol == Protocol::ll ? most_ll : most_ll128));
}

/// The costs inside a node: threads, hops between GPUs, and the launch.
ProtocolCosts costs_inside(const Communicator& comm, const Plan& plan, const CollectiveAlgorithm& algorithm) {
  const Node& node = comm.node;
  const Architecture& gpu = node.architecture;
  const auto p = static_cast<std::size_t>(plan.protocol);
  ProtocolCosts c;
  c.wire = plan.protocol == Protocol::ll      ? 2.0
           : plan.protocol == Protocol::ll128 ? 16.0 / 15
                                              : 1.0;  // [NCCL-protocols]
  // Flags travel with the data in LL and LL128; only Simple has a separate handshake per slice.
  c.slice = plan.protocol == Protocol::simple ? gpu.slice.us() : Seconds{};
  c.cut_through = plan.protocol != Protocol::simple;
  c.copy_rate = gpu.rate[p].gbps() * part_of_threads(plan, algorithm);
  c.last_receive = node.software.last_receive.value;
  c.hop_inside = mean_hop_inside(comm, plan, algorithm);
  c.launch = gpu.launch.us();
  c.launch += channel_launch(comm, plan);
  return c;
}

/// Adds what lies between a buffer that a NIC reads and the one that the other NIC fills, proxy threads included.
void add_network(const Communicator& comm, const Plan& plan, ProtocolCosts& c) {
  const Node& node = comm.node;
  const Network& network = node.network;
  const bool ll = plan.protocol == Protocol::ll;
  c.launch += network.start.us();
  c.hop_network = network.hop[static_cast<std::size_t>(plan.protocol)].us() * node.architecture.network_hop.value;
  // Before Hopper, data written by GPUDirect RDMA may arrive after the flag that announces them, so the receiver
  // flushes [NCCL-protocols].
  const bool flushes = plan.protocol == Protocol::simple && comm.gdr && node.gpu.compute_capability < 90;
  if (flushes) c.hop_network += network.flush.us();
  c.message = network.message.us();
  // Over sockets the proxy thread copies the data itself, and its rate is the bottleneck [NCCL-sockets].
  if (network.thread_rate.value > 0) c.thread = per_byte(network.thread_rate.gbps());
  // In LL it checks the flags of each line in host memory before it sends.
  if (ll) c.check = per_byte(node.software.ll_check.gbps());
  // Messages above the threshold wait for a rendezvous of sender and receiver.
  c.rendezvous_bytes = whole_bytes(network.message_threshold.value * 1024);
  c.rendezvous = network.rendezvous.us();
}

/// Adds the path between GPU and NIC, and the switches that reduce.
void add_paths(const Communicator& comm, const CollectiveAlgorithm& algorithm, ProtocolCosts& c) {
  const Network& network = comm.node.network;
  // Staging in host memory: half of the cost is the sender's and half the receiver's.
  if (!comm.gdr || !comm.gdr_read) c.hop_network += network.staged_hop.us() * (comm.gdr ? 0.5 : 1);
  c.hop_network += 2 * socket_crossing(comm);  // the sender's and the receiver's
  // The scenario's `node.nics.delay`.
  c.hop_network += comm.node.spec.nics.delay;
  if (algorithm.network_trees && comm.sharp.available()) {
    c.hop_network += network.sharp_latency.us();
    // Trees that take turns in a switch get a share of its rate; the efficiency is what a reducing tree reaches of the
    // link.
    c.tree_weight = 1 / (network.sharp_efficiency.value * comm.sharp.share);
  }
}

/// Counts the visits of the busiest proxy thread, unless the algorithm has set them.
void add_visits(const Communicator& comm, const Plan& plan, ProtocolCosts& c) {
  // Sends and receives have one message of each direction at a time, whatever their transfers.
  if (c.visits > 0) return;
  const ProxyLoad proxy = busiest_proxy(comm, plan);
  c.visits = proxy.visits;
  c.sends = std::max(1.0, proxy.sends);
}

}  // namespace

ProtocolCosts protocol_costs(const Communicator& comm, const Plan& plan) {
  const CollectiveAlgorithm& algorithm = *find_by_algorithm(plan.algorithm);
  const bool network = comm.nodes() > 1;
  ProtocolCosts c = costs_inside(comm, plan, algorithm);
  if (network) add_network(comm, plan, c);
  if (algorithm.adjust_costs) algorithm.adjust_costs(comm, plan, c);
  if (!network) return c;
  add_paths(comm, algorithm, c);
  add_visits(comm, plan, c);
  return c;
}

}  // namespace fabricast
