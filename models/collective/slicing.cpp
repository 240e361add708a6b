#include <algorithm>

#include "fabricast/collective/schedule.hpp"

namespace fabricast {

SliceSize slice_chunk(const Plan& plan, std::int64_t chunk) {
  if (chunk <= 0) return {1, 0};
  // A slice is at least 1/32 of the largest, so short chunks are not cut [NCCL-device].
  const std::int64_t even = round_up(ceil_div(chunk, plan.slices_per_chunk), 16);
  const std::int64_t size = std::min(chunk, std::max(even, plan.least_slice));
  return {static_cast<int>(ceil_div(chunk, size)), size};
}

Loops cut_loops(const Plan& plan, std::int64_t share, std::int64_t parts) {
  Loops loops;
  const std::int64_t whole = plan.chunk * parts;
  loops.whole = share / whole;
  if (const std::int64_t rest = share - loops.whole * whole; rest > 0)
    loops.tail_chunk = std::min(plan.chunk, round_up(ceil_div(rest, parts), 16));
  if (loops.whole == 0 && loops.tail_chunk == 0) loops.tail_chunk = 1;  // an empty call still goes round
  return loops;
}

}  // namespace fabricast
