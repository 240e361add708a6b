// Channels of NVLS on registered buffers, and the policy that prefers them (planner/planner.hpp).
//
// On registered buffers nothing is copied, so few channels fill the NVLinks, and NCCL leaves the other SMs to
// computation. Its numbers are by version, operation and generation [NCCL-registered-channels]; from 2.27 on they grow
// as the GPUs of a node become fewer.
#include <algorithm>

#include "plan_parts.hpp"

namespace fabricast {

namespace {

constexpr int first_blackwell = 100;         // compute capability 10.0
constexpr std::int64_t heads_of_factor = 8;  // factors are for nodes of eight GPUs

int before_2_27(const NcclVersion& version, CollectiveOp op, bool one_node, bool newer) {
  // Blackwell's own numbers came with 2.25.
  newer &= version >= NcclVersion{2, 25, 0};
  if (!one_node) return newer ? 7 : 6;
  if (op == CollectiveOp::reduce_scatter) return newer ? 6 : 5;
  return newer ? 8 : 4;
}

/// Channels of a node of eight GPUs.
int since_2_27(const Communicator& comm, const NcclVersion& version, CollectiveOp op, bool newer) {
  const double nic = comm.node.nic_line_rate.value, nics = static_cast<double>(comm.node.spec.nics.count);
  if (comm.nodes() == 1) {
    if (op == CollectiveOp::all_gather) return 4;
    if (op == CollectiveOp::reduce_scatter) return newer ? 6 : 5;
    return newer ? 8 : 4;
  }
  if (op == CollectiveOp::all_gather) return 6;
  // NCCL compares its own estimate of the bandwidth with 400 GB/s; a guess: that of the node's NICs.
  if (op == CollectiveOp::reduce_scatter) return nic * nics > 400e9 ? 7 : 6;
  if (newer && version >= NcclVersion{2, 30, 3} && nic >= 96e9) return 10;
  return newer ? 7 : 6;
}

}  // namespace

int registered_nvls_channels(const Planner& planner, CollectiveOp op) {
  const Communicator& comm = planner.comm;
  const NcclVersion& version = planner.settings.version;
  const bool newer = comm.node.gpu.compute_capability >= first_blackwell;
  int channels = 0;
  if (version < NcclVersion{2, 27, 0}) {
    channels = before_2_27(version, op, comm.nodes() == 1, newer);
  } else {
    const std::int64_t factor = heads_of_factor * since_2_27(comm, version, op, newer);
    channels = static_cast<int>((factor + comm.gpus() - 1) / comm.gpus());
  }
  channels = std::min(channels, planner.settings.max_channels.value_or(channels));
  return std::max(channels, planner.settings.min_channels.value_or(channels));
}

std::optional<Candidate> efficient_choice(const Planner& planner, CollectiveOp op, const Plan& chosen) {
  const NcclSettings& s = planner.settings;
  const Communicator& comm = planner.comm;
  if (!s.few_blocks || s.algorithms_given || s.protocols_given || s.version < NcclVersion{2, 27, 0}) return {};
  if (op != CollectiveOp::all_gather && op != CollectiveOp::reduce_scatter) return {};
  // Not on an NVLink domain of several hosts [NCCL-registered-channels].
  if (comm.node.hosts > 1 || planner.buffers == Buffers::plain || !works_in_place(planner, nvls_in_place)) return {};
  for (const Candidate& c : chosen.candidates)
    if (c.algorithm == Algorithm::nvls && c.protocol == Protocol::simple)
      return registered_nvls_channels(planner, op) <= chosen.channels ? std::optional(c) : std::nullopt;
  return {};
}

}  // namespace fabricast
