// How a channel's share is cut: loops, chunks of a loop, and slices of a chunk. Descriptors of algorithms combine these
// helpers, so that both views of a schedule cut in the same way. All sizes are rounded up to 16 B, the unit of NCCL's
// loads and stores.
#include <algorithm>

#include "fabricast/collective/schedule.hpp"

namespace fabricast {

SliceSize slice_chunk(const Plan& plan, std::int64_t chunk) {
  if (chunk <= 0) return {1, 0};
  // In rings a slice has at least 1/32 of its largest size, so short chunks are not cut [NCCL-device].
  const std::int64_t even = round_up(ceil_div(chunk, plan.slices_per_chunk), 16);
  const std::int64_t size = std::min(chunk, std::max(even, plan.least_slice));
  return {static_cast<int>(ceil_div(chunk, size)), size};
}

std::int64_t largest_share(const Plan& plan) { return *std::max_element(plan.shares.begin(), plan.shares.end()); }

std::int64_t within_share(std::int64_t chunk, const Plan& plan, std::int64_t parts) {
  return std::min(chunk, round_up(ceil_div(std::max<std::int64_t>(largest_share(plan), 1), parts), 16));
}

std::int64_t halved(std::int64_t chunk, const Plan& plan, std::int64_t count, std::int64_t least) {
  while (largest_share(plan) < count * chunk && chunk > least) chunk /= 2;
  return chunk;
}

Loops cut_loops(const Plan& plan, std::int64_t share, std::int64_t parts) {
  Loops loops;
  // The remainder is spread over all parts of one more loop, with a shorter chunk: in an all_reduce every rank must
  // take part in it.
  const std::int64_t whole = plan.chunk * parts;
  loops.whole = share / whole;
  if (const std::int64_t rest = share - loops.whole * whole; rest > 0)
    loops.tail_chunk = std::min(plan.chunk, round_up(ceil_div(rest, parts), 16));
  if (loops.whole == 0 && loops.tail_chunk == 0) loops.tail_chunk = 1;  // an empty call still runs through its steps
  return loops;
}

Stream chunk_stream(const Plan& plan, int channel, std::string_view timing, std::int64_t parts) {
  Stream s;
  s.timing = timing;
  s.slots = plan.slots;
  const Loops loops = cut_loops(plan, plan.shares[static_cast<std::size_t>(channel)], parts);
  s.loops = loops.whole;
  s.slices = 1;
  s.slice = plan.chunk;
  if (loops.tail_chunk > 0) {
    s.tail_slices = 1;
    s.tail_slice = loops.tail_chunk;
  }
  return s;
}

void add_both_directions(std::vector<NodeTransfer>& transfers, int gpu, int nic, double weight) {
  transfers.push_back({NodeTransfer::Kind::gpu_to_nic, gpu, nic, weight});
  transfers.push_back({NodeTransfer::Kind::nic_to_gpu, nic, gpu, weight});
}

void add_all_pairs(std::vector<NodeTransfer>& transfers, int gpus, double weight) {
  for (int from = 0; from < gpus; ++from)
    for (int to = 0; to < gpus; ++to)
      if (from != to) transfers.push_back({NodeTransfer::Kind::gpu_to_gpu, from, to, weight});
}

void add_chain(std::vector<NodeTransfer>& transfers, const std::vector<int>& gpus) {
  for (std::size_t i = 0; i + 1 < gpus.size(); ++i) {
    transfers.push_back({NodeTransfer::Kind::gpu_to_gpu, gpus[i + 1], gpus[i]});
    transfers.push_back({NodeTransfer::Kind::gpu_to_gpu, gpus[i], gpus[i + 1]});
  }
}

}  // namespace fabricast
