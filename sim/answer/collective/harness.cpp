// What a benchmark tool prints for a call, from the time of one isolated call (docs/models/harness.md).
//
//    isolated       launch + makespan
//    broadcast      min( launch + makespan,
//                        issue_gap + channels x channel_launch + work + max(0, makespan - work) / iterations )
//    all            >= (ranks_per_process / threads) x (issue_per_gpu + issue_group)     if more than one per thread
//
// The floors and the overlap were found on public logs of nccl-tests [accuracy-study-2].
#include "fabricast/report/harness.hpp"

#include <algorithm>

#include "fabricast/protocol/costs.hpp"

namespace fabricast {

namespace {

/// Whether the larger buffer of a rank has a share for each rank.
/// Only these have sizes that nccl-tests rounds. For the others every rank has the whole buffer, of any size.
bool has_parts(CollectiveOp op) {
  switch (op) {
    case CollectiveOp::all_gather:
    case CollectiveOp::reduce_scatter:
    case CollectiveOp::alltoall:
    case CollectiveOp::scatter:
    case CollectiveOp::gather: return true;
    default: return false;
  }
}

constexpr std::int64_t aligned = 16;  // B, to which shares are rounded down [nccl-tests-parts]
constexpr std::int64_t element = 4;   // B of a float

}  // namespace

bool harness_calls(const HarnessSpec& harness, CollectiveOp op, std::int64_t ranks, std::int64_t asked) {
  return harness.tool != Tool::nccl_tests || asked / (has_parts(op) ? ranks : 1) >= (has_parts(op) ? aligned : element);
}

std::int64_t harness_bytes(const HarnessSpec& harness, CollectiveOp op, std::int64_t ranks, std::int64_t asked) {
  if (harness.tool != Tool::nccl_tests || !has_parts(op)) return asked;
  // Sizes with whole elements for each rank come from older versions, which did not round, or are intended.
  // Shares below 16 B would become 0: there nccl-tests runs nothing (harness_calls), and the forecast is of the size as
  // asked.
  if (asked % (ranks * element) == 0 || asked / ranks < aligned) return asked;
  return asked / ranks / aligned * aligned * ranks;
}

Seconds harness_time(const HarnessSpec& harness, const Communicator& comm, const Plan& plan,
                     const CollectiveResult& r) {
  const Seconds call = r.launch + r.makespan;
  if (harness.tool == Tool::isolated) return call;
  const Architecture& gpu = comm.node.architecture;
  Seconds time = call;
  // Broadcasts and reduces that are issued back to back overlap, because a rank continues with the next call as soon as
  // its own share is done. The busiest station sets the pace, and the latency of the chain is paid once per run.
  if (is_chain(plan.op) && harness.tool != Tool::host_timed)
    time = std::min(call, gpu.issue_gap.us() + channel_launch(comm, plan) + r.work +
                              std::max(Seconds{}, r.makespan - r.work) / harness.iterations);
  // One process with one thread issues the calls of its GPUs one after the other. GPUs wait for the last of them, so
  // the host's time for all is a lower bound for the period of calls.
  const int per_thread = harness.ranks_per_process / std::max(1, harness.threads);
  // NCCL collects the sends and receives of a group and sorts them before it launches. Collectives have no such step.
  const Seconds group = is_point_to_point(plan.op) ? comm.node.software.issue_group.us() : Seconds{};
  if (per_thread > 1) time = std::max(time, per_thread * (gpu.issue_per_gpu.us() + group));
  // These two wait for each call before they issue the next one, so their own cost is not hidden behind the previous
  // call.
  if (harness.tool == Tool::pytorch) time += comm.node.software.pytorch.us();
  if (harness.tool == Tool::host_timed) time += comm.node.software.host_timed.us();
  return time;
}

}  // namespace fabricast
