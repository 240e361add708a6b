// Risk: what failures do to a job. Which single ones hurt most, and what is left of a month.
//
//   classes   components that are alike to the job: one kind, one role. Of each a sample is simulated, each element in
//             another draw of the network, down and at each degraded rate; all are counted
//   month     many months are drawn: failures by the rates of the section `reliability`, steps as slow as the
//             sample says until the repair, stops that lose the work since the checkpoint
//
// What a class assumes: its elements differ in their names only. They share kind, tier, and how much of the job lies below
// them; what they do not share, a rank's place in a ring or a pipeline, and the hash, is what the sample is for.
// Several degradations at once count as the worst of them.
//
// Not modelled: failures that come together, a job that goes on with fewer hosts, packets lost at high error rates.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "fabricast/report/forecast.hpp"

namespace fabricast {

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

/// What happens to one: down or degraded until it is repaired; a flap, down for moments, which is ridden out or, if long,
/// stops the job; slow: a host that computes slower.
enum class Mishap { down, degraded, flap, long_flap, slow };
template <>
struct EnumNames<Mishap> {
  static constexpr std::array<std::string_view, 5> names{"down", "degraded", "flap", "long_flap", "slow"};
};

/// What of the job uses an element: none, less than others of its kind, or as much as any.
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
  double left = 0;         ///< of the rate
  std::int64_t count = 0;  ///< components, of all planes
  bool stops = false;      ///< the job; else it goes on
  double slowdown = 1;     ///< of the step, mean over the sample; 1 where it stops
  double worst = 1;        ///< the largest of the sample
  std::string example;     ///< the element of the worst; empty: none was simulated
  int simulated = 0;
  double carries = 1;    ///< part of the elements that the job's traffic crosses
  double per_month = 0;  ///< expected events
  double lasts = 0;      ///< s until repaired; of a flap the mean stall
  double hours = 0;      ///< expected to be lost in a month by this class alone
};

/// How a training step is saved, s.
struct CheckpointPlan {
  double bytes = 0;
  double every = 0;    ///< work between two; infinite: there are none
  double best = 0;     ///< the best such interval
  double pause = 0;    ///< of the step for each
  double durable = 0;  ///< from the end of the pause until it can be read back
  double load = 0;
  double between_stops = 0;  ///< mean time between stops; infinite: there are none
};

/// A part of the month that gives nothing, h, mean over samples. The parts and what is useful add up to the month.
struct LostTime {
  std::string cause;
  double hours = 0;
};

/// What a month comes to, over samples.
struct MonthForecast {
  double goodput = 0;  ///< useful part: steps that are kept, at the pace of the healthy median
  double goodput_p5 = 0, goodput_p95 = 0;
  double error = 0;                                                        ///< standard error of the mean
  double stops = 0;                                                        ///< mean number
  double seconds_p5 = 0, seconds = 0, seconds_p95 = 0, seconds_worst = 0;  ///< of steps, over all of them
  std::vector<LostTime> lost;                                              ///< by what failed, most first
  std::vector<LostTime> lost_by_kind;  ///< work done again, restarts, ...; most first
};

/// A change of the section `reliability`, or of NCCL's variables, and the goodput with it.
struct RiskWhatIf {
  std::string what;
  std::vector<std::string> set;
  double goodput = 0;
};

struct Risk {
  std::string of;      ///< the workload: `step`, `decode step`, `all_reduce of 1GiB`
  double seconds = 0;  ///< healthy, median over draws of the network
  double seconds_p5 = 0, seconds_p95 = 0, seconds_worst = 0;
  int network_samples = 1;
  std::vector<RiskClass> classes;  ///< those that cost most in a month first, then by slowdown
  CheckpointPlan checkpoint;
  double window = 0;  ///< s that the transport rides out
  int spares = 0;
  MonthForecast month;
  std::vector<RiskWhatIf> helps;  ///< the best first
  int samples = 0;
  std::uint64_t seed = 1;

  /// The class with the largest slowdown that the job survives; null: nothing slows it.
  const RiskClass* worst_survived() const;
};

/// s: what rates are of.
inline constexpr double nominal_month = 30 * 86400.0;

struct RiskOptions {
  RunOptions run;
  int samples = 1000;      ///< months
  std::uint64_t seed = 1;  ///< of months and of the choice of elements
  int elements = 4;        ///< simulated of each class
  bool every = false;      ///< each element in each draw instead; for small fabrics
  bool unrated = true;     ///< also what has no rate, such as a whole rail
  bool what_if = true;
  double month = nominal_month;  ///< s to draw
};

/// For a row of a sweep: two elements of each class that has a rate, a hundred months, one thread.
RiskOptions quick_risk();

/// The workload is the scenario's: a training step, a decode step or prompt, a trace, or the largest size of its collective.
/// The same input gives the same bytes whatever the number of threads.
/// \throws UserError if the healthy job can not run, Interrupted on Ctrl-C
Risk assess(const World& world, const RiskOptions& options = {});

std::string risk_text(const World& world, const Risk& risk);
std::string risk_json(const World& world, const Risk& risk);
std::string risk_csv(const Risk& risk);

}  // namespace fabricast
