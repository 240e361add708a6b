// A random month of a job.
//
//   - Time advances from event to event: a failure (all kinds together are a Poisson process), a repair, or the end of
//     a restart.
//   - While the job runs, it does  pace x dt  of useful work,
//     pace = (healthy median / healthy sample) x e^-stalls / slowdown.
//     After every `every` seconds of running it saves a checkpoint, which takes `pause`.
//   - A stop loses the work that is not saved. Then come a wait for hosts if the spares do not suffice, detection, and
//     the start. Another stop may occur during detection and start. The restarted job gets a new sample of the network.
//   - A degradation slows steps until its repair. If there are several, the worst counts.
//
// Flaps that the job survives are too many to sample one by one. Only the number of stalls in progress is sampled, as a
// normal approximation for the month; with S stalls on average, there is none for e^-S of the time.
#pragma once

#include <limits>
#include <map>
#include <vector>

#include "fabricast/core/rng.hpp"

namespace fabricast {

/// The time of an event that never occurs, s.
inline constexpr double never = std::numeric_limits<double>::infinity();

/// One source of failures: a kind of event at a class of components.
struct FailureSource {
  double rate = 0;  ///< 1/s
  bool stops = false;
  /// If it does not stop the job: each failure takes one of these at random. Infinite: the job stands still.
  std::vector<double> slowdowns;
  double lasts = 0;   ///< s until repaired
  double detect = 0;  ///< s until a stop is noticed
  int hosts = 0;      ///< number of hosts that a stop takes away until the repair
};

/// What a month depends on. Times in s.
struct MonthModel {
  double length = 30 * 86400.0;
  std::vector<FailureSource> sources;
  std::vector<double> network_samples;  ///< healthy step times; each launch of the job takes one at random
  double median = 1;                    ///< of `network_samples`
  bool saves = true;  ///< whether there are checkpoints; if not, a stop costs only the time until the job runs again
  double every = 0, pause = 0, durable = 0;  ///< as in CheckpointPlan
  double start = 0;                          ///< includes reading the checkpoint
  int spares = 0;
  double stalls = 0;           ///< mean number of stalls in progress
  double stalls_variance = 0;  ///< variance of that mean over months
};

/// How one month was spent, in s. All times add up to its length.
struct MonthOutcome {
  double useful = 0;
  double saving = 0, stalls = 0;
  double network_samples = 0;  ///< lost by samples slower than the median; negative: gained by faster ones
  /// Losses by one failure source.
  struct Source {
    double slow = 0, redone = 0, restart = 0, waiting = 0;
    double total() const { return slow + redone + restart + waiting; }
  };
  std::vector<Source> sources;
  int stops = 0;
  std::map<double, double> steps;  ///< step time -> s of the month spent in such steps
};

/// Samples one month. The same state of `rng` gives the same month.
MonthOutcome sample_month(const MonthModel& model, Rng& rng);

}  // namespace fabricast
