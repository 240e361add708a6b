// A month in the life of a job, drawn at random.
//
//   time runs from event to event: a failure (all kinds together are a Poisson process), a repair, the end of a restart
//   while the job runs, it does  pace x dt  of useful work, pace = (healthy median / healthy draw) x e^-stalls / slowdown
//     and saves after every `every` seconds of running, which takes `pause`
//   a stop loses what is not saved, then costs detection, and a wait for hosts if the spares do not suffice, and the
//     start, which another stop may strike; then the network is drawn anew
//   a degradation slows until its repair; of several the worst counts
//
// Flaps that are ridden out are too many to draw one by one. Their sum is: part of the time in which no stall is under way.
#pragma once

#include <limits>
#include <map>
#include <vector>

#include "fabricast/core/rng.hpp"

namespace fabricast {

/// s until what does not come.
inline constexpr double never = std::numeric_limits<double>::infinity();

/// A kind of failure.
struct FailureSource {
  double rate = 0;  ///< 1/s
  bool stops = false;
  std::vector<double> slowdowns;  ///< one of them, if it does not stop
  double lasts = 0;               ///< s until repaired
  double detect = 0;              ///< s until a stop is noticed
  int hosts = 0;                  ///< that a stop takes away until the repair
};

struct MonthModel {
  double length = 30 * 86400.0;  ///< s
  std::vector<FailureSource> sources;
  std::vector<double> network_samples;  ///< healthy steps, s, of which each start of the job gets one
  double median = 1;          ///< of them
  bool saves = true;          ///< else nothing is lost at a stop but the time until it runs again
  double every = 0, pause = 0, durable = 0;
  double start = 0;  ///< s, with reading the checkpoint
  int spares = 0;
  double stalls = 0;           ///< mean number of stalls under way
  double stalls_variance = 0;  ///< of a month's
};

/// Seconds of one month; the parts add up to its length.
struct MonthOutcome {
  double useful = 0;
  double saving = 0, stalls = 0;
  double network_samples = 0;  ///< slower than the median draw; negative: faster
  struct Source {
    double slow = 0, redone = 0, restart = 0, waiting = 0;
    double total() const { return slow + redone + restart + waiting; }
  };
  std::vector<Source> sources;
  int stops = 0;
  std::map<double, double> steps;  ///< by the seconds of one: seconds of the month in which they ran
};

MonthOutcome sample_month(const MonthModel& model, Rng& rng);

}  // namespace fabricast
