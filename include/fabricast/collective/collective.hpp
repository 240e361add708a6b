// The vocabulary of collectives: operations, algorithms, kinds of buffers, and how nccl-tests derives bus bandwidth.
//
// Names of enumerators (EnumNames) are those of scenarios, JSON and CSV. "Collective" includes send and receive.
//
// The orders of the enumerators matter: tables of NCCL's cost model and of its variables are indexed by the first five
// operations and by the first `algorithm_count` algorithms. To add an algorithm, see collective/algorithm.hpp.
//
// Sizes of calls are counted as nccl-tests does [nccl-tests-performance]: the larger of the send and the receive buffer
// of a rank. So an all_gather of n ranks and size S contributes S / n per rank.
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
  broadcast,       ///< all ranks get the buffer of the root
  reduce,          ///< the root gets the sum of all buffers
  all_gather,      ///< all ranks get the parts of all ranks
  reduce_scatter,  ///< rank r gets part r of the sum
  all_reduce,      ///< all ranks get the sum
  alltoall,        ///< rank r sends its part s to rank s, for all pairs
  sendrecv,        ///< a ring of messages: each rank sends one and receives one
  scatter,         ///< the root sends part r to rank r
  gather           ///< the root receives the part of each rank
};
template <>
struct EnumNames<CollectiveOp> {
  static constexpr std::array<std::string_view, 9> names{
      "broadcast", "reduce", "all_gather", "reduce_scatter", "all_reduce", "alltoall", "sendrecv", "scatter", "gather"};
};
/// Whether the operation consists of sends and receives.
constexpr bool is_point_to_point(CollectiveOp op) { return op > CollectiveOp::all_reduce; }
/// Whether data flow from one rank to all others, or from all to one, by an algorithm of NCCL: broadcast and reduce. A
/// ring is then an open chain, and calls that are issued back to back overlap. Scatter and gather are not chains: the
/// root exchanges messages with each rank.
constexpr bool is_chain(CollectiveOp op) { return op == CollectiveOp::broadcast || op == CollectiveOp::reduce; }

/// Algorithms: first those that NCCL's cost model chooses from, in NCCL's order, then those that it runs without
/// consulting its cost model. Each name is a line of algorithms.inc and has a descriptor in models/collective, with its
/// meaning, source and schedule (collective/algorithm.hpp).
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
/// Number of algorithms that NCCL's cost model chooses from: tree to pat. NCCL_ALGO accepts these.
constexpr std::size_t algorithm_count = 7;
/// Whether NCCL's cost model chooses from it.
constexpr bool is_in_cost_model(Algorithm algorithm) { return static_cast<std::size_t>(algorithm) < algorithm_count; }

/// The caller's buffers. They decide which kernels may run, and whether data pass through NCCL's own buffers.
enum class Buffers {
  plain,       ///< ordinary memory
  registered,  ///< registered with NCCL [NCCL-registration]
  symmetric    ///< in windows of symmetric memory [NCCL-symmetric]
};
template <>
struct EnumNames<Buffers> {
  static constexpr std::array<std::string_view, 3> names{"plain", "registered", "symmetric"};
};

/// Bus bandwidth divided by algorithm bandwidth, as nccl-tests defines it [nccl-tests-performance]. Dimensionless; 2 (n
/// - 1) / n for an all_reduce of n ranks. The factor is chosen so that the bus bandwidth of a ring equals the rate of
/// its slowest link, whatever n is. Reduction in a switch can exceed the rate of the links by it. 0 for one rank,
/// except for operations with factor 1.
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
