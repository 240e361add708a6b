// Risk: the effect of failures on a job. Which single failures hurt most, how often does the job stop, and what
// fraction of a month is useful work?
//
//   classes   Components of one kind and one role form a class. A sample of each class is simulated, down and at each
//             degraded rate, each element with another sample of the network. All components are counted.
//   month     Many months are sampled. Failures occur at the rates of section `reliability`. A degradation slows steps
//             as in the simulated sample until it is repaired. A stop loses the work since the last checkpoint.
//
// Elements of a class are assumed to differ only in what the sample covers: the place of their ranks in a ring or a
// pipeline, and the hash. If several components are degraded at the same time, only the worst counts.
//
// Not modelled: correlated failures, planned maintenance, a job that continues with fewer hosts, error rates too low to
// reduce a link's rate, silent corruption. Models and sources: docs/models/risk.md.
//
// A month has 30 days.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "fabricast/report/forecast.hpp"

namespace fabricast {

/// Kinds of components. A cable is named by the tiers of its ends; a rail is all leaves of a rail.
enum class Component {
  gpu,
  host,
  software,
  nic,
  nic_cable,
  leaf_spine_cable,
  spine_core_cable,
  leaf,
  spine,
  core,
  rail
};
template <>
struct EnumNames<Component> {
  static constexpr std::array<std::string_view, 11> names{
      "gpu",  "host",  "software", "nic", "nic_cable", "leaf_spine_cable", "spine_core_cable",
      "leaf", "spine", "core",     "rail"};
};

/// Kinds of events.
enum class Mishap {
  down,       ///< until it is repaired
  degraded,   ///< at a fraction of its rate until it is repaired
  flap,       ///< down for so short a time that the job survives
  long_flap,  ///< down for so long that the transport gives up and the job stops
  slow,       ///< a host whose computation is slower
  storm       ///< a NIC that pauses its switch, and through it others, until somebody ends it
};
template <>
struct EnumNames<Mishap> {
  static constexpr std::array<std::string_view, 6> names{"down", "degraded", "flap", "long_flap", "slow", "storm"};
};

/// How much of the job lies below a component: nothing, less than below others of its tier, or as much as below any.
enum class Role { idle, partly, full };
template <>
struct EnumNames<Role> {
  static constexpr std::array<std::string_view, 3> names{"idle", "partly", "full"};
};

/// One kind of event at one class of components.
struct RiskClass {
  Component component = Component::gpu;
  Mishap mishap = Mishap::down;
  Role role = Role::full;
  double left = 0;         ///< remaining fraction of the rate
  std::int64_t count = 0;  ///< components of the class, of all planes
  bool stops = false;      ///< whether the event stops the job
  double slowdown = 1;     ///< of the step, mean over the simulated sample; 1 if the job stops
  double worst = 1;        ///< the largest slowdown of the sample
  std::string example;     ///< name of the element with the largest slowdown; empty: none was simulated
  int simulated = 0;       ///< number of trials in which the job ran
  double carries = 1;      ///< fraction of the elements that carry traffic of the job; below 1 only between switches
  double per_month = 0;    ///< expected events
  Seconds lasts;           ///< until repaired; for a flap the mean stall, for a storm its length
  double hours = 0;        ///< expected loss per month by this class alone
};

/// How a training step saves checkpoints.
struct CheckpointPlan {
  Bytes bytes;            ///< of one checkpoint
  Seconds every;          ///< work between two checkpoints; infinite: there are none
  Seconds best;           ///< the optimal interval [Daly2006], at least a step and the time to write a checkpoint
  Seconds pause;          ///< of the step, for each checkpoint
  Seconds durable;        ///< from the end of the pause until the checkpoint can be read back
  Seconds load;           ///< time to read a checkpoint
  Seconds between_stops;  ///< mean time between stops; infinite: there are none
};

/// A loss of time, in hours per month, averaged over the sampled months. The losses of one list and the useful time add
/// up to the month; losses below a second are left out.
struct LostTime {
  std::string cause;
  double hours = 0;  ///< negative if time was gained, by samples of the network that are faster than the median
};

/// The outcome of a month, over the sampled months.
struct MonthForecast {
  double goodput = 0;  ///< mean useful fraction: the time of kept steps at the pace of the healthy median
  double goodput_p5 = 0, goodput_p95 = 0;
  double error = 0;                             ///< standard error of the mean goodput
  double stops = 0;                             ///< mean number of stops of the job
  Seconds time_p5, time, time_p95, time_worst;  ///< of a step, over all steps of all months
  std::vector<LostTime> lost;                   ///< by failed component, the largest first
  std::vector<LostTime> lost_by_kind;           ///< by kind (repeated work, restarts, ...), the largest first
};

/// A change of section `reliability` or of NCCL's variables that improves goodput.
struct RiskWhatIf {
  std::string what;
  std::vector<std::string> set;  ///< `--set` words
  double goodput = 0;            ///< with the change
};

/// The result of `assess`.
struct Risk {
  World world;     ///< what is assessed
  std::string of;  ///< what is timed: `training step`, `decode step`, `all_reduce of 1GiB`
  Seconds time;    ///< its time without failures: median over samples of the network
  Seconds time_p5, time_p95, time_worst;
  int network_samples = 1;
  std::vector<RiskClass> classes;  ///< by cost in a month, then by worst slowdown, the largest first
  CheckpointPlan checkpoint;
  Seconds window;  ///< without a path after which the transport gives up
  int spares = 0;  ///< standby hosts
  MonthForecast month;
  std::vector<RiskWhatIf> helps;  ///< the best first
  int samples = 0;                ///< number of sampled months
  std::uint64_t seed = 1;

  /// The class with the largest slowdown that the job survives; null if none slows it.
  const RiskClass* worst_survived() const;
};

/// The month that all rates refer to.
inline constexpr Seconds nominal_month{30 * 86400.0};

/// Options of `assess`.
struct RiskOptions {
  RunOptions run;
  int samples = 1000;      ///< number of months
  std::uint64_t seed = 1;  ///< of the months and of the choice of elements
  int elements = 4;        ///< elements of each class to simulate
  bool every = false;      ///< simulate every element with every sample of the network instead; for small fabrics
  bool unrated = true;     ///< also simulate events without a rate, such as the loss of a whole rail
  bool what_if = true;     ///< also try changes that would help
  Seconds month = nominal_month;  ///< length of a sampled month
};

/// Options for a row of a sweep: two elements of each class that has a rate, a hundred months, one thread.
RiskOptions quick_risk();

/// Assesses the risk of the scenario's workload: a training step, a decode step or prompt, a trace, or the largest size
/// of its collective. The world is not changed. The result does not depend on the number of threads. With the chunk
/// engine only one thread is used, because that engine forks.
/// \throws UserError if the healthy job cannot run; Interrupted on Ctrl-C
Risk assess(const World& world, const RiskOptions& options = {});

/// A summary in sentences and tables of events, months, checkpoints and changes that would help.
std::string risk_text(const Risk& risk);
/// The same in JSON (docs/formats.md, risk).
std::string risk_json(const Risk& risk);
/// One line for each class.
std::string risk_csv(const Risk& risk);

}  // namespace fabricast
