// Several jobs on one fabric: the time of each job alone and concurrently with the others, which job slows which, the
// links on which they meet, and a better placement for the scenario's own job.
//
// An owner is a job or a background flow. Owners are numbered: the scenario's own job is 0, then come the jobs of
// section `jobs`, then the flows of section `background`. Results do not depend on the number of threads.
//
// How loads of other jobs are averaged and shared: docs/models/jobs.md. Not modelled: phases of jobs that lock into
// each other, hosts that several jobs share, jobs that start or end.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fabricast/jobs/others.hpp"
#include "fabricast/topology/placement.hpp"

namespace fabricast {

/// One job, alone on the fabric and concurrently with all others.
struct JobRow {
  std::string name, what;  ///< `what`: what it repeats, e.g. `all_reduce 1GiB`
  std::vector<std::uint32_t> hosts;
  PlacementShape shape;
  JobTime alone, beside;      ///< `beside`: concurrently with all others
  std::string traffic_class;  ///< empty if fabric.congestion.classes is
  double slowdown() const { return beside.time / alone.time; }
};

/// One background flow.
struct FlowRow {
  std::string name, what;
  /// Rates of all its connections, averaged over time: the rate that it requests, and the rate that it gets
  /// concurrently with all jobs (in the median sample).
  BytesPerSecond wanted, got;
  std::string traffic_class;  ///< empty if fabric.congestion.classes is, or on a network of their own
};

/// A link that several owners use, in the first sample of the network.
struct SharedLink {
  std::string name;
  double load = 0;               ///< fraction of its rate, averaged over time, if each owner ran alone; may exceed 1
  std::vector<double> by_owner;  ///< the same for each owner
};

/// The scenario's job placed by another policy on hosts that the other jobs leave free.
struct PlacementTrial {
  Placement placement = Placement::in_order;
  std::vector<std::uint32_t> hosts;  ///< in rank order
  PlacementShape shape;
  Seconds alone, beside;  ///< medians over `samples_of_trials` samples
  bool given = false;     ///< the scenario's own placement
};

/// All flows in a traffic class of their own, which gets at least a tenth of a full link.
struct FlowsApart {
  std::vector<std::string> set;  ///< the `--set` words
  Seconds beside;                ///< of the scenario's job, with all others running
};

/// The result of `forecast_jobs`.
struct JobsForecast {
  World world;                 ///< of the main job
  std::vector<JobRow> jobs;    ///< the scenario's own job first
  std::vector<FlowRow> flows;  ///< their owner numbers follow those of the jobs
  /// Row: a job; column: an owner. How many times longer the job takes concurrently with that owner alone; 1 on the
  /// diagonal, and where the two use no common link.
  std::vector<std::vector<double>> slowdown;
  std::vector<SharedLink> links;       ///< the most loaded shared links, at most 20
  std::size_t shared = 0;              ///< number of links that several owners use
  std::size_t contended = 0;           ///< number of these with a load above 1
  std::vector<PlacementTrial> trials;  ///< the fastest concurrently with the others first, so the first is recommended
  Seconds shuffled;                    ///< the hosts of the first trial in a random order of ranks
  /// Only if all traffic is in one class, and the scenario's job then takes less time by a hundredth or more.
  std::optional<FlowsApart> apart;
  int samples_of_trials = 1;          ///< number of samples over which matrix and trials are medians
  std::uint32_t hosts = 0, free = 0;  ///< of the fabric; not held by other jobs, storage or `taken`
  std::uint64_t fingerprint = 0;
  const PlacementTrial* trial(Placement placement) const {
    for (const PlacementTrial& t : trials)
      if (t.placement == placement) return &t;
    return nullptr;
  }
};

/// Forecasts all jobs of a scenario, all pairs of a job and another owner, and the placements. The result does not
/// depend on the number of threads. Not safe to call concurrently on one world, which is changed during the call.
/// \param size  B of the scenario's collective; ignored for other workloads
/// \throws UserError as `check_others`, or if a job cannot run; Interrupted on Ctrl-C
JobsForecast forecast_jobs(const World& world, std::int64_t size, const RunOptions& options = {});

/// Tables of jobs, pairs, shared links and placements, and the recommended placement.
std::string jobs_text(const JobsForecast& forecast);
/// The same in JSON (docs/formats.md, jobs).
std::string jobs_json(const JobsForecast& forecast);
/// One line for each job.
std::string jobs_csv(const JobsForecast& forecast);

/// The `--set` words that place the scenario's job on these hosts and keep all other jobs where they are. The first
/// word is the job's own, `cluster.placement=[3, 4, ...]`. There are others only if policies place other jobs or
/// reservations.
std::vector<std::string> placement_words(const World& world, const std::vector<std::uint32_t>& hosts);

}  // namespace fabricast
