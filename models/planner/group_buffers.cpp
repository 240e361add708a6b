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

namespace fabricast {

namespace {

constexpr Bytes buffer_ll{524288}, buffer_ll128{4915200}, buffer_simple{4 << 20};  // NCCL's defaults [NCCL-env]
constexpr double slots = 8;

struct BufferSizes {
  double inside, sender;
};
BufferSizes buffer_sizes(const NcclSettings& settings) {
  const auto sent = fractional(settings.ll128_buffer_size.value_or(buffer_ll128)) +
                    fractional(settings.buffer_size.value_or(buffer_simple));
  return {sent + fractional(settings.ll_buffer_size.value_or(buffer_ll)), sent};
}

Bytes of_channels(const BufferedGroup& group, double per_channel) {
  return whole_bytes(std::round(per_channel * group.channels));
}

}  // namespace

Bytes connection_buffers(const NcclSettings& settings) { return whole_bytes(buffer_sizes(settings).inside); }

Bytes ring_buffers(const BufferedGroup& group, const NcclSettings& settings) {
  const BufferSizes b = buffer_sizes(settings);
  const auto gpus = static_cast<double>(group.gpus);
  if (group.nodes == 1) return of_channels(group, b.inside);
  return of_channels(group, b.inside * (gpus - 1) / gpus + (group.gdr ? (b.inside + b.sender) / gpus : 0));
}

Bytes tree_buffers(const BufferedGroup& group, const NcclSettings& settings) {
  const BufferSizes b = buffer_sizes(settings);
  const auto gpus = static_cast<double>(group.gpus), nodes = static_cast<double>(group.nodes);
  const double over_network = group.gdr ? 2 * (b.inside + b.sender) * (nodes - 1) / nodes / gpus : 0;
  return of_channels(group, b.inside * (gpus - 1) / gpus + over_network);
}

Bytes nvls_buffers(const BufferedGroup& group, Bytes chunk) {
  return of_channels(group, 2 * slots * fractional(chunk) * static_cast<double>(group.gpus));
}

}  // namespace fabricast
