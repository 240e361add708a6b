// The functions of NCCL that the probe uses, one by one, so that a test can make each of them fail. All data are floats,
// all operators sums, all roots 0.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

namespace fabricast {

struct NcclCalls {
  std::function<std::string()> missing;      ///< why there are none of these functions; empty if they are there
  std::function<std::string(int)> reason;    ///< what an error number means, and what NCCL said last
  std::function<int(int*)> version;          ///< 22809 is 2.28.9
  std::function<int(std::string*)> make_id;  ///< bytes that all ranks of a communicator need
  /// On the current GPU: communicator, ranks, id, rank, channels (0: NCCL's choice).
  std::function<int(void**, int, const std::string&, int, int)> init;
  std::function<int(void*)> abandon;
  std::function<int(void*, int*)> async_error;
  std::function<int()> group_start, group_end;

  using Collective = std::function<int(const void*, void*, std::size_t, void*, void*)>;
  /// From, to, floats that a rank gives (reduce_scatter: gets), communicator, stream.
  Collective all_reduce, all_gather, reduce_scatter, broadcast, reduce;
  std::function<int(const void*, std::size_t, int, void*, void*)> send;  ///< from, floats, peer, communicator, stream
  std::function<int(void*, std::size_t, int, void*, void*)> receive;

  std::function<std::optional<std::string>(const std::string&)> variable;
  std::function<void(const std::string&, const std::optional<std::string>&)> set_variable;  ///< nothing: not set
};

/// Those of the library; if fabricast was built without it, or it is not here, only `missing` may be called.
const NcclCalls& library_nccl();

/// "2.28.9".
std::string nccl_version_text(int version);

}  // namespace fabricast
