// NVLS: the NVSwitch reduces and multicasts.
//
// A channel cuts its share into loops of one chunk per *head*. Every GPU copies its data into buffers that the NVSwitch
// can address as one; the head of a chunk loads the sum of all GPUs' copies through the switch and stores it back to all
// of them; then every GPU copies the results out [NCCL-device]. So a GPU's link carries each byte once each way, and not
// twice as around a ring. Buffers that the user has registered need no copying.
#include "nvls_program.hpp"

namespace fabricast {

namespace {

bool supports(CollectiveOp op) {
  return op == CollectiveOp::all_reduce || op == CollectiveOp::all_gather || op == CollectiveOp::reduce_scatter;
}

/// In an all_gather or reduce_scatter every rank is the head of its own part.
bool fits(const Communicator& comm, CollectiveOp op, Protocol protocol) {
  const auto heads = static_cast<std::int64_t>(comm.heads.size());
  return protocol == Protocol::simple && comm.nodes() == 1 && heads > 1 &&
         (op == CollectiveOp::all_reduce || heads == comm.ranks());
}

void network_edges(const Communicator&, const Plan&, int, const EdgeSink&) {}
std::uint64_t node_role(const Communicator&, std::uint32_t) { return 0; }

void node_transfers(const Communicator& comm, const Plan& plan, int, std::uint32_t, std::vector<NodeTransfer>& out) {
  out.clear();
  for (const int head : comm.heads) {
    if (plan.op != CollectiveOp::all_gather) out.push_back({NodeTransfer::Kind::reduce, -1, head});
    if (plan.op != CollectiveOp::reduce_scatter) out.push_back({NodeTransfer::Kind::multicast, head, -1});
  }
}

}  // namespace

CollectiveAlgorithm nvls_algorithm() {
  return {Algorithm::nvls, "nvls",     "reduced and multicast in the NVSwitch of one node", "[NCCL-device]", supports,
          fits, nvls_stream,     network_edges, node_role, node_transfers, nvls_program};
}

}  // namespace fabricast
