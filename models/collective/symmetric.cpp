// Kernels for symmetric memory as a stream: one transfer of the whole buffer, and its load on the links of the node.
// There is no schedule of steps. Every GPU reaches every other one directly, and the kernel's time is NCCL's own
// estimate.
#include <limits>

#include "fabricast/collective/algorithm.hpp"

namespace fabricast {

namespace {

bool supports(CollectiveOp op) {
  return op == CollectiveOp::all_reduce || op == CollectiveOp::all_gather || op == CollectiveOp::reduce_scatter;
}

/// Never a candidate of NCCL's cost model: the planner has separate rules for when they run (planner/symmetric.hpp).
bool fits(const Communicator&, CollectiveOp, Protocol) { return false; }

Stream stream(const Communicator&, const Plan& plan, int) {
  Stream s;
  s.timing = "whole";
  s.loops = 1;
  s.slice = plan.bytes;
  // The estimate is the least time of the call. If the links of the node need longer for the bytes below, for example
  // because of a fault, the engine takes their time.
  s.alone.least = plan.kernels.front().estimate_us * 1e-6;
  s.alone.empty = plan.kernels.front().least_us * 1e-6;
  return s;
}

/// Weights are bytes of a transfer per byte of the call, as nccl-tests counts it.
void node_transfers(const Communicator& comm, const Plan& plan, int, std::uint32_t, std::vector<NodeTransfer>& out) {
  out.clear();
  const double part = 1.0 / static_cast<double>(comm.ranks());
  const auto pairs = [&](double weight) { add_all_pairs(out, comm.gpus(), weight); };
  const auto reduce = [&](double weight) {
    for (int g = 0; g < comm.gpus(); ++g) out.push_back({NodeTransfer::Kind::reduce, -1, g, weight});
  };
  const auto multicast = [&](double weight) {
    for (int g = 0; g < comm.gpus(); ++g) out.push_back({NodeTransfer::Kind::multicast, g, -1, weight});
  };
  switch (plan.kernels.front().kernel) {
    // A kernel in two phases moves 1/n of the buffer for each pair in each phase; LL gathers the whole buffer of every
    // rank in one.
    case SymmetricKernel::all_reduce_ll: return pairs(1);
    case SymmetricKernel::all_reduce_llmc: return multicast(1);
    case SymmetricKernel::all_reduce_ld_st: return pairs(2 * part);
    case SymmetricKernel::all_reduce_ldmc_stmc: return reduce(part), multicast(part);
    case SymmetricKernel::all_gather_ll:
    case SymmetricKernel::all_gather_st:
    case SymmetricKernel::reduce_scatter_ll:
    case SymmetricKernel::reduce_scatter_ld: return pairs(part);
    case SymmetricKernel::all_gather_llmc:
    case SymmetricKernel::all_gather_stmc: return multicast(part);
    case SymmetricKernel::reduce_scatter_ldmc: return reduce(part);
  }
}

/// NCCL's estimate covers the whole kernel, its launch included.
void adjust_costs(const Communicator&, const Plan&, ProtocolCosts& c) {
  c.copy_rate.value = std::numeric_limits<double>::infinity();
  c.launch = {};
}

}  // namespace

CollectiveAlgorithm symmetric_algorithm() {
  return {.algorithm = Algorithm::symmetric,
          .name = "symmetric",
          .summary = "kernels for symmetric memory",
          .source = "[NCCL-symmetric]",
          .one_stream = true,
          .supports = supports,
          .fits = fits,
          .stream = stream,
          .node_transfers = node_transfers,
          .adjust_costs = adjust_costs};
}

}  // namespace fabricast
