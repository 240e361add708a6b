// Several jobs on one fabric: what each takes alone and beside the others, who slows whom, which links they meet on, and
// where the scenario's own job would better be.
#pragma once

#include <string>
#include <vector>

#include "fabricast/jobs/others.hpp"
#include "fabricast/topology/placement.hpp"

namespace fabricast {

struct JobRow {
  std::string name, what;  ///< e.g. `all_reduce 1GiB`
  std::vector<std::uint32_t> hosts;
  PlacementShape shape;
  JobTime alone, beside;
  double slowdown() const { return beside.seconds / alone.seconds; }
};

struct FlowRow {
  std::string name, what;
  double wanted = 0, got = 0;  ///< B/s of all connections, in the mean of time; got: beside all jobs, median draw's
};

/// A link that several use. Of the first draw.
struct SharedLink {
  std::string name;
  double load = 0;               ///< parts of its rate that all want in the mean of time, each as if it were alone
  std::vector<double> by_owner;  ///< the same of each
};

/// The scenario's job on the hosts that the others leave, placed in another way.
struct PlacementTrial {
  Placement placement = Placement::in_order;
  std::vector<std::uint32_t> hosts;
  PlacementShape shape;
  double alone = 0, beside = 0;  ///< s, medians of `draws` draws
  bool given = false;            ///< the scenario's own
};

struct JobsForecast {
  std::vector<JobRow> jobs;    ///< the scenario's own first
  std::vector<FlowRow> flows;  ///< owners after all jobs
  /// Row: a job; column: a job or flows. How many times longer the row takes beside the column alone; 1 on the diagonal.
  std::vector<std::vector<double>> slowdown;
  std::vector<SharedLink> links;  ///< the fullest ones
  std::size_t shared = 0;         ///< links that several use
  std::size_t contended = 0;        ///< and of which they want more than there is
  std::vector<PlacementTrial> trials;  ///< the fastest beside the others first
  double shuffled = 0;                 ///< s: the first one's hosts in a random order of ranks
  int samples_of_trials = 1;             ///< that matrix and trials are medians of
  std::uint32_t hosts = 0, free = 0;   ///< of the fabric; of these, in nobody's hands beside the scenario's own job
  std::uint64_t fingerprint = 0;
  const PlacementTrial* trial(Placement placement) const {
    for (const PlacementTrial& t : trials)
      if (t.placement == placement) return &t;
    return nullptr;
  }
};

/// \param size  of the scenario's call, if its workload is a collective
/// \throws UserError, Interrupted on Ctrl-C. The same bytes on any number of threads.
JobsForecast forecast_jobs(World& world, std::int64_t size, const RunOptions& options = {});

std::string jobs_text(const World& world, const JobsForecast& forecast);
std::string jobs_json(const World& world, const JobsForecast& forecast);
std::string jobs_csv(const JobsForecast& forecast);

/// The `--set` words that place the scenario's job so and hold all others where they are. The first one is the job's own,
/// `cluster.placement=[3, 4, ...]`; the others are none where nobody else is placed by a policy.
std::vector<std::string> placement_words(const World& world, const std::vector<std::uint32_t>& hosts);

}  // namespace fabricast
