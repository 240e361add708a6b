// The forecast of a collective: one record per size, which all writers print, and the functions that compute it.
//
// A row is the plan that NCCL makes for a size, simulated on each sample of the network (random ECMP hashes). Times are
// those that the benchmark tool of the scenario would print (report/harness.hpp): the median over the samples,
// percentiles by nearest rank, and the maximum.
//
//   run_forecast        the sizes of the scenario                     -> Forecast, one row per size
//   add_unstated, add_intervals, forecast_versions                    fill in further members of the rows
//   run_candidates      the alternatives that NCCL considered         -> Forecast, several rows per size
//   run_plans           plans of the caller                           -> Forecast, one row per plan
//
// Sizes are in bytes. Results do not depend on the number of threads.
//
// The functions only read the World and may run concurrently on one World, except with the chunk engine, which forks
// and therefore uses one thread.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "fabricast/residual/residual.hpp"
#include "fabricast/scenario/unstated.hpp"
#include "fabricast/scenario/world.hpp"

namespace fabricast {

/// An algorithm and a protocol with their time.
struct Choice {
  Algorithm algorithm = Algorithm::ring;
  Protocol protocol = Protocol::simple;
  Seconds time;  ///< 0 if it is not simulated
};

/// The measured row that informs a forecast row most, and how the two differ.
struct KnownNear {
  CollectiveOp op = CollectiveOp::all_reduce;
  std::int64_t bytes = 0, nodes = 1;
  bool same_plan = false;  ///< whether algorithm and protocol are the same
  double octaves = 0;      ///< distance of their sizes, as log2
};

/// The time and plan of a size with NCCL versions from `from` on.
struct VersionTime {
  NcclVersion from;
  Seconds time;
  Algorithm algorithm = Algorithm::ring;
  Protocol protocol = Protocol::simple;
  int channels = 1;
};

/// The forecast of one size.
struct ForecastRow {
  std::int64_t bytes = 0;  ///< requested size; the tool may round it, and sends `plan.bytes`
  Seconds time;            ///< median over the samples
  Seconds time_p5, time_p95, time_worst;
  std::vector<Seconds> sample_times;  ///< one per sample
  std::size_t median_sample = 0;      ///< index of the sample that `time` and `result` come from
  /// The 90 % interval is from time / factor to time x factor. 1 until add_intervals sets it.
  double factor = 1;
  std::optional<Residual> residual;  ///< the distribution that `factor` is derived from; set by add_intervals
  double level = 1;                  ///< factor by which measured rows of the site have shifted the times
  std::optional<KnownNear> near;     ///< the nearest measured row, if there are measured rows
  Algorithm algorithm = Algorithm::ring;
  Protocol protocol = Protocol::simple;
  int channels = 1;         ///< channels that carry data; thread blocks of a kernel on symmetric memory
  CollectiveResult result;  ///< of the median sample; not shifted by measured rows
  Plan plan;
  /// NCCL's choice if the row is another one: either NCCL's choice has no schedule yet, or selection `best` found a
  /// faster one. Not shifted by measured rows.
  std::optional<Choice> nccl;
  std::vector<VersionTime> by_version;  ///< set by forecast_versions; empty if the version of NCCL is known
  /// Algorithm bandwidth, of the bytes that the tool sends.
  BytesPerSecond algorithm_bandwidth() const { return Bytes{plan.bytes} / time; }
};

/// An unstated input, and how its other values would change the times.
struct UnstatedEffect {
  UnstatedInput input;
  std::vector<std::vector<double>> ratios;  ///< [other value][row]: time divided by that with the assumed value
};

/// The forecast of a scenario's sizes.
struct Forecast {
  World world;  ///< what is forecast
  std::vector<ForecastRow> rows;
  std::vector<NcclVersion> versions;     ///< from which on the plans differ; empty if NCCL's version is known
  std::vector<UnstatedEffect> unstated;  ///< set by add_unstated; empty if everything is stated
  std::int64_t ranks = 0;
  CollectiveOp op = CollectiveOp::all_reduce;
  int samples = 1;                ///< number of samples of the network
  std::uint64_t fingerprint = 0;  ///< hash of the event trajectories of all samples
  /// The first row with an algorithm and a protocol, or null.
  const ForecastRow* find(Algorithm algorithm, Protocol protocol) const {
    for (const ForecastRow& row : rows)
      if (row.algorithm == algorithm && row.protocol == protocol) return &row;
    return nullptr;
  }
  /// Bus bandwidth of a row, by the factor of nccl-tests for the operation.
  BytesPerSecond bus_bandwidth(const ForecastRow& row) const {
    return row.algorithm_bandwidth() * bus_factor(op, ranks);
  }
};

/// How to run work. It does not change results.
struct RunOptions {
  int threads = 0;                       ///< 0: as many as the machine has
  std::function<void(double)> progress;  ///< called with the completed fraction, by one thread at a time; may be empty
};

/// For tasks that already run in parallel.
inline const RunOptions one_thread{1, {}};

/// Options for a part of longer work: its progress, 0 to 1, becomes `begin` to `end` of the whole.
RunOptions part_of(const RunOptions& options, double begin, double end);

/// NCCL's plan for the scenario's collective at a requested size, which the benchmark tool may round.
/// \throws UserError as plan_collective
Plan plan_workload(const World& world, std::int64_t asked);

/// Simulates all sizes and samples of the scenario. With `nccl.selection: best`, each row is the fastest of what NCCL
/// considered; otherwise it is NCCL's choice.
/// \throws UserError if the collective cannot run (no algorithm, or faults cut the fabric); Interrupted on Ctrl-C
Forecast run_forecast(const World& world, const RunOptions& options = {});

/// Simulates the alternatives: for the size of each row of `forecast`, every algorithm and protocol that NCCL
/// considered and that has a schedule. The result also contains the rows of `forecast` themselves.
Forecast run_candidates(const Forecast& forecast, const RunOptions& options = {});

/// Simulates plans of the caller; one row per plan, in their order.
/// \pre all plans are of one operation
Forecast run_plans(const World& world, std::vector<Plan> plans, const RunOptions& options = {});

/// NCCL's choice for a size, and the fastest of what NCCL considered.
struct Selected {
  Choice nccl, best;
  Seconds cost() const { return nccl.time - best.time; }  ///< additional time of NCCL's choice
};
/// \param weighed  the alternatives of the row's size, and of no other, by run_candidates
/// \returns nothing if NCCL's choice is not simulated, or NCCL did not choose by estimates
std::optional<Selected> compare_selections(const ForecastRow& row, const Forecast& weighed);

}  // namespace fabricast
