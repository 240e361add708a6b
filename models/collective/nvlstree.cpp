// NVLSTree: NVLS inside the nodes, the double binary tree between them.
//
// On the way up, each head adds what the nodes of its children have reduced of its chunk and sends the sum to the head
// of its parent. On the way down, it multicasts the result and sends it to its children. Trees connect heads of the
// same number, so traffic stays on its rail. Channel c uses tree c mod 2 [NCCL-trees].
#include <algorithm>
#include <array>

#include "fabricast/collective/double_tree.hpp"
#include "heads_program.hpp"

namespace fabricast {

namespace {

bool supports(CollectiveOp op) { return op == CollectiveOp::all_reduce; }

bool fits(const Communicator& comm, CollectiveOp, Protocol protocol) {
  return protocol == Protocol::simple && comm.nodes() > 1 && !comm.heads.empty();
}

// Channels of the same parity use the same tree and the NICs of all heads.
int edge_set(const Communicator&, int channel) { return channel % 2; }

void network_edges(const Communicator& comm, const Plan&, int channel, const EdgeSink& sink) {
  std::vector<int> nics;
  for (const int head : comm.heads) nics.push_back(comm.nic_of_gpu[static_cast<std::size_t>(head)]);
  double_tree_edges(comm.nodes(), edge_set(comm, channel), nics, sink);
}

std::uint64_t node_role(const Communicator& comm, std::uint32_t node) { return double_tree_role(comm.nodes(), node); }

// A head sends to and receives from every neighbour in the tree, so its NIC carries up to three times its chunk in each
// direction.
void node_transfers(const Communicator& comm, const Plan&, int channel, std::uint32_t node,
                    std::vector<NodeTransfer>& out) {
  out.clear();
  const TreePlace place = double_tree(comm.nodes(), node, channel % 2);
  for (const int head : comm.heads) {
    out.push_back({NodeTransfer::Kind::reduce, -1, head});
    out.push_back({NodeTransfer::Kind::multicast, head, -1});
    const int nic = comm.nic_of_gpu[static_cast<std::size_t>(head)];
    for (const std::int64_t other : {place.parent, place.children[0], place.children[1]})
      if (other >= 0) add_both_directions(out, head, nic);
  }
}

Stream stream(const Communicator& comm, const Plan& plan, int channel) {
  return heads_stream(plan, channel, comm.heads.size(), "nvls");
}
std::unique_ptr<ChannelProgram> program(const Communicator& comm, const Plan& plan, int channel) {
  return heads_program(comm, plan, channel, {comm.heads, true, false});
}

// A head's work for other nodes slows the copies of its block (`fan`), and hops between heads have a factor of their
// own (docs/models/nvls.md).
void adjust_costs(const Communicator& comm, const Plan& plan, ProtocolCosts& c) {
  nvswitch_costs(comm, plan, c);
  c.fan = comm.node.architecture.nvls_fan.value;
  c.hop_network *= comm.node.software.nvlstree_hop.value;
}

/// The largest chunk of an NVLSTree, B: shorter in deep trees since NCCL 2.19.3; on Blackwell by the NICs since 2.30.3.
std::int64_t most_chunk(const Communicator& comm, std::int64_t slot) {
  constexpr std::int64_t kib = 1024;
  const double nic = comm.node.nic_line_rate.value / 1e9;
  const int gpus = comm.gpus();
  if (comm.version < NcclVersion{2, 19, 3}) return slot;
  if (comm.version < NcclVersion{2, 21, 0}) return comm.nodes() >= 4 ? 64 * kib : slot;
  if (comm.node.gpu.compute_capability < 100 || comm.version < NcclVersion{2, 30, 3})
    return (comm.nodes() >= 4 ? 64 : 128) * kib;
  const bool near = comm.to_nic <= PathType::PXB;
  if (comm.nodes() == 2 && nic >= 48) {
    if (gpus <= 4) return 256 * kib;
    return (gpus >= 16 || (near && nic < 96) ? 64 : 128) * kib;
  }
  if (nic >= 96) return (gpus <= 8 ? 256 : gpus < 32 ? 128 : 64) * kib;
  if (nic >= 48) return (near ? 64 : 128) * kib;
  return (comm.nodes() >= 4 ? 64 : 128) * kib;
}

void cut(const Communicator& comm, const ChunkLimits& limits, Plan& plan) {
  constexpr std::array shorter = {HeadsLimit{32, 262144}, HeadsLimit{16, 131072}, HeadsLimit{4, 65536},
                                  HeadsLimit{1, 32768}};
  const std::int64_t most = limits.nvlstree.value_or(most_chunk(comm, limits.simple_slot));
  cut_for_heads(comm, limits, std::min(limits.nvls.value_or(most), most), shorter, plan);
}

constexpr std::array<std::string_view, 2> own_parameters = {".nvls_", ".nvlstree_hop"};

}  // namespace

CollectiveAlgorithm nvlstree_algorithm() {
  return {.algorithm = Algorithm::nvlstree,
          .name = "nvlstree",
          .summary = "NVLS inside nodes, double binary tree per rail between nodes",
          .source = "[Sanders2009]",
          .in_nvswitch = true,
          .own_parameters = own_parameters,
          .supports = supports,
          .fits = fits,
          .stream = stream,
          .network_edges = network_edges,
          .node_role = node_role,
          .node_transfers = node_transfers,
          .program = program,
          .cut = cut,
          .adjust_costs = adjust_costs,
          .edge_set = edge_set};
}

}  // namespace fabricast
