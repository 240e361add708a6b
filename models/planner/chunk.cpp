// How long chunks are: by protocol, then by the family of the algorithm [NCCL-enqueue-2.1] [NCCL-enqueue-2.3].
#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "plan_parts.hpp"

namespace fabricast {

namespace {

// Slots of a connection, and their payload.
constexpr int buffer_slots = 8;
constexpr Bytes ll_buffer{524288}, ll128_buffer{4915200}, simple_buffer{4 << 20};

std::int64_t simple_slot(const NcclSettings& settings) {
  return settings.buffer_size.value_or(simple_buffer).value / buffer_slots;
}

std::int64_t largest_share(const Plan& plan) { return *std::max_element(plan.shares.begin(), plan.shares.end()); }

/// A chunk that is no longer than one of `parts` parts of the largest share.
std::int64_t within_share(std::int64_t chunk, const Plan& plan, std::int64_t parts = 1) {
  return std::min(chunk, round_up(ceil_div(std::max<std::int64_t>(largest_share(plan), 1), parts), 16));
}

/// What the connections' buffers hold, whatever is sent.
void chunk_of_protocol(const NcclSettings& settings, Plan& plan) {
  const bool whole_ring = plan.algorithm == Algorithm::ring && !is_chain(plan.op);
  plan.slots = buffer_slots;
  plan.slices_per_chunk = 1;
  plan.least_slice = 0;
  switch (plan.protocol) {
    // Half of an LL line is data, and 120 of 128 B of an LL128 line.
    case Protocol::ll: plan.chunk = settings.ll_buffer_size.value_or(ll_buffer).value / buffer_slots / 2; break;
    case Protocol::ll128:
      plan.chunk = settings.ll128_buffer_size.value_or(ll128_buffer).value / buffer_slots / 16 * 15;
      break;
    case Protocol::simple:
      plan.chunk = simple_slot(settings);
      if (whole_ring) {
        // A chunk is four slots, handed on in two slices of two.
        plan.chunk = 4 * simple_slot(settings);
        plan.slices_per_chunk = 2;
        plan.least_slice = 2 * simple_slot(settings) / 32;
        plan.slots = buffer_slots / 2;
      }
      break;
  }
}

/// Largest chunk of a NVLSTree: short ones where trees are deep.
std::int64_t most_of_nvlstree(const Communicator& comm) {
  constexpr std::int64_t kib = 1024;
  const double nic = comm.node.nic_line_rate.value / 1e9;
  const int gpus = comm.gpus();
  if (comm.node.gpu.compute_capability < 100) return (comm.nodes() >= 4 ? 64 : 128) * kib;
  const bool near = comm.to_nic <= PathType::PXB;
  if (comm.nodes() == 2 && nic >= 48) {
    if (gpus <= 4) return 256 * kib;
    return (gpus >= 16 || (near && nic < 96) ? 64 : 128) * kib;
  }
  if (nic >= 96) return (gpus <= 8 ? 256 : gpus < 32 ? 128 : 64) * kib;
  if (nic >= 48) return (near ? 64 : 128) * kib;
  return (comm.nodes() >= 4 ? 64 : 128) * kib;
}

/// Shorter chunks for shorter shares, so that the stages overlap.
std::int64_t nvls_chunk(const Planner& planner, const Plan& plan) {
  const Communicator& comm = planner.comm;
  const NcclSettings& settings = planner.settings;
  const bool tree = plan.algorithm == Algorithm::nvlstree, all_reduce = plan.op == CollectiveOp::all_reduce;
  std::int64_t chunk = settings.nvls_chunk.value_or(Bytes{131072}).value;
  if (tree) {
    const std::int64_t most = settings.nvlstree_chunk.value_or(Bytes{most_of_nvlstree(comm)}).value;
    chunk = settings.nvls_chunk ? std::min(chunk, most) : most;
  }
  struct Limit {
    std::int64_t loops, chunk;
  };
  constexpr std::array nvls = {Limit{64, 65536}, Limit{8, 32768}, Limit{2, 16384}};
  constexpr std::array nvlstree = {Limit{32, 262144}, Limit{16, 131072}, Limit{4, 65536}, Limit{1, 32768}};
  const auto heads = static_cast<std::int64_t>(comm.heads.size());
  const std::int64_t buffer = all_reduce ? largest_share(plan) : largest_share(plan) * comm.ranks();
  for (const Limit& l : tree ? std::span<const Limit>(nvlstree) : nvls)
    if (buffer < l.loops * heads * chunk) chunk = std::min(chunk, l.chunk);
  // Without buffers of its own to fill, a whole slot at once.
  if (plan.registered && !all_reduce) chunk = simple_slot(settings);
  return within_share(chunk, plan, all_reduce ? heads : 1);
}

std::int64_t collnet_chunk(const Planner& planner, const Plan& plan) {
  const Communicator& comm = planner.comm;
  const bool chain = plan.algorithm == Algorithm::collnetchain;
  const std::int64_t depth = chain ? comm.gpus() : 2;
  const std::int64_t heads = chain ? 1 : static_cast<std::int64_t>(comm.rail_gpus().size());
  const std::int64_t slot = simple_slot(planner.settings), share = largest_share(plan);
  std::int64_t chunk = chain ? std::min<std::int64_t>(262144, slot) : plan.chunk;
  const auto halve = [&](std::int64_t loops, std::int64_t least) {
    while (share < loops * heads * chunk && chunk > least) chunk /= 2;
  };
  halve(64 * depth, 131072), halve(8 * depth, 65536), halve(chain ? depth : 8 * depth, 32768);
  return within_share(chunk, plan, heads);
}

std::int64_t pat_chunk(const Plan& plan) {
  const std::int64_t least = plan.op == CollectiveOp::all_gather ? 32 : 16;
  std::int64_t chunk = plan.chunk;
  while (chunk > 65536 && chunk * plan.channels * least > plan.bytes) chunk /= 2;
  return chunk;
}

std::int64_t tree_chunk(const Communicator& comm, const Plan& plan) {
  std::int64_t chunk = plan.chunk;
  if (plan.protocol == Protocol::ll128) {
    // Shorter chunks for shorter buffers, so that the tree's pipeline fills.
    const double per_node = comm.gpus();
    const double depth = 1 + std::floor(std::log2(static_cast<double>(comm.nodes()))) + 0.1 * per_node;
    const auto chunks = [&] { return static_cast<double>(largest_share(plan)) / static_cast<double>(chunk); };
    while (chunks() < 64 * depth / per_node && chunk > 131072) chunk /= 2;
    while (chunks() < 16 * depth / per_node && chunk > 32768) chunk /= 2;
  }
  return within_share(chunk, plan);
}

}  // namespace

void choose_chunk(const Planner& planner, Plan& plan) {
  chunk_of_protocol(planner.settings, plan);
  switch (plan.algorithm) {
    case Algorithm::nvls:
    case Algorithm::nvlstree: plan.chunk = nvls_chunk(planner, plan); break;
    case Algorithm::collnetdirect:
    case Algorithm::collnetchain: plan.chunk = collnet_chunk(planner, plan); break;
    case Algorithm::pat: plan.chunk = pat_chunk(plan); break;
    case Algorithm::tree: plan.chunk = tree_chunk(planner.comm, plan); break;
    default: break;  // a ring fills its buffers
  }
}

}  // namespace fabricast
