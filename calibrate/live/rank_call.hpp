// What readers of formats give: calls of single ranks, and what they say about communicators.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "fabricast/collective/collective.hpp"

namespace fabricast::live {

/// What one rank recorded of one collective.
struct RankCall {
  int communicator = -1;  ///< as `Job::communicator` numbered it
  int rank = 0;
  CollectiveOp op = CollectiveOp::all_reduce;
  std::int64_t bytes = 0;     ///< as nccl-tests counts them
  std::int64_t sequence = 0;  ///< equal on all ranks, within its communicator and `counter`
  int counter = 0;            ///< which of the communicator's counters: NCCL counts each operation for itself
  double time_us = 0;
  bool coarse = false;           ///< timed by a thread of the host, not by the GPU
  bool alone = false;            ///< a mean over many calls, which is not matched over ranks
  std::int64_t bytes_below = 0;  ///< the size is at least `bytes` and below this; 0: exact
  std::uint64_t when = 0;        ///< its place among the records of all files: a time, in any unit common to the files
  int line = 0, column = 0;
};

/// How a tool identifies a communicator.
struct CommunicatorFacts {
  std::string id, name;
  int ranks = 0, nodes = 0;  ///< 0: not stated
  bool scattered = false;    ///< its ranks are not consecutive ranks of the job
};

/// Where readers put what they find.
class CallSink {
 public:
  virtual ~CallSink() = default;
  /// The number of a communicator. The first statement about ranks and nodes counts. -1: there are too many.
  virtual int communicator(const CommunicatorFacts& facts) = 0;
  /// Whether a communicator has as many ranks and nodes as stated before.
  virtual bool same_shape(int communicator, int ranks, int nodes) const = 0;
  /// Notes where a rank runs, for messages. The first statement counts.
  virtual void place(int communicator, int rank, std::string_view place) = 0;
  /// NCCL's version; the first of several counts.
  virtual void see_version(std::string version) = 0;
  /// A record that gives no time, and why.
  virtual void leave_out(std::string reason) = 0;
  virtual void problem(const std::string& file, int line, int column, std::string message) = 0;
};

}  // namespace fabricast::live
