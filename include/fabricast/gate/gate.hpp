// Floors of bus bandwidth and ceilings of time that a healthy cluster misses with a stated probability p. They serve
// acceptance tests, nodes that return to service, and continuous integration of a cluster's image (docs/gate.md).
//
// The ceiling of a row is the time that a healthy cluster of this kind exceeds with probability p, under the
// distribution of ln(measured / forecast) in residual/residual.hpp, conditioned on the measured rows of the site:
//
//   ceiling = time * exp(quantile(1 - p) - median)     with one sample of the network
//
// With several samples, the ceiling is the quantile of their mixture (residual/tails.hpp). The floor is the bus
// bandwidth at the ceiling.
//
// p refers to one row. Errors of rows of one cluster are correlated, so at least one of n rows is below its floor with
// a probability between p and n p. p says nothing about a cluster that is not healthy: how slow that cluster is depends
// on its fault (calibrate/check.hpp).
//
// Sizes are in bytes. Not modelled: other jobs on the fabric, the first call, in-place results. Only the flow engine
// has error distributions.
//
// Pure functions except for the progress callback; safe to call concurrently. Results do not depend on the number of
// threads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fabricast/report/interval.hpp"

namespace fabricast {

/// The limits for one collective and size.
struct GateRow {
  CollectiveOp op = CollectiveOp::all_reduce;
  std::int64_t asked = 0;                              ///< size requested of the tool
  std::int64_t bytes = 0;                              ///< size that the tool uses and prints, rounded to its ranks
  Seconds expected, ceiling;                           ///< times
  BytesPerSecond expected_bandwidth, floor_bandwidth;  ///< bus bandwidths
  double known = 0;                                    ///< fraction of the variance that measured rows have removed
  bool printed = true;                                 ///< false: the size rounds to nothing and the tool skips it
};

/// One run of nccl-tests: the sizes from `from` to `to`, each `factor` times the previous one.
struct GateSweep {
  CollectiveOp op = CollectiveOp::all_reduce;
  std::int64_t from = 0, to = 0, factor = 1;  ///< factor 1: one size
  std::vector<GateRow> rows;
  /// Mean bus bandwidth of the rows, and its floor. The mean is below this floor with at most the gate's
  /// probability, whatever the correlations of the rows.
  BytesPerSecond expected_average, floor_average;
};

/// All limits for a scenario.
struct Gate {
  World world;                ///< the cluster
  double probability = 1e-3;  ///< that one row of a healthy cluster is below its floor
  std::size_t measured = 0;   ///< number of measured rows that the limits are conditioned on
  std::vector<GateRow> rows;
  /// Runs of nccl-tests that cover all rows with `printed`. Empty if the harness of the scenario is another tool.
  std::vector<GateSweep> sweeps;
};

/// Computes the limits for the sizes of the scenario, for each of the operations in place of the scenario's own.
/// \param probability  p
/// \pre 0 < probability <= 0.5
/// \throws UserError if an operation cannot run on this cluster, or the engine is not the flow engine
Gate gate_of(const World& world, const std::vector<CollectiveOp>& operations, const MeasuredSite& site,
             double probability, const RunOptions& options = {});

/// Groups sizes into the fewest consecutive runs of nccl-tests, so that `-b`, `-e` and an integer `-f` reach each of
/// them and no other size.
/// \pre the rows are of one operation, in ascending order of `asked`
std::vector<GateSweep> sweeps_of(const std::vector<GateRow>& rows);

/// The processes and variables with which nccl-tests runs as the scenario does.
struct TestCommand {
  std::int64_t processes = 1, hosts = 1;
  std::vector<std::pair<std::string, std::string>> environment;  ///< `nccl.env` of the scenario
  /// Whether a launcher such as mpirun has to start several processes.
  bool launched() const { return processes > 1; }
  /// Equal on all hosts.
  std::int64_t processes_per_host() const { return processes / hosts; }
};
/// \throws UserError if the harness of the scenario is another tool, or a variable cannot be written in a script
TestCommand test_command(const Scenario& scenario, std::int64_t ranks);
/// The program of nccl-tests for an operation: "all_reduce_perf".
std::string test_program(CollectiveOp op);
/// Its arguments: "-b 1024 -e 4294967296 -f 4 -g 1 -w 5 -n 20".
std::string test_arguments(const Scenario& scenario, const GateSweep& sweep);
/// The value for NCCL_TESTS_MIN_BW in GB/s. nccl-tests fails below 0.9 of it [nccl-tests-min-bw], so it is the floor of
/// the mean divided by 0.9.
double minimum_of_tests(const GateSweep& sweep);
/// The value in single quotes for a POSIX shell.
std::string shell_quoted(const std::string& value);

/// The limits as text for people.
std::string gate_text(const Gate& gate);
/// The limits as JSON (docs/formats.md).
std::string gate_json(const Gate& gate);
/// The same as YAML.
std::string gate_yaml(const Gate& gate);
/// Shell variables for nccl-tests, each with its command line in a comment.
/// \throws UserError as test_command; so do the next two
std::string gate_env(const Gate& gate);
/// A POSIX shell script that runs nccl-tests, compares its table with the ceilings, and drains the node with Slurm.
std::string gate_slurm(const Gate& gate);
/// A ConfigMap with floors and script, and a Job that runs it; for several hosts an MPIJob.
std::string gate_kubernetes(const Gate& gate);

/// A measured row compared with its limits.
struct GateJudgement {
  CollectiveOp op = CollectiveOp::all_reduce;
  std::int64_t bytes = 0, nodes = 1;
  Seconds measured, expected, ceiling;
  BytesPerSecond bandwidth, floor_bandwidth;  ///< bus bandwidths
  double chance = 0;                          ///< probability that a healthy cluster is as slow or slower
  std::string from;                           ///< file of the log
  /// Whether the row fails: it took longer than its ceiling, so its bandwidth is below the floor.
  bool below() const { return measured > ceiling; }
};

/// The verdict on measured rows.
struct GateVerdict {
  double probability = 1e-3;
  std::vector<GateJudgement> rows;
  std::vector<WrongRow> wrong;  ///< rows with wrong results; any of them fails the gate
  /// Number of rows below their floors.
  std::size_t below() const;
  /// Whether every row keeps its limit and no result is wrong.
  bool passes() const { return below() == 0 && wrong.empty(); }
};

/// Compares measured series with the limits for their own sizes and numbers of nodes. `wrong` stays empty.
/// \throws UserError as gate_of
GateVerdict judge(const std::vector<MeasuredSeries>& measured, const MeasuredSite& site, double probability,
                  const RunOptions& options = {});
/// The verdict as text for people, as JSON, and as YAML.
std::string verdict_text(const Scenario& scenario, const GateVerdict& verdict);
std::string verdict_json(const Scenario& scenario, const GateVerdict& verdict);
std::string verdict_yaml(const Scenario& scenario, const GateVerdict& verdict);
/// A JSON object as YAML in block style.
std::string yaml_of_json(const std::string& json);

}  // namespace fabricast
