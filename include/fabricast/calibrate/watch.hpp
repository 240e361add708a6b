// Who holds up a running job? Findings from its telemetry, one reporting interval at a time (docs/calibrate/watch.md).
//
//   late      a process or host joins collectives later than most ranks, by more than chance
//   slow      communicators take longer than they did, all ranks alike: a NIC, a cable, the fabric
//   hang      calls are launched by some ranks and not by others, and nothing has moved for an interval
//   missing   RAS has no data from a rank
//   error     NCCL reports an error of a rank
//
// Each finding names the part that others wait for, not those that wait. A process that is late in one communicator
// because it waited for another one in a second communicator is not named. A process that has not launched a call is
// not named if it waits in another call itself.
//
// Limits: at least 8 calls of a communicator in the interval, 30 of two ranks. A slow part is named only if it is the
// only one that all slow communicators share and no other does; else the communicators are.
//
// Times are us. `findings` is pure; the other functions change only their argument.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "fabricast/collective/collective.hpp"

namespace fabricast {

/// What an interval says of one rank. Small: a job may have millions of them.
struct WatchedRank {
  static constexpr std::uint32_t nowhere = 0xffffffff;
  std::uint32_t place = nowhere;  ///< into `WatchInterval::places`
  std::uint32_t late = 0;         ///< calls that it joined late
  float waited_us = 0;            ///< that most ranks waited for it, summed
};

/// Calls of one operation and size.
struct WatchedSize {
  CollectiveOp op = CollectiveOp::all_reduce;
  std::int64_t bytes = 0;  ///< as nccl-tests counts them
  std::int64_t calls = 0;  ///< in the interval
  std::int64_t total = 0;  ///< since the beginning
  static constexpr std::size_t kept = 15;
  std::array<float, kept> last{};  ///< times of the last calls, us, in a ring
  /// ln of the usual median time, and how far medians of intervals usually are from it. Of earlier intervals in which
  /// the size was not slow.
  float usual = 0, usual_deviation = 0;
  int intervals = 0;  ///< that `usual` is from

  /// Median of the last calls of the interval, us; 0 if there are none.
  double median_us() const;
};

struct WatchedCommunicator {
  std::string id, name;
  int ranks = 0, nodes = 0;
  std::vector<WatchedRank> members;  ///< by rank
  std::vector<WatchedSize> sizes;
  std::int64_t judged = 0, late = 0;  ///< calls in the interval in which every rank waits for all; late ranks in them
};

/// The state of one rank of a communicator at the end of an interval, by RAS.
struct WatchedState {
  std::string place;
  std::int64_t launched = 0;  ///< calls, all operations together
  bool missing = false;
  std::string error;
};
/// By communicator and rank.
using WatchedStates = std::map<std::string, std::map<int, WatchedState>>;

struct WatchInterval {
  std::vector<std::string> places;  ///< `host, process 17`
  std::vector<WatchedCommunicator> communicators;
  WatchedStates before, now;  ///< at the end of the last interval and of this one; empty: no RAS
};

/// A part that others wait for.
struct JobFinding {
  std::string kind;                        ///< late, slow, hang, missing, error
  std::string part;                        ///< `rank`, `host` or `communicator`
  std::string place;                       ///< of a rank or host; of a communicator its id
  std::vector<std::string> communicators;  ///< in which it shows, the first 20
  double ratio = 0;                        ///< slow: time over usual; late: mean wait in us; else 0
  std::string detail;                      ///< for people
};

/// The findings of an interval, by kind, then place.
std::vector<JobFinding> findings(const WatchInterval& interval);

/// Begins the next interval: takes medians over into the usual times and clears what counts within an interval.
void next_interval(WatchInterval& interval);

/// The host of a place: what precedes the first comma.
std::string host_of_place(const std::string& place);

}  // namespace fabricast
