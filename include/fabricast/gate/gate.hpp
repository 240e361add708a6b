// Floors of bus bandwidth, and ceilings of time, that a healthy cluster misses with a stated probability: for acceptance,
// for nodes that return to service, for continuous integration of a cluster's image.
//
// The ceiling of a row is the time that a healthy cluster of this kind exceeds with probability p, by the distribution of
// ln(measured / forecast) of residual/residual.hpp: Student's t, given what was measured of the site. With one draw of the
// network it is time * exp(quantile(1 - p) - median); with several, each draw has its share of the chance. The floor is the
// bus bandwidth at that time.
//
// p is of one row. Rows of one cluster are off together, so of n rows at least one is below its floor with a probability
// between p and n p. p says nothing of a cluster that is not healthy: how slow that is depends on what is wrong with it
// (calibrate/check.hpp). Not modelled: other jobs on the fabric, first calls, results in place.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fabricast/report/interval.hpp"

namespace fabricast {

/// Times in s, rates in B/s.
struct GateRow {
  CollectiveOp op = CollectiveOp::all_reduce;
  std::int64_t asked = 0;  ///< of the tool
  std::int64_t bytes = 0;  ///< as the tool prints it
  double expected = 0, ceiling = 0;
  double expected_bandwidth = 0, floor_bandwidth = 0;  ///< on the bus
  double known = 0;                                    ///< share of the variance that measured rows have taken away
  bool printed = true;                                 ///< false: the tool makes no call of so few bytes
};

/// One run of nccl-tests: sizes from..to, each `factor` times the one before.
struct GateSweep {
  CollectiveOp op = CollectiveOp::all_reduce;
  std::int64_t from = 0, to = 0, factor = 1;  ///< factor 1: one size
  std::vector<GateRow> rows;
  /// B/s. Mean of the rows, and what it is below with the gate's probability at most, however rows go together.
  double expected_average = 0, floor_average = 0;
};

struct Gate {
  double probability = 1e-3;  ///< that a row of a healthy cluster is below its floor
  std::size_t measured = 0;   ///< rows that it goes on from
  std::vector<GateRow> rows;
  /// Runs that have all rows that the tool calls. Empty: the scenario is not timed as by nccl-tests.
  std::vector<GateSweep> sweeps;
};

/// Runs the sizes of the scenario for each operation.
/// \pre 0 < probability <= 0.5
/// \throws UserError if an operation does not run, or the engine is not the flow engine
Gate gate_of(const World& world, const std::vector<CollectiveOp>& operations, const MeasuredSite& site,
             double probability, const RunOptions& options = {});

/// The sizes as runs of nccl-tests: `-b`, `-e` and a whole `-f` reach each of them and no other. \pre rising sizes of one op
std::vector<GateSweep> sweeps_of(const std::vector<GateRow>& rows);

/// How nccl-tests is told to run as the scenario.
struct TestCommand {
  std::int64_t processes = 1, hosts = 1;
  std::vector<std::pair<std::string, std::string>> environment;  ///< NCCL's variables of the scenario
  bool launched() const { return processes > 1; }
  std::int64_t processes_per_host() const { return processes / hosts; }
};
/// \throws UserError if the scenario is timed by another tool, or a variable of it can not stand in a script
TestCommand test_command(const Scenario& scenario, std::int64_t ranks);
/// "all_reduce_perf"
std::string test_program(CollectiveOp op);
/// "-b 1024 -e 4294967296 -f 4 -g 1 -w 5 -n 20"
std::string test_arguments(const Scenario& scenario, const GateSweep& sweep);
/// What NCCL_TESTS_MIN_BW has to be, GB/s: nccl-tests fails below 0.9 of it [nccl-tests-min-bw].
double minimum_of_tests(const GateSweep& sweep);
/// "NCCL_ALGO" can be set by `export`, and its value stands in quotes for a shell.
std::string shell_quoted(const std::string& value);

std::string gate_text(const World& world, const Gate& gate);
std::string gate_json(const World& world, const Gate& gate);
std::string gate_yaml(const World& world, const Gate& gate);
/// Shell variables, with the commands that they are of.
std::string gate_env(const World& world, const Gate& gate);
/// A POSIX shell script that runs nccl-tests, holds its table against the ceilings, and drains the node.
std::string gate_slurm(const World& world, const Gate& gate);
/// A ConfigMap of floors and script, and a Job that runs it; of several hosts an MPIJob.
std::string gate_kubernetes(const World& world, const Gate& gate);

/// A measured row beside its floor. Times in s, rates in B/s.
struct GateJudgement {
  CollectiveOp op = CollectiveOp::all_reduce;
  std::int64_t bytes = 0, nodes = 1;
  double measured = 0, expected = 0, ceiling = 0;
  double bandwidth = 0, floor_bandwidth = 0;  ///< on the bus
  double chance = 0;                          ///< of a healthy cluster's row to be as slow or slower
  std::string from;                           ///< log
  bool below() const { return measured > ceiling; }
};
struct GateVerdict {
  double probability = 1e-3;
  std::vector<GateJudgement> rows;
  std::vector<WrongRow> wrong;
  std::size_t below() const;
  bool passes() const { return below() == 0 && wrong.empty(); }
};

/// Judges series by the floors of their own sizes and nodes.
/// \throws UserError as gate_of
GateVerdict judge(const std::vector<MeasuredSeries>& measured, const MeasuredSite& site, double probability,
                  const RunOptions& options = {});
std::string verdict_text(const Scenario& scenario, const GateVerdict& verdict);
std::string verdict_json(const Scenario& scenario, const GateVerdict& verdict);
std::string verdict_yaml(const Scenario& scenario, const GateVerdict& verdict);
/// JSON as YAML in block style.
std::string yaml_of_json(const std::string& json);

}  // namespace fabricast
