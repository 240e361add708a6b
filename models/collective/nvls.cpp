// NVLS: the NVSwitch reduces and multicasts.
//
// A channel cuts its share into loops of one chunk per *head*. Every GPU copies its data into buffers that the NVSwitch
// can address as one. The head of a chunk loads the sum of all GPUs' copies through the switch and stores it back to
// all of them. Then every GPU copies the results out [NCCL-device]. So the link of a GPU carries each byte once in each
// direction, not twice as in a ring. Over several nodes the heads need switches that reduce (SHARP).
#include <array>

#include "heads_program.hpp"

namespace fabricast {

namespace {

bool supports(CollectiveOp op) {
  return op == CollectiveOp::all_reduce || op == CollectiveOp::all_gather || op == CollectiveOp::reduce_scatter;
}

/// In an all_gather or reduce_scatter every rank is the head of its own block.
bool fits(const Communicator& comm, CollectiveOp op, Protocol protocol) {
  const auto heads = static_cast<std::int64_t>(comm.heads.size());
  if (protocol != Protocol::simple || heads < 2) return false;
  if (op == CollectiveOp::all_reduce) return comm.nodes() == 1 || comm.sharp.available();
  return comm.nodes() == 1 && heads == comm.ranks();
}

Stream stream(const Communicator& comm, const Plan& plan, int channel) {
  return heads_stream(plan, channel, comm.heads.size(), comm.nodes() == 1 ? "nvls" : "sharp_heads");
}

void node_transfers(const Communicator& comm, const Plan& plan, int, std::uint32_t, std::vector<NodeTransfer>& out) {
  out.clear();
  // A reduce loads the links of all GPUs towards the switch and one link out of it; a multicast does the reverse.
  for (const int head : comm.heads) {
    if (plan.op != CollectiveOp::all_gather) out.push_back({NodeTransfer::Kind::reduce, -1, head});
    if (plan.op != CollectiveOp::reduce_scatter) out.push_back({NodeTransfer::Kind::multicast, head, -1});
    if (comm.nodes() == 1) continue;
    const int nic = comm.nic_of_gpu[static_cast<std::size_t>(head)];
    add_both_directions(out, head, nic);
  }
}

std::unique_ptr<ChannelProgram> program(const Communicator& comm, const Plan& plan, int channel) {
  return heads_program(comm, plan, channel, {comm.heads, true, comm.nodes() > 1});
}

// 128 KiB and NCCL's limits for short buffers [NCCL-enqueue-2.3]. Not modelled: the 32 KiB that NCCL allows at most
// where NVLS over several nodes is slow in its cost model.
void cut(const Communicator& comm, const ChunkLimits& limits, Plan& plan) {
  constexpr std::array shorter = {HeadsLimit{64, 65536}, HeadsLimit{8, 32768}, HeadsLimit{2, 16384}};
  cut_for_heads(comm, limits, limits.nvls.value_or(131072), shorter, plan);
}

constexpr std::array<std::string_view, 1> own_parameters = {".nvls_"};

}  // namespace

CollectiveAlgorithm nvls_algorithm() {
  return {.algorithm = Algorithm::nvls,
          .name = "nvls",
          .summary = "the NVSwitch reduces and multicasts",
          .source = "[NCCL-device]",
          .in_nvswitch = true,
          .own_parameters = own_parameters,
          .supports = supports,
          .fits = fits,
          .stream = stream,
          .network_trees = head_trees,
          .node_transfers = node_transfers,
          .program = program,
          .cut = cut,
          .adjust_costs = nvswitch_costs};
}

}  // namespace fabricast
