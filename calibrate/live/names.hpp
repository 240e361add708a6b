// How NCCL and PyTorch name operations and types of data.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "fabricast/collective/collective.hpp"

namespace fabricast::live {

/// Whether no rank can leave the operation before the last one has joined.
constexpr bool waits_for_all(CollectiveOp op) {
  return op == CollectiveOp::all_reduce || op == CollectiveOp::all_gather || op == CollectiveOp::reduce_scatter ||
         op == CollectiveOp::alltoall;
}

/// Whether the size that NCCL records of a call is the share of one rank, as its functions take it.
constexpr bool records_share(CollectiveOp op) {
  return op == CollectiveOp::all_gather || op == CollectiveOp::reduce_scatter || op == CollectiveOp::alltoall;
}

/// Why an operation that does not wait for all gives no time.
std::string early_leave(CollectiveOp op);
/// Why times of sends and receives give no time.
constexpr const char* peer_wait = "the times of sends and receives include waiting for the peer";

/// NCCL's own names: AllReduce, AllGather. Null for sends, receives and unknown words.
std::optional<CollectiveOp> nccl_operation(std::string_view name);
/// PyTorch's names, in profiles (allreduce, _allgather_base) and in the flight recorder (all_reduce, _all_gather_base).
/// Null for barriers, coalesced calls, sends and receives.
std::optional<CollectiveOp> torch_operation(std::string_view name);
/// Bytes of an element, by PyTorch's or NCCL's name of the type: Float, BFloat16, ncclFloat32. 0: unknown.
int bytes_of_type(std::string_view name);

}  // namespace fabricast::live
