// Measured against forecast: is the cluster as fast as it should be, and if not, why?
//
// Every cause that is known is simulated. Which of them is likely is Bayes' rule over all rows at once, by the same
// distribution of errors that intervals of forecasts are of (residual/residual.hpp), and beside two of them and none of
// them. docs/models/check.md.
#pragma once

#include <functional>
#include <optional>

#include "fabricast/calibrate/cases.hpp"
#include "fabricast/calibrate/import.hpp"
#include "fabricast/planner/regressions.hpp"
#include "fabricast/report/interval.hpp"
#include "fabricast/scenario/trial.hpp"

namespace fabricast {

/// What may be wrong with a cluster.
enum class Cause {
  healthy,
  no_gdr,
  sockets,
  slow_nic,
  numa_mismatch,
  ecmp_collision,
  pxn_off,
  nvls_off,
  sharp_off,
  algorithm_forced,
  protocol_forced,
  too_few_channels,
  fewer_nics,
  oversubscription,
  degraded_pcie,
  no_p2p,
  acs,
  vm_topology,
  one_process,
  no_mnnvl,
  power_cap,
  host_cost,
  congested_fabric,
  straggler,
  data_corruption,
  known_regression,
  none_of_these,  ///< something that is not in this list
};
template <>
struct EnumNames<Cause> {
  static constexpr std::array<std::string_view, 27> names{"healthy",
                                                          "no_gdr",
                                                          "sockets",
                                                          "slow_nic",
                                                          "numa_mismatch",
                                                          "ecmp_collision",
                                                          "pxn_off",
                                                          "nvls_off",
                                                          "sharp_off",
                                                          "algorithm_forced",
                                                          "protocol_forced",
                                                          "too_few_channels",
                                                          "fewer_nics",
                                                          "oversubscription",
                                                          "degraded_pcie",
                                                          "no_p2p",
                                                          "acs",
                                                          "vm_topology",
                                                          "one_process",
                                                          "no_mnnvl",
                                                          "power_cap",
                                                          "host_cost",
                                                          "congested_fabric",
                                                          "straggler",
                                                          "data_corruption",
                                                          "known_regression",
                                                          "none_of_these"};
};

/// One way in which a cause may show: "one NIC at 25 % of its rate".
struct Symptom : Trial {
  double quantile = 0.5;  ///< of the draws of the hash
};

/// A cause and how it would be seen to be true.
struct CauseKind {
  Cause cause;
  std::string_view summary;
  double prior;              ///< before anything is measured; they need not add up to 1
  double spread;             ///< of ln(time with it / as simulated), alike at all sizes: how well its effect is known
  std::string_view confirm;  ///< a command for the cluster
  std::vector<Symptom> (*symptoms)(const World& healthy);
};
/// In the order of Cause. The last one has no symptoms: it is what none of the others explains.
std::span<const CauseKind> cause_kinds();

enum class Verdict { fast, expected, slow };
template <>
struct EnumNames<Verdict> {
  static constexpr std::array<std::string_view, 3> names{"fast", "expected", "slow"};
};

struct CheckedRow {
  CollectiveOp op = CollectiveOp::all_reduce;
  std::int64_t bytes = 0;
  std::int64_t nodes = 1;
  double measured = 0, forecast = 0;  ///< s
  double low = 0, high = 0;           ///< s; where nine of ten healthy sites are
  double bus_bandwidth = 0;           ///< B/s, measured
  Verdict verdict = Verdict::expected;
};

struct Suspect {
  Cause cause = Cause::healthy;
  double probability = 0;        ///< of all causes that were tried
  Symptom symptom;               ///< that fits best
  double off = 0;                ///< geometric mean of measured over forecast with it
  std::optional<Cause> with;     ///< another cause that is there as well
  bool leaves_too_much = false;  ///< healthy clusters hardly ever are as far from their forecasts: it can not be all
};

/// A host, NIC or log with which the same test is slower than without.
struct SlowPlace {
  std::string kind, name;             ///< host, NIC or log
  double ratio = 1;                   ///< times with it over those without
  std::size_t with = 0, without = 0;  ///< series
};

struct CheckReport {
  std::vector<CheckedRow> rows;
  double off = 0;                 ///< geometric mean of measured over forecast
  std::vector<Suspect> suspects;  ///< the likeliest first
  std::vector<SlowPlace> places;  ///< the slowest first; empty: series do not differ, or there is one
  std::vector<Cause> unseen;      ///< causes that would not show in these rows
  /// Rows whose results the tool found wrong: then data are damaged on the way, and times mean little.
  std::vector<WrongRow> wrong;
  /// What is known to be slow of this version of NCCL in calls of the rows that are slow. Not a cause that was tried.
  std::vector<const Regression*> known;

  /// Whether nothing is wrong, or nothing that costs time. Wrong results are not healthy.
  bool healthy() const;
};

/// What a log states, where the scenario says something else: its times are then of another cluster.
struct Contradiction {
  int line = 0;               ///< of the log
  std::string key;            ///< of the scenario
  std::string log, scenario;  ///< what each says
  std::string hint;           ///< what would make them agree; may be empty
};
/// GPUs by the product's name and their number in a host, hosts of the ranks, kind, number and rate of NICs, and, where
/// the scenario gives them, processes and NCCL's version.
std::vector<Contradiction> contradictions(const Imported& log, const World& world);
std::string contradictions_text(const Scenario& scenario, const std::vector<Contradiction>& found);
std::string contradictions_json(const Scenario& scenario, const std::vector<Contradiction>& found);

/// What NCCL says in a log of itself, as factors of causes' priors; those that it says nothing of are left out. What it
/// states, as the transport of a connection, outweighs all times; what it only hints at counts fifty times.
std::map<Cause, double> evidence(const NcclFacts& log, const World& world);
/// The same, with what the tool states of processes and of wrong results, and `nvidia-smi topo -m` of GPUs and NICs.
std::map<Cause, double> evidence(const Imported& log, const World& world);

/// One diagnosis that has to fit all that was measured. Series of one scenario are judged by their middle; which of them
/// are slower than that tells where it is (places.hpp).
/// \param measured  each with what its cluster should be. \pre there is one, and each has rows of different sizes
/// \param site  what was measured when it was as it should be
/// \param weights  factors of causes' priors
/// \throws UserError if one does not run
CheckReport check(const std::vector<MeasuredSeries>& measured, const MeasuredSite& site,
                  const std::map<Cause, double>& weights = {}, const RunOptions& options = {});

std::string check_text(const Scenario& scenario, const CheckReport& report);
std::string check_json(const Scenario& scenario, const CheckReport& report);

}  // namespace fabricast
