#include "fabricast/protocol/costs.hpp"

#include <algorithm>
#include <limits>
#include <map>

#include "fabricast/collective/algorithm.hpp"

namespace fabricast {

std::vector<NodeClass> node_classes(const Communicator& comm, Algorithm algorithm) {
  const CollectiveAlgorithm& a = *find_by_algorithm(algorithm);
  if (!a.node_role) return {{0, static_cast<std::uint32_t>(comm.nodes())}};
  std::vector<NodeClass> classes;
  std::map<std::uint64_t, std::size_t> index_of;
  for (std::uint32_t node = 0; node < static_cast<std::uint32_t>(comm.nodes()); ++node) {
    const auto [it, fresh] = index_of.try_emplace(a.node_role(comm, node), classes.size());
    if (fresh)
      classes.push_back({node, 1});
    else
      ++classes[it->second].count;
  }
  return classes;
}

namespace {

/// Messages per slice of each channel that the busiest proxy thread sends and receives: a thread serves the connections
/// of one GPU.
struct ProxyLoad {
  double visits = 0;  ///< sends and receives
  double sends = 0;
};

ProxyLoad busiest_proxy(const Communicator& comm, const Plan& plan) {
  ProxyLoad most;
  const CollectiveAlgorithm& algorithm = *find_by_algorithm(plan.algorithm);
  std::vector<NodeTransfer> transfers;
  for (const NodeClass& c : node_classes(comm, plan.algorithm)) {
    std::vector<ProxyLoad> load(static_cast<std::size_t>(comm.gpus()));
    for (int channel = 0; channel < plan.channels; ++channel) {
      algorithm.node_transfers(comm, plan, channel, c.node, transfers);
      for (const NodeTransfer& t : transfers) {
        if (t.kind == NodeTransfer::Kind::gpu_to_nic)
          load[static_cast<std::size_t>(t.from)].visits += 1, load[static_cast<std::size_t>(t.from)].sends += 1;
        if (t.kind == NodeTransfer::Kind::nic_to_gpu) load[static_cast<std::size_t>(t.to)].visits += 1;
      }
    }
    for (const ProxyLoad& l : load)
      most.visits = std::max(most.visits, l.visits), most.sends = std::max(most.sends, l.sends);
  }
  return most;
}

/// s; what the link between the sockets adds to the way of a GPU to its NIC, where a wrong binding gives it one of the
/// other socket.
double socket_crossing(const Communicator& comm) {
  if (comm.node.spec.nics.numa != NicNuma::remote) return 0;
  double crossing = 0;
  const NodeGraph& graph = comm.node.graph;
  for (const std::uint16_t l : graph.gpu_to_nic(0, comm.nic_of_gpu.front(), comm.gdr))
    if (graph.links[l].link_class.kind == LinkKind::cpu_interconnect)
      crossing += graph.links[l].link_class.latency.value;
  return crossing;
}

}  // namespace

/// Bytes; messages up to it are copied by libfabric's Slingshot provider [cxi-inject].
constexpr std::int64_t small_message = 192;

double channel_launch(const Communicator& comm, const Plan& plan) {
  const Software& s = comm.node.software;
  return (comm.version < NcclVersion{2, 9, 0} ? s.channel_launch_old : s.channel_launch).us().value *
         plan.open_channels();
}

ProtocolCosts protocol_costs(const Communicator& comm, const Plan& plan) {
  const Node& node = comm.node;
  const auto p = static_cast<std::size_t>(plan.protocol);
  const bool ll = plan.protocol == Protocol::ll;
  ProtocolCosts c;
  c.wire = ll ? 2.0 : plan.protocol == Protocol::ll128 ? 16.0 / 15 : 1.0;  // [NCCL-protocols]
  // To ever other nodes a NIC reaches as little as in sends and receives.
  if (plan.algorithm == Algorithm::pat && comm.nodes() > 1) c.wire /= node.network.peer_efficiency.value;
  // Flags travel with the data in LL and LL128; only Simple has a separate handshake per slice.
  c.slice = plan.protocol == Protocol::simple ? node.architecture.slice.us().value : 0;
  // A ring's threads meet at a barrier after every step, so a step that fills more warps takes longer at once; in a tree
  // or chain lines pass each by itself.
  const bool steps = plan.algorithm == Algorithm::ring && !is_chain(plan.op);
  const bool pairs = plan.algorithm == Algorithm::p2p;
  c.cut_through = plan.protocol != Protocol::simple && !steps && !pairs;
  c.burst = ll && steps ? node.architecture.ll_burst.us().value : 0;
  c.copy_rate = node.architecture.rate[p].gbps().value;
  // One part of a block's threads goes up, the other down [NCCL-device].
  if (plan.algorithm == Algorithm::tree || plan.algorithm == Algorithm::collnetchain)
    c.both_ways = node.software.both_ways.value;
  // LL shifts what it loads into place; Simple copies it byte by byte [NCCL-device].
  if (pairs && !ll) c.unaligned = c.copy_rate / node.architecture.rate_unaligned.gbps().value;
  c.last_receive = node.software.last_receive.value;
  c.hop_inside = node.nvlink ? node.architecture.hop[p].us().value
                             : node.pcie_path.hop[p].us().value * node.architecture.pcie_hop.value;
  if (plan.algorithm == Algorithm::nvls || plan.algorithm == Algorithm::nvlstree) {
    const Architecture& gpu = node.architecture;
    c.hop_inside = gpu.nvls_hop.us().value;
    c.copy_rate = gpu.nvls_rate.gbps().value, c.copies = static_cast<double>(comm.heads.size());
    c.fan = plan.algorithm == Algorithm::nvlstree ? gpu.nvls_fan.value : 0, c.last_receive = 1;
    // With registered buffers heads reduce and store where the data is: nothing is copied in or out.
    if (plan.registered) c.copies = 1, c.in_place = true;
    // Heads' pieces are copied one after the other, and each copy has to drain.
    c.slice = c.copies * gpu.nvls_slice.us().value;
  }
  // Senders store to where the receiver wants it.
  if (pairs && plan.registered) c.last_receive = 0;
  if (plan.algorithm == Algorithm::collnetdirect) c.copies = static_cast<double>(comm.rail_gpus().size());
  if (plan.algorithm == Algorithm::symmetric) {
    // NCCL's estimate is of the whole kernel, its launch included.
    c.copy_rate = std::numeric_limits<double>::infinity();
    return c;
  }
  c.launch = node.architecture.launch.us().value;
  c.launch += channel_launch(comm, plan);
  if (comm.nodes() == 1) return c;

  const Network& network = node.network;
  c.launch += network.start.us().value;
  c.hop_network = network.hop[p].us().value * node.architecture.network_hop.value;
  if (comm.version < NcclVersion{2, 20, 0}) c.hop_network *= node.software.network_hop_old.value;
  // Data by GPUDirect RDMA may come after the flag that announces them, but on Hopper and later [NCCL-protocols].
  const bool flushes = plan.protocol == Protocol::simple && comm.gdr && node.gpu.compute_capability < 90;
  if (flushes) c.hop_network += network.flush.us().value;
  if (plan.algorithm == Algorithm::tree || plan.algorithm == Algorithm::nvlstree)
    c.hop_network *= network.tree_factor.value;
  // Half of the way through host memory is the sender's.
  if (!comm.gdr || !comm.gdr_read) c.hop_network += network.staged_hop.us().value * (comm.gdr ? 0.5 : 1);
  c.hop_network += 2 * socket_crossing(comm);  // the sender's and the receiver's
  if (find_by_algorithm(plan.algorithm)->network_trees && comm.sharp.available()) {
    c.hop_network += network.sharp_latency.us().value;
    c.tree_weight = 1 / (network.sharp_efficiency.value * comm.sharp.share);
  }
  c.message = network.message.us().value;
  // Next to a NIC a slice is told of by flags over PCIe.
  if (pairs || (steps && plan.protocol == Protocol::simple)) c.network_slice = network.nic_slice.us().value;
  if (network.thread_rate.value > 0) c.thread = 1 / network.thread_rate.gbps().value;
  if (pairs) {
    c.peer = network.peer.us().value;
    if (plan.pair <= small_message) c.peer += network.peer_small.us().value;
    // A visit is of a chunk that leaves and of one that comes.
    c.message = network.peer_chunk.us().value, c.visits = c.sends = 1, c.thread *= 2;
    c.copies_at_nic = plan.registered ? 0 : 1;
  } else {
    const ProxyLoad proxy = busiest_proxy(comm, plan);
    c.visits = proxy.visits, c.sends = std::max(1.0, proxy.sends);
  }
  if (ll) c.check = 1 / node.software.ll_check.gbps().value;
  // LL lines leave from host memory, whose messages go eagerly.
  if (!ll) c.rendezvous_bytes = network.message_threshold.value * 1024, c.rendezvous = network.rendezvous.us().value;
  return c;
}

}  // namespace fabricast
