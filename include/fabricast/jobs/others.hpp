// The traffic of other jobs and flows (sections `jobs` and `background`) on the links that a scenario's job uses.
//
//   1  each job is forecast alone, which gives the time of what it repeats, and the fraction of that time (the duty) in
//      which each of its collectives runs
//   2  the load of its channels on the links of the fabric is averaged over time (engine/background.hpp)
//   3  all others of a job are combined: each gets at most the rate that the rest leave
//
// The traffic of a job is that of the job alone, whatever other jobs it meets. The rule by which links are shared
// accounts for its own slowdown (docs/models/jobs.md).
//
// `Background` vectors have one element for each sample of the network. Functions that take a const World may run
// concurrently on one world.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "fabricast/report/forecast.hpp"
#include "fabricast/workload/program.hpp"

namespace fabricast {

/// The time of what a job repeats: a call, a step, or the tokens of a decode step. Times over samples of the network.
struct JobTime {
  Seconds time;  ///< median
  Seconds time_p5, time_p95, time_worst;
  int samples = 1;
  std::string bottleneck;    ///< of the median sample; for steps, that of the collective that runs longest
  Program collectives;       ///< groups and collectives, without activities
  std::vector<double> duty;  ///< for each collective, the fraction of the time in which it runs
  std::uint64_t fingerprint = 0;
};
/// Forecasts the workload of a world, concurrently with what `world.beside()` holds.
/// \param size  B of the collective; ignored for other workloads
/// \throws UserError if the workload cannot run; Interrupted on Ctrl-C
JobTime time_job(const World& world, std::int64_t size, const RunOptions& options = {});

/// One job of section `jobs`.
struct OtherJob {
  std::string name;
  std::vector<std::uint32_t> hosts;
  World world;            ///< the job alone on the fabric
  std::int64_t size = 0;  ///< B of its collective; ignored for other workloads
  double duty = 1;        ///< fraction of the time in which the job does what `time_job` times
};
/// The jobs of section `jobs`, on the hosts that the allocation gave them.
/// \throws UserError if a job is inconsistent or does not fit in memory, at the job's key
std::vector<OtherJob> other_jobs(const World& main);

/// The traffic of a job, for each sample. \param time  of the job alone \param owner  number that identifies the job
std::vector<Background> traffic_of_job(const World& world, const JobTime& time, double duty, const Samples& samples,
                                       std::uint32_t owner);
/// The traffic of an entry of section `background`, for each sample of the main world. Empty backgrounds if the flows
/// have a network of their own.
/// \param flows  index in the section
/// \throws UserError if a host cannot reach a target, or there are more than a million connections
std::vector<Background> traffic_of_flows(const World& main, std::size_t flows, std::uint32_t owner);

/// The combined traffic of several owners, for each sample, as World::with_beside takes it. The number of samples is the
/// smallest of theirs. \param main  whose `fabric.congestion` says how they share links
/// \param owners  for each owner, its traffic for each sample
TrafficBySample beside_of(const World& main, const std::vector<const std::vector<Background>*>& owners);

/// Whether the scenario has other jobs or background flows.
bool has_others(const Scenario& scenario);
/// Checks that several jobs can be forecast.
/// \throws UserError if the world has no fabric, or for another engine than flow, `selection: best`, several NCCL
/// versions,
///         or faults that come or go
void check_others(const World& main);
/// The world with the traffic of all other jobs and flows, which its forecasts then take into account. The same world if
/// there are none. The duties of the other jobs come from one sample of the network.
/// \throws UserError as `check_others`, `other_jobs` and `traffic_of_flows`; Interrupted on Ctrl-C
World with_others(const World& world, const RunOptions& options = {});

}  // namespace fabricast
