// The time of one call of any group of ranks: what simulators of training and serving, and replayers of traces, ask of
// a network.
//
//   (call, bytes, ranks, at) -> time with its 90 % interval, algorithm, protocol, channels
//
// The group has the cluster to itself, apart from other jobs of the scenario (World::beside). The time is that of one
// isolated call on the GPU's stream, launch included (`harness: {tool: isolated}`); what a call costs next to other
// calls of its own job is the business of whoever asks. For all ranks of the job, time and interval equal those of
// `fabricast run` with that tool (report/forecast.hpp).
//
// Ranks are those of the scenario: rank r is GPU r % g of host r / g, with g GPUs per host. Their order in a group is
// that of the communicator, which NCCL's rings and trees follow. Sizes are bytes, counted as in nccl-tests.
//
// Answers are kept. A CallTimes is safe to use from several threads at once: known answers are read concurrently,
// unknown ones are computed concurrently. Answers do not depend on what was asked before, nor on the number of threads.
//
// Not modelled: groups with different numbers of ranks on their nodes (refused), and faults that begin or end during a
// call: a call is timed on the state of the network at its start.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fabricast/report/interval.hpp"
#include "fabricast/scenario/world.hpp"

namespace fabricast {

/// What a group calls.
struct CallKind {
  CollectiveOp op = CollectiveOp::all_reduce;
  bool one_way = false;  ///< `send`: the first of two ranks sends to the second
  bool operator==(const CallKind&) const = default;
};
/// All names: those of collectives, and `send`.
std::vector<std::string_view> call_names();
/// \throws UserError for another name, with the nearest one
CallKind call_kind_from(std::string_view name);

/// A call of a group, without its size.
struct GroupCall {
  CallKind kind;
  std::span<const std::uint32_t> ranks;
  Seconds at;  ///< when it starts, on the clock of the scenario's faults
};

/// The answer.
struct CallTime {
  Seconds time;       ///< launch + makespan; the median over the samples of the network
  Seconds low, high;  ///< the 90 % interval; both equal `time` if no intervals are wanted
  Seconds launch;     ///< the part of `time` that is fixed per call; training steps take it as hidden
  Algorithm algorithm = Algorithm::ring;
  Protocol protocol = Protocol::simple;
  int channels = 1;
};

/// What an object of CallTimes keeps, and how exact it is.
struct CallTimesOptions {
  bool intervals = true;       ///< they take most of the time of an unknown answer
  std::size_t kept = 262'144;  ///< answers that are kept, about 150 B each. When they are full, keeping starts anew
  std::size_t kept_ranks = 1 << 24;  ///< the same for the lists of ranks of all groups, 4 B each
};

/// The times of the calls of one job.
class CallTimes {
 public:
  /// \param world  with the traffic of others, if it counts (jobs/others.hpp)
  /// \param site   measured rows that answers are conditioned on
  /// \throws UserError if the scenario has settings that groups of ranks do not support: another engine than flow,
  ///   `nccl.selection: best`, several versions of NCCL
  CallTimes(World world, MeasuredSite site, const CallTimesOptions& options = {});
  ~CallTimes();
  CallTimes(CallTimes&&) noexcept;
  CallTimes& operator=(CallTimes&&) noexcept;

  /// As given to the constructor.
  const World& world() const;

  /// The times of a call for several sizes, which cost less together.
  /// \param times    output, one for each size
  /// \param threads  for answers that are not known; 0: as many as the machine has
  /// \throws UserError if the group is no group of this job (a rank that it does not have, one twice, fewer than two,
  /// an
  ///   uneven distribution over nodes), if a size is not between 1 B and `largest_size`, if `at` is negative, or if
  ///   faults cut the group apart; Interrupted on Ctrl-C
  void times(const GroupCall& call, std::span<const std::int64_t> bytes, std::span<CallTime> times,
             int threads = 1) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace fabricast
