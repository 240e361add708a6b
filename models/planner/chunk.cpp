// Chunk sizes: the capacity of a protocol's slots, then the rules of the algorithm [NCCL-enqueue-2.1]
// [NCCL-enqueue-2.3].
//
// Parts of the buffer that belong together in NCCL are kept apart here: a slot depends on the protocol and on the
// BUFFSIZE variables alone, and the descriptor of an algorithm (`cut`, models/collective) shortens chunks for the size
// of a call. The planner calls this after the channels have their shares, because the rules compare a chunk with the
// share of a channel.
#include "fabricast/collective/algorithm.hpp"
#include "fabricast/planner/buffer_memory.hpp"
#include "plan_parts.hpp"

namespace fabricast {

namespace {

// Slots per connection.
constexpr int buffer_slots = 8;

ChunkLimits limits_of(const NcclSettings& settings) {
  const auto given = [](const std::optional<Bytes>& bytes) {
    return bytes ? std::optional(bytes->value) : std::nullopt;
  };
  return {buffer_sizes(settings).simple.value / buffer_slots, given(settings.nvls_chunk),
          given(settings.nvlstree_chunk)};
}

/// Payload of a slot, independent of the call.
std::int64_t chunk_of_protocol(const NcclSettings& settings, Protocol protocol) {
  switch (protocol) {
    // Half of an LL line is data, and 120 of 128 B of an LL128 line.
    case Protocol::ll: return buffer_sizes(settings).ll.value / buffer_slots / 2;
    case Protocol::ll128: return buffer_sizes(settings).ll128.value / buffer_slots / 16 * 15;
    case Protocol::simple: break;
  }
  return limits_of(settings).simple_slot;
}

}  // namespace

void choose_chunk(const Planner& planner, Plan& plan) {
  plan.slots = buffer_slots;
  plan.slices_per_chunk = 1;
  plan.least_slice = 0;
  plan.chunk = chunk_of_protocol(planner.settings, plan.protocol);
  const CollectiveAlgorithm& algorithm = *find_by_algorithm(plan.algorithm);
  if (algorithm.cut) algorithm.cut(planner.comm, limits_of(planner.settings), plan);
}

}  // namespace fabricast
