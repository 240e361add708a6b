// The vocabulary of collectives: operations, algorithms, kinds of buffers, and how nccl-tests derives bus bandwidth.
//
// Names of enumerators (EnumNames) are those of scenarios, JSON and CSV. "Collective" includes send and receive.
//
// Pure functions; safe to call concurrently.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "fabricast/core/enum_names.hpp"
#include "fabricast/core/units.hpp"
#include "fabricast/hardware/hardware.hpp"  // Protocol

namespace fabricast {

/// Operations. The first five are collectives of NCCL, in its order. The others consist of sends and receives.
/// The root of broadcast, reduce, scatter and gather is rank 0; in a sendrecv, rank r sends to rank r + 1.
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
/// Whether the operation consists of sends and receives.
constexpr bool is_point_to_point(CollectiveOp op) { return op > CollectiveOp::all_reduce; }
/// Whether data flow from one rank to all others, or from all to one. A ring is then an open chain, and calls that are
/// issued back to back overlap.
constexpr bool is_chain(CollectiveOp op) { return op == CollectiveOp::broadcast || op == CollectiveOp::reduce; }

/// Algorithms: first those that NCCL's cost model chooses from, in NCCL's order, then those that it runs without
/// consulting its cost model.
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
/// Number of algorithms that NCCL's cost model chooses from.
constexpr std::size_t algorithm_count = 7;
/// Whether NCCL's cost model chooses from it.
constexpr bool is_in_cost_model(Algorithm algorithm) { return static_cast<std::size_t>(algorithm) < algorithm_count; }

/// The caller's buffers: ordinary memory, registered with NCCL, or in windows of symmetric memory.
enum class Buffers { plain, registered, symmetric };
template <>
struct EnumNames<Buffers> {
  static constexpr std::array<std::string_view, 3> names{"plain", "registered", "symmetric"};
};

/// Bus bandwidth divided by algorithm bandwidth, as nccl-tests defines it [nccl-tests-performance]. Dimensionless;
/// 2 (n - 1) / n for an all_reduce of n ranks.
/// \pre ranks >= 1
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
