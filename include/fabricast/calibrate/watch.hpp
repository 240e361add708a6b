// Who holds up a running job? Findings from its telemetry, each half of a reporting interval (docs/calibrate/watch.md).
//
//   late      a process or host joins collectives later than most ranks, by more than chance
//   slow      communicators take longer than they did, all ranks alike: a NIC, a cable, the fabric
//   hang      calls are launched by some ranks and not by others, and nothing has moved for half an interval
//   missing   RAS has no data from a rank
//   error     NCCL reports an error of a rank
//
// Each finding names the part that others wait for, not those that wait. A process that is late in one communicator
// because it waited for another one in a second communicator is not named. A process that has not launched a call is
// not named if it waits in another call itself.
//
// Halves, because a fault begins at any time: the first whole half of it ends within an interval. Where a half has too
// few calls to judge, both halves together are judged, as they are for what happens rarely.
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
  /// What others saw of it.
  struct Late {
    std::uint32_t calls = 0;  ///< that it joined late
    float waited_us = 0;      ///< that most ranks waited for it, summed
  };
  Late now, before;  ///< in this half of the interval and in the last one
};

/// Calls of one operation and size.
struct WatchedSize {
  CollectiveOp op = CollectiveOp::all_reduce;
  std::int64_t bytes = 0;                    ///< as nccl-tests counts them
  std::int64_t calls = 0, calls_before = 0;  ///< in this half of the interval and in the last one
  std::int64_t total = 0;                    ///< since the beginning
  static constexpr std::size_t kept = 15;
  std::array<float, kept> last{};  ///< times of the last calls, us, in a ring
  /// ln of the usual median time, and how far medians of halves usually are from it. Of earlier halves in which the
  /// size was not slow.
  float usual = 0, usual_deviation = 0;
  int halves = 0;  ///< that `usual` is from

  /// Calls of this half, or of both if these are fewer than three.
  std::int64_t judged() const { return calls >= 3 ? calls : calls + calls_before; }
  /// Median of the last of these, us; 0 if there are none.
  double median_us() const;
};

/// What an interval says of one communicator.
struct WatchedCommunicator {
  std::string id, name;
  int ranks = 0, nodes = 0;
  std::vector<WatchedRank> members;  ///< by rank
  std::vector<WatchedSize> sizes;
  /// Calls from which lateness can be told.
  struct Judged {
    std::int64_t calls = 0, late = 0;  ///< calls in which every rank waits for all; late ranks in them
  };
  Judged now, before;  ///< in this half of the interval and in the last one
  /// ln of the time, us, that most ranks usually wait per call for the rank they wait longest for, and how far halves
  /// usually are from it. Of earlier halves in which no rank was late.
  float usual_wait = 0, usual_wait_deviation = 0;
  int halves = 0;  ///< that `usual_wait` is from
};

/// The state of one rank of a communicator at the end of a half, by RAS.
struct WatchedState {
  /// The rank that stands for those that the text of RAS does not name. It has no place.
  static constexpr int unnamed = -1;
  std::string place;
  std::int64_t launched = 0;  ///< calls, all operations together
  bool missing = false;
  std::string error;
};
/// By communicator and rank.
using WatchedStates = std::map<std::string, std::map<int, WatchedState>>;

/// Two halves of watching: the current one and the last one.
struct WatchInterval {
  std::vector<std::string> places;  ///< `host, process 17`
  std::vector<WatchedCommunicator> communicators;
  WatchedStates before, now;  ///< at the end of the last half that had a status, and of this one; empty: no RAS
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

/// The findings of this half, by kind, then place.
std::vector<JobFinding> findings(const WatchInterval& interval);

/// Begins the next half: takes medians over into the usual times, and what counts in this half into the last one.
void next_half(WatchInterval& interval);

/// The host of a place: what precedes the first comma.
std::string host_of_place(const std::string& place);

}  // namespace fabricast
