// Copy engines: an all_gather without thread blocks. Every rank copies its block into the buffers of all others, with
// one copy for each. The GPU's copy engines execute the copies at the speed of its links. Before and after, all ranks
// meet at a barrier: flags that their streams write and wait for [NCCL-ce].
//
//   time = launch + barriers * copy_barrier + n * copy_start + bytes on the most loaded link / its rate
//
// In a large call of many ranks, a further barrier after every eighth copy keeps the ranks in step.
//
// Not modelled: CUDA graphs, in which copies are issued one by one; the copy of a rank's own block, within its own
// memory; the links of a mesh being used one after the other.
#include <array>
#include <limits>

#include "fabricast/collective/algorithm.hpp"

namespace fabricast {

namespace {

// NCCL's first version with them, and its thresholds for the barriers that keep ranks in step: one after every eight
// copies, in calls of 512 MiB and more.
constexpr NcclVersion copy_engines_since{2, 28, 0};
constexpr std::int64_t copies_in_step = 8, in_step_from = std::int64_t{512} << 20;

/// NCCL has copy engines for sends and receives as well; these are not modelled.
bool supports(CollectiveOp op) { return op == CollectiveOp::all_gather; }

/// Never a candidate of NCCL's cost model: see `take`.
bool fits(const Communicator&, CollectiveOp, Protocol) { return false; }

/// NCCL uses them if the caller wants no thread blocks and all ranks reach each other's windows by NVLink.
std::optional<Plan> take(const Communicator& comm, const CallTerms& terms, CollectiveOp op, std::int64_t bytes) {
  const bool wanted = terms.zero_blocks && terms.buffers == Buffers::symmetric && supports(op);
  const bool able = comm.version >= copy_engines_since && comm.nodes() == 1 && comm.node.all_nvlink;
  if (!wanted || !able) return std::nullopt;
  Plan plan;
  plan.op = op;
  plan.bytes = bytes;
  plan.algorithm = Algorithm::copy_engine;
  plan.registered = true;
  plan.threads = 0;
  plan.chunk = bytes;
  plan.shares = {bytes};
  plan.offsets = {0};
  return plan;
}

std::int64_t barriers(std::int64_t ranks, std::int64_t bytes) {
  const bool in_step = ranks > copies_in_step && bytes >= in_step_from;
  return 2 + (in_step ? ceil_div(ranks, copies_in_step) - 1 : 0);
}

Stream stream(const Communicator& comm, const Plan& plan, int) {
  const Architecture& gpu = comm.node.architecture;
  Stream s;
  s.timing = "whole";
  s.loops = 1;
  s.slice = plan.bytes;
  s.alone.before = static_cast<double>(barriers(comm.ranks(), plan.bytes)) * gpu.copy_barrier.us().value +
                   static_cast<double>(comm.ranks()) * gpu.copy_start.us().value;
  // An empty buffer takes the same time until the first byte would move.
  s.alone.empty = s.alone.before;
  return s;
}

/// Weights are bytes of a transfer per byte of the call: one rank's block of a buffer as nccl-tests counts it.
void node_transfers(const Communicator& comm, const Plan&, int, std::uint32_t, std::vector<NodeTransfer>& out) {
  out.clear();
  add_all_pairs(out, comm.gpus(), 1.0 / static_cast<double>(comm.ranks()));
}

/// Only links limit the copies. There are no channels to launch.
void adjust_costs(const Communicator& comm, const Plan&, ProtocolCosts& c) {
  c.copy_rate.value = std::numeric_limits<double>::infinity();
  c.launch = comm.node.architecture.launch.us();
}

constexpr std::array<std::string_view, 2> own_parameters = {".copy_barrier", ".copy_start"};

}  // namespace

CollectiveAlgorithm copy_engine_algorithm() {
  return {.algorithm = Algorithm::copy_engine,
          .name = "copy_engine",
          .summary = "all-gather by the GPUs' copy engines",
          .source = "[NCCL-ce]",
          .one_stream = true,
          .own_parameters = own_parameters,
          .supports = supports,
          .fits = fits,
          .take = take,
          .stream = stream,
          .node_transfers = node_transfers,
          .adjust_costs = adjust_costs};
}

}  // namespace fabricast
