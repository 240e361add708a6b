// The NCCL functions that the probe uses, as a table, so that a test can make each of them fail. The table has no NCCL
// types. Calls return 0 or NCCL's error number. All data are floats, all reductions are sums, and all roots are rank 0.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

namespace fabricast {

struct NcclCalls {
  std::function<std::string()> missing;      ///< why the functions are missing; empty if they are present
  std::function<std::string(int)> reason;    ///< meaning of an error number, and NCCL's last error message
  std::function<int(int*)> version;          ///< 22809 is 2.28.9
  std::function<int(std::string*)> make_id;  ///< unique ID of a communicator, the same on all ranks
  /// On the current GPU: communicator, ranks, id, rank, channels (0: NCCL's choice).
  std::function<int(void**, int, const std::string&, int, int)> init;
  std::function<int(void*)> abandon;            ///< aborts and destroys a communicator
  std::function<int(void*, int*)> async_error;  ///< communicator, its asynchronous error
  std::function<int()> group_start, group_end;

  using Collective = std::function<int(const void*, void*, std::size_t, void*, void*)>;
  /// From, to, number of floats that a rank sends (reduce_scatter: receives), communicator, stream.
  Collective all_reduce, all_gather, reduce_scatter, broadcast, reduce;
  std::function<int(const void*, std::size_t, int, void*, void*)> send;  ///< from, floats, peer, communicator, stream
  std::function<int(void*, std::size_t, int, void*, void*)> receive;     ///< to, floats, peer, communicator, stream

  std::function<std::optional<std::string>(const std::string&)> variable;                   ///< of the environment
  std::function<void(const std::string&, const std::optional<std::string>&)> set_variable;  ///< nothing: unsets it
};

/// The functions of the library. If Fabricast was built without it, or it does not load, only `missing` may be called.
const NcclCalls& library_nccl();

/// NCCL's version number as text: 22809 is "2.28.9".
std::string nccl_version_text(int version);

}  // namespace fabricast
