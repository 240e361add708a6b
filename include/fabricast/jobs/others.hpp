// What is beside the job of a scenario: the jobs and flows of its sections `jobs` and `background`, as traffic.
//
//   1  each job is forecast alone: how long what it repeats takes, and which part of that each of its exchanges runs
//   2  its channels then count on the fabric's links in the mean of time (engine/background.hpp)
//   3  all others of a job are put together: each has at most what these leave each other
//
// The traffic of a job is that of the job alone, whoever it meets: how it slows down itself is in the rule of shares.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "fabricast/report/forecast.hpp"
#include "fabricast/workload/program.hpp"

namespace fabricast {

/// What a job repeats: a call, a step, or tokens. Times in s over the draws of the network.
struct JobTime {
  double seconds = 0;  ///< median
  double seconds_p5 = 0, seconds_p95 = 0, seconds_worst = 0;
  int samples = 1;
  std::string bottleneck;  ///< of the median draw
  Program collectives;       ///< its groups and exchanges, without activities
  std::vector<double> duty;  ///< by exchange: part of the time in which it runs
  std::uint64_t fingerprint = 0;
};
/// With what is in `world.beside`. \param size  of the call, if the workload is a collective
JobTime time_job(const World& world, std::int64_t size, const RunOptions& options = {});

/// One of the others.
struct OtherJob {
  std::string name;
  std::vector<std::uint32_t> hosts;
  std::unique_ptr<World> world;  ///< the job alone on the fabric
  std::int64_t size = 0;         ///< of its call, if it is a collective
  double duty = 1;               ///< of what `time_job` says
};
/// The jobs of section `jobs`, where the allocation has put them.
std::vector<OtherJob> other_jobs(const World& main);

/// By draw of `draws`. \param time  of the job alone
std::vector<Background> traffic_of_job(const World& world, const JobTime& time, double duty, const Samples& samples,
                                       std::uint32_t owner);
/// Of section `background`, likewise. \throws UserError if a host can not reach a target
std::vector<Background> traffic_of_flows(const World& main, std::size_t flows, std::uint32_t owner);

/// What World::beside takes: all of these together, by draw. \param who  by owner, each by draw
std::vector<std::shared_ptr<const Background>> beside_of(const std::vector<const std::vector<Background>*>& who);

/// Whether the scenario has jobs or flows beside its own job.
bool has_others(const Scenario& scenario);
/// \throws UserError at what the forecast of several jobs does not take: other engines, times of faults, versions
void check_others(const World& main);
/// Puts them into `world.beside`, so that forecasts are beside them; nothing if there are none.
/// \throws UserError, Interrupted on Ctrl-C
void add_others(World& world, const RunOptions& options = {});

}  // namespace fabricast
