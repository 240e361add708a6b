// Words of the trade: operations, algorithms, and how nccl-tests counts their bytes and bandwidth.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "fabricast/core/enum_names.hpp"
#include "fabricast/core/units.hpp"
#include "fabricast/hardware/hardware.hpp"  // Protocol

namespace fabricast {

/// The first five in NCCL's order; the others are made of sends and receives.
enum class CollectiveOp {
  broadcast,
  reduce,
  all_gather,
  reduce_scatter,
  all_reduce,
  alltoall,
  sendrecv,
  scatter,
  gather
};
template <>
struct EnumNames<CollectiveOp> {
  static constexpr std::array<std::string_view, 9> names{
      "broadcast", "reduce", "all_gather", "reduce_scatter", "all_reduce", "alltoall", "sendrecv", "scatter", "gather"};
};
constexpr bool is_point_to_point(CollectiveOp op) { return op > CollectiveOp::all_reduce; }
/// From one rank to all others or the other way round: rings are open, and calls back to back overlap.
constexpr bool is_chain(CollectiveOp op) { return op == CollectiveOp::broadcast || op == CollectiveOp::reduce; }

/// What NCCL's cost model chooses from, in its order; then what it runs without asking that.
enum class Algorithm {
#define FABRICAST_COLLECTIVE(name) name,
#include "fabricast/collective/algorithms.inc"
#undef FABRICAST_COLLECTIVE
};
template <>
struct EnumNames<Algorithm> {
  static constexpr auto names = std::to_array<std::string_view>({
#define FABRICAST_COLLECTIVE(name) #name,
#include "fabricast/collective/algorithms.inc"
#undef FABRICAST_COLLECTIVE
  });
};
/// Those that NCCL's cost model chooses from.
constexpr std::size_t algorithm_count = 7;
constexpr bool is_in_cost_model(Algorithm algorithm) { return static_cast<std::size_t>(algorithm) < algorithm_count; }

/// The caller's buffers: as they come, registered with NCCL, or in windows of symmetric memory.
enum class Buffers { plain, registered, symmetric };
template <>
struct EnumNames<Buffers> {
  static constexpr std::array<std::string_view, 3> names{"plain", "registered", "symmetric"};
};

/// busbw / algbw as nccl-tests defines it [nccl-tests-performance]. \pre ranks >= 1
constexpr double bus_factor(CollectiveOp op, std::int64_t ranks) {
  const double n = static_cast<double>(ranks);
  switch (op) {
    case CollectiveOp::all_reduce: return 2 * (n - 1) / n;
    case CollectiveOp::all_gather:
    case CollectiveOp::reduce_scatter:
    case CollectiveOp::alltoall:
    case CollectiveOp::scatter:
    case CollectiveOp::gather: return (n - 1) / n;
    default: return 1;
  }
}

}  // namespace fabricast
