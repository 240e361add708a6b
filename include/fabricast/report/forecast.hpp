// The forecast: one record per size, from which all writers print. And the run that makes it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "fabricast/residual/residual.hpp"
#include "fabricast/scenario/unstated.hpp"
#include "fabricast/scenario/world.hpp"

namespace fabricast {

/// An algorithm and a protocol; s, 0 if it is not simulated.
struct Choice {
  Algorithm algorithm = Algorithm::ring;
  Protocol protocol = Protocol::simple;
  double time = 0;
};

/// A measured row beside a forecast one.
struct KnownNear {
  CollectiveOp op = CollectiveOp::all_reduce;
  std::int64_t bytes = 0, nodes = 1;
  bool same_plan = false;  ///< of the same algorithm and protocol
  double octaves = 0;      ///< between their sizes
};

/// What a size takes from a NCCL version on.
struct VersionTime {
  NcclVersion from;
  double time = 0;
  Algorithm algorithm = Algorithm::ring;
  Protocol protocol = Protocol::simple;
  int channels = 1;
};

/// Times in s, rates in B/s.
struct ForecastRow {
  std::int64_t bytes = 0;  ///< as asked for: what the tool sends of it is `plan.bytes`
  double time = 0;         ///< median over draws
  double time_p5 = 0, time_p95 = 0, time_worst = 0;
  std::vector<double> sample_times;    ///< of every draw
  std::size_t median_sample = 0;       ///< that `time` and `result` are of
  double factor = 1;                 ///< 90 % interval of `time`: divided and multiplied by it; 1: not asked for
  std::optional<Residual> residual;  ///< of which `factor` is; absent: not asked for
  double level = 1;                  ///< what measured rows of the site have multiplied the times by
  std::optional<KnownNear> near;     ///< the measured row that tells most of this one; absent: there is none
  Algorithm algorithm = Algorithm::ring;
  Protocol protocol = Protocol::simple;
  int channels = 1;
  CollectiveResult result;  ///< of the median draw
  Plan plan;
  /// What NCCL would run, if that is not the row: it has no schedule yet, or selection `best` found a faster one.
  std::optional<Choice> nccl;
  std::vector<VersionTime> by_version;  ///< empty where NCCL's version is known
  double algorithm_bandwidth() const { return static_cast<double>(plan.bytes) / time; }
};

/// An input that nobody stated, and what its other values make of the times.
struct UnstatedEffect {
  UnstatedInput input;
  std::vector<std::vector<double>> ratios;  ///< [other value][row] time over that with the assumed value
};

struct Forecast {
  std::vector<ForecastRow> rows;
  std::vector<NcclVersion> versions;     ///< from which rows differ; empty where NCCL's version is known
  std::vector<UnstatedEffect> unstated;  ///< empty: all is stated, or nobody asked (report/unstated.hpp)
  std::int64_t ranks = 0;
  CollectiveOp op = CollectiveOp::all_reduce;
  int samples = 1;
  std::uint64_t fingerprint = 0;
  /// The row of an algorithm and a protocol, or null.
  const ForecastRow* find(Algorithm algorithm, Protocol protocol) const {
    for (const ForecastRow& row : rows)
      if (row.algorithm == algorithm && row.protocol == protocol) return &row;
    return nullptr;
  }
  double bus_bandwidth(const ForecastRow& row) const { return row.algorithm_bandwidth() * bus_factor(op, ranks); }
};

struct RunOptions {
  int threads = 0;                       ///< 0: as many as the machine has
  std::function<void(double)> progress;  ///< called now and then with the part done, from one thread at a time
};

/// Where tasks are shared out over threads further up.
inline const RunOptions one_thread{1, {}};

/// The options of a part of longer work: its progress goes from `begin` to `end` of the whole.
RunOptions part_of(const RunOptions& options, double begin, double end);

/// The plan of the scenario's collective at a size, as the tool that times it calls it.
Plan plan_workload(const World& world, std::int64_t asked);

/// Runs every size and draw of the scenario. The same input gives the same bytes whatever the number of threads.
Forecast run_forecast(const World& world, const RunOptions& options = {});

/// The same for each row's size with each algorithm and protocol that NCCL weighed there and that has a schedule.
Forecast run_candidates(const World& world, const Forecast& forecast, const RunOptions& options = {});

/// A row for each plan. \pre all are of one operation
Forecast run_plans(const World& world, std::vector<Plan> plans, const RunOptions& options = {});

/// What NCCL would run and the fastest of those that were weighed for the row's size.
struct Selected {
  Choice nccl, best;
  double cost() const { return nccl.time - best.time; }  ///< s that NCCL's choice takes longer
};
/// \param weighed of that size by run_candidates
/// \returns nothing where NCCL's choice is not simulated, or has none
std::optional<Selected> compare_selections(const ForecastRow& row, const Forecast& weighed);

}  // namespace fabricast
