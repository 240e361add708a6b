#include "fabricast/report/harness.hpp"

#include <algorithm>

#include "fabricast/protocol/costs.hpp"

namespace fabricast {

namespace {

/// Whether the larger buffer of a rank has a share for each rank.
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
  if (asked % (ranks * element) == 0 || asked / ranks < aligned) return asked;
  return asked / ranks / aligned * aligned * ranks;
}

double harness_time(const HarnessSpec& harness, const Communicator& comm, const Plan& plan, const CollectiveResult& r) {
  const double call = (r.launch + r.makespan).value;
  if (harness.tool == Tool::isolated) return call;
  const Architecture& gpu = comm.node.architecture;
  double time = call;
  // Broadcasts and reduces that are issued back to back overlap, because a rank continues with the next call as soon as
  // its own share is done. The busiest station sets the pace, and the latency of the chain is paid once per run.
  if (is_chain(plan.op) && harness.tool != Tool::host_timed)
    time = std::min(call, gpu.issue_gap.us().value + channel_launch(comm, plan) + r.work.value +
                              std::max(0.0, (r.makespan - r.work).value) / harness.iterations);
  const int per_thread = harness.ranks_per_process / std::max(1, harness.threads);
  const double group = is_point_to_point(plan.op) ? comm.node.software.issue_group.us().value : 0;
  if (per_thread > 1) time = std::max(time, per_thread * (gpu.issue_per_gpu.us().value + group));
  if (harness.tool == Tool::pytorch) time += comm.node.software.pytorch.us().value;
  if (harness.tool == Tool::host_timed) time += comm.node.software.host_timed.us().value;
  return time;
}

}  // namespace fabricast
