// CollNetDirect: every GPU sends each head its chunk directly, the heads reduce the data of their node, and the
// fabric's switches reduce over the nodes (SHARP). Each NIC sends and receives the bytes of its heads once, whatever
// the number of nodes [NCCL-device].
#include <array>

#include "heads_program.hpp"

namespace fabricast {

namespace {

bool supports(CollectiveOp op) { return op == CollectiveOp::all_reduce; }

bool fits(const Communicator& comm, CollectiveOp, Protocol protocol) {
  return protocol == Protocol::simple && comm.nodes() > 1 && comm.sharp.available() && comm.node.nvlink;
}

Stream stream(const Communicator& comm, const Plan& plan, int channel) {
  return heads_stream(plan, channel, comm.rail_gpus().size(), "sharp_heads");
}

// Every GPU sends each head its chunk and receives the result, over NVLink; only the heads use NICs.
void node_transfers(const Communicator& comm, const Plan&, int, std::uint32_t, std::vector<NodeTransfer>& out) {
  out.clear();
  for (const int head : comm.rail_gpus()) {
    for (int g = 0; g < comm.gpus(); ++g) {
      if (g == head) continue;
      out.push_back({NodeTransfer::Kind::gpu_to_gpu, g, head});
      out.push_back({NodeTransfer::Kind::gpu_to_gpu, head, g});
    }
    const int nic = comm.nic_of_gpu[static_cast<std::size_t>(head)];
    add_both_directions(out, head, nic);
  }
}

std::unique_ptr<ChannelProgram> program(const Communicator& comm, const Plan& plan, int channel) {
  return heads_program(comm, plan, channel, {comm.rail_gpus(), false, true});
}

// A GPU copies the chunks of all heads for each chunk that a head sends.
void adjust_costs(const Communicator& comm, const Plan&, ProtocolCosts& c) {
  c.copies = static_cast<double>(comm.rail_gpus().size());
}

/// Shorter chunks for shorter shares, so that the stages overlap.
void cut(const Communicator& comm, const ChunkLimits&, Plan& plan) {
  // NCCL's limits [NCCL-enqueue-2.3], with the depth of CollNetDirect on nodes of several GPUs.
  constexpr std::int64_t depth = 2;
  const auto heads = static_cast<std::int64_t>(comm.rail_gpus().size());
  plan.chunk = halved(plan.chunk, plan, 64 * depth * heads, 131072);
  plan.chunk = halved(plan.chunk, plan, 8 * depth * heads, 65536);
  plan.chunk = halved(plan.chunk, plan, 8 * depth * heads, 32768);
  plan.chunk = within_share(plan.chunk, plan, heads);
}

constexpr std::array<std::string_view, 1> own_parameters = {".sharp_"};

}  // namespace

CollectiveAlgorithm collnetdirect_algorithm() {
  return {.algorithm = Algorithm::collnetdirect,
          .name = "collnetdirect",
          .summary = "GPUs send to a head per NIC, switches reduce between nodes",
          .source = "[SHARP-manual]",
          .own_parameters = own_parameters,
          .supports = supports,
          .fits = fits,
          .stream = stream,
          .network_trees = head_trees,
          .node_transfers = node_transfers,
          .program = program,
          .cut = cut,
          .adjust_costs = adjust_costs};
}

}  // namespace fabricast
