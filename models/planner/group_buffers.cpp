// GPU memory of NCCL's buffers (planner/group_buffers.hpp):
//
//   B = LL + LL128 + Simple          a connection inside a node, and the receiver of one over the network
//   S = LL128 + Simple               the sender of a connection over the network
//   ring, per channel and GPU        B + S / gpus, on several nodes; B on one
//   tree, in addition                B (gpus - 1) / gpus + 2 (B + S) (nodes - 1) / nodes / gpus
//   NVLS, per channel                2 x 8 chunk x gpus
//
// A double tree has one edge up per node but the root, with traffic in both directions.
#include "fabricast/planner/group_buffers.hpp"

#include <cmath>

#include "fabricast/planner/buffer_memory.hpp"

namespace fabricast {

namespace {

constexpr double nvls_slots = 8;

/// B and S.
struct EndBuffers {
  double inside, sender;
};
EndBuffers end_buffers(const NcclSettings& settings) {
  const BufferSizes sizes = buffer_sizes(settings);
  return {fractional(sizes.all()), fractional(sizes.ll128 + sizes.simple)};
}

Bytes of_channels(const BufferedGroup& group, double per_channel) {
  return whole_bytes(std::round(per_channel * group.channels));
}

}  // namespace

Bytes ring_buffers(const BufferedGroup& group, const NcclSettings& settings) {
  const EndBuffers b = end_buffers(settings);
  const auto gpus = static_cast<double>(group.gpus);
  if (group.nodes == 1) return of_channels(group, b.inside);
  return of_channels(group, b.inside * (gpus - 1) / gpus + (group.gdr ? (b.inside + b.sender) / gpus : 0));
}

Bytes tree_buffers(const BufferedGroup& group, const NcclSettings& settings) {
  const EndBuffers b = end_buffers(settings);
  const auto gpus = static_cast<double>(group.gpus), nodes = static_cast<double>(group.nodes);
  const double over_network = group.gdr ? 2 * (b.inside + b.sender) * (nodes - 1) / nodes / gpus : 0;
  return of_channels(group, b.inside * (gpus - 1) / gpus + over_network);
}

Bytes nvls_buffers(const BufferedGroup& group, Bytes chunk) {
  return of_channels(group, 2 * nvls_slots * fractional(chunk) * static_cast<double>(group.gpus));
}

}  // namespace fabricast
