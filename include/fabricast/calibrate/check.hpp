// `fabricast check`: is a cluster as fast as it should be, and if not, why?
//
// Measured times are compared with forecasts of the cluster as it should be (the scenario). Health is a one-sided test
// of all rows together. Each known cause is simulated in every form that it can take (its symptoms). Bayes' rule over
// all rows then gives the probabilities of the causes, of pairs of causes, and of something unknown. The likelihood is
// the distribution of forecast errors that intervals use too (residual/residual.hpp). docs/models/check.md derives the
// test and the rule, and says how often they are right.
//
// Ratios are measured over forecast: above 1 means slow. Results do not depend on the number of threads. All functions
// only read their arguments and are safe to call concurrently.
//
// Not modelled: three causes at once, and faults whose effect a scenario cannot express.
#pragma once

#include <functional>
#include <optional>

#include "fabricast/calibrate/cases.hpp"
#include "fabricast/calibrate/import.hpp"
#include "fabricast/calibrate/least_time.hpp"
#include "fabricast/planner/regressions.hpp"
#include "fabricast/report/interval.hpp"
#include "fabricast/scenario/trial.hpp"

namespace fabricast {

/// What may be wrong with a cluster. docs/models/check.md lists what is simulated for each.
enum class Cause {
  healthy,           ///< as fast as the hardware allows
  no_gdr,            ///< data are staged in host memory
  sockets,           ///< TCP instead of RDMA
  slow_nic,          ///< one NIC, its cable or its switch port
  numa_mismatch,     ///< processes use NICs of the other socket
  ecmp_collision,    ///< an unlucky hash: connections share links
  pxn_off,           ///< GPUs do not send by the NICs of their peers
  nvls_off,          ///< no reduction in the NVSwitches
  sharp_off,         ///< no reduction in the network switches, although the scenario has it
  algorithm_forced,  ///< by a variable, a file or a tuner
  protocol_forced,   ///< likewise
  too_few_channels,  ///< limited by a variable
  fewer_nics,        ///< NCCL uses some of the NICs only
  oversubscription,  ///< fewer uplinks than the scenario states
  degraded_pcie,     ///< the slot of a NIC has fewer lanes or an older generation
  no_p2p,            ///< GPUs of a host reach each other through host memory
  acs,               ///< PCIe traffic between devices goes through the root complex
  vm_topology,       ///< NCCL sees a flat PCIe tree
  one_process,       ///< one thread drives all GPUs of a host
  no_mnnvl,          ///< NVLink between hosts is not used
  power_cap,         ///< GPUs run at a lower clock
  host_cost,         ///< hosts add time to each call or hop
  congested_fabric,  ///< other jobs load the uplinks
  straggler,         ///< one rank is late, and all others wait
  data_corruption,   ///< results are wrong; times need not show it
  known_regression,  ///< of this version of NCCL (planner/regressions.hpp)
  none_of_these,     ///< a problem that no other entry describes
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

/// One form that a cause can take, for example "one NIC at 25 % of its rate", as a change of the scenario.
struct Symptom : Trial {
  /// Which time over the samples of the ECMP hash counts: above 0.5 the 95th percentile, from 1 on the slowest sample,
  /// else the median.
  double quantile = 0.5;
};

/// A cause, how likely and how well known it is, and how to confirm it.
struct CauseKind {
  Cause cause;
  std::string_view summary;  ///< one phrase for reports
  double prior;              ///< relative weight before anything is measured; the weights need not add up to 1
  /// Standard deviation of ln(time with the cause / as simulated), common to all sizes: how well its effect is known.
  double spread;
  std::string_view confirm;  ///< commands and log lines that confirm it on the cluster, as text
  /// The symptoms to try on a cluster; none if the cause is impossible there.
  std::vector<Symptom> (*symptoms)(const World& healthy);
};
/// All causes, in the order of Cause: entry i describes the cause with value i. `none_of_these` has no symptoms.
std::span<const CauseKind> cause_kinds();
/// The entry of a cause.
const CauseKind& kind_of(Cause cause);

/// Where a measured time lies relative to the 90 % interval of healthy sites: below, inside or above.
enum class Verdict { fast, expected, slow };
template <>
struct EnumNames<Verdict> {
  static constexpr std::array<std::string_view, 3> names{"fast", "expected", "slow"};
};

/// One size of a collective, compared with healthy sites.
struct CheckedRow {
  CollectiveOp op = CollectiveOp::all_reduce;
  std::int64_t bytes = 0;
  std::int64_t nodes = 1;
  Seconds measured;              ///< the median if several runs of one test were given
  Seconds forecast;              ///< the median of healthy sites, conditioned on the site's measured rows
  Seconds low, high;             ///< 90 % interval of healthy sites
  BytesPerSecond bus_bandwidth;  ///< of the measured time
  Verdict verdict = Verdict::expected;
  /// 5 % and 95 % of the samples of the ECMP hash, conditioned as `forecast`. Equal if the network is not sampled.
  Seconds sample_low = {}, sample_high = {};
};

/// The rows of one collective in one size band.
struct BandRatio {
  CollectiveOp op = CollectiveOp::all_reduce;
  std::size_t band = 0;  ///< index into `bands` (hardware/size_bands.hpp)
  double off = 1;        ///< geometric mean of measured over forecast
};

/// A cause, or two at once, with its probability.
struct Suspect {
  Cause cause = Cause::healthy;
  double probability = 0;     ///< the suspects of a report add up to 1
  Symptom symptom;            ///< the one that fits best
  double off = 0;             ///< geometric mean of measured over forecast with that symptom
  std::optional<Cause> with;  ///< the second of two causes at once
  /// Fewer than 2 % of healthy clusters are as far from their forecasts as these times are from those with this cause,
  /// in the size band that is furthest off. The cause cannot be all that is wrong. It ranks behind all that explain
  /// more.
  bool leaves_too_much = false;
};

/// A host, NIC or log: runs of one test that include it are slower than runs that do not.
struct SlowPlace {
  std::string kind, name;             ///< kind: "host", "NIC" or "log"
  double ratio = 1;                   ///< median slowdown of runs that include it over that of the others
  std::size_t with = 0, without = 0;  ///< numbers of runs that include it, and that do not
};

/// The diagnosis.
struct CheckReport {
  std::vector<CheckedRow> rows;  ///< by series, then size
  double off = 0;                ///< geometric mean of measured over forecast
  /// The slowest size band of a collective; null if all rows are of one band of one collective.
  std::optional<BandRatio> slowest;
  /// The likeliest first. `healthy` is first or last. Empty only if nothing was measured, as with RAS alone.
  std::vector<Suspect> suspects;
  std::vector<SlowPlace> places;  ///< in most runs first; empty if no run stands out, or if there is only one
  std::vector<Cause> unseen;      ///< causes that change no row by 2 % or more: these rows cannot show them
  /// Rows whose results the tool counted as wrong. Data are damaged in transit, whatever the times. `check` leaves this
  /// empty; the caller fills it in from the logs.
  std::vector<WrongRow> wrong;
  /// Communicators of a job with ranks that are behind the others. As `wrong`, filled in by the caller, from telemetry.
  std::vector<JobCommunicator> behind;
  /// Known regressions of this version of NCCL that match a call of a slow row. For information: matching is not proof.
  /// The entries live as long as the process.
  std::vector<const Regression*> known;

  /// Whether `healthy` is the first suspect, no place is slow, no results are wrong and no rank is certainly at fault.
  bool healthy() const;
  /// The cause that an answer names: the likeliest suspect besides `healthy`, if it has at least half of the
  /// probability, or at least three times that of every other. A pair that includes it is not a rival. Null: no clear
  /// cause.
  const Suspect* named() const;
  static constexpr double clear_lead = 3;
  /// Whether the slow rows are those of an ordinary launch: each lies within 5 % and 95 % of the samples of the ECMP hash.
  bool within_samples() const;
};

/// A statement of a log that disagrees with the scenario: the log was made on another cluster.
struct Contradiction {
  int line = 0;               ///< in the log, from 1
  std::string key;            ///< key of the scenario
  std::string log, scenario;  ///< the value that each of them states
  std::string hint;           ///< a `--set` that makes the scenario agree, or advice; may be empty
};
/// Compares a log with a scenario: the GPU's product name, the numbers of hosts and of GPUs per host, and the kind,
/// number and rate of NICs; where the scenario states them, also ranks per process and NCCL's release. Deviations that
/// a Cause describes, such as fewer NICs than in the scenario, are no contradictions. Equal contradictions appear once.
std::vector<Contradiction> contradictions(const Imported& log, const World& world);
/// Contradictions as text and as JSON, with the scenario's name. They take the place of a report: nothing is judged.
std::string contradictions_text(const Scenario& scenario, const std::vector<Contradiction>& found);
std::string contradictions_json(const Scenario& scenario, const std::vector<Contradiction>& found);

/// Rows that are faster than the hardware can be, as text and as JSON, with the scenario's name. They take the place of a
/// report: nothing is judged.
std::string impossible_text(const Scenario& scenario, const std::vector<ImpossibleRow>& found);
std::string impossible_json(const Scenario& scenario, const std::vector<ImpossibleRow>& found);

/// What NCCL reports about itself in a log, as factors of the causes' priors. A statement, such as the transport of a
/// connection, is 1e12 or 1e-12: times cannot outweigh it. A hint is 50 or 1/50. Causes about which the log says
/// nothing are left out.
std::map<Cause, double> evidence(const NcclFacts& log, const World& world);
/// The same, with what the benchmark tool states about processes and wrong results, and what `nvidia-smi topo -m` shows
/// of GPUs and NICs.
std::map<Cause, double> evidence(const Imported& log, const World& world);

/// Finds one diagnosis for everything that was measured. Several series of one scenario are runs of one test: their
/// median at each size is judged, and differences between them give the slow places. Symptoms are listed for the
/// cluster of the first series and applied to all, because one diagnosis must explain every series; one that makes a
/// scenario invalid is left out. Of the likeliest causes, pairs are tried where both together differ from each alone.
///
/// Simulates every symptom on every series: some hundred forecasts, in parallel over symptoms.
/// \param measured  series, each with the scenario of its cluster as it should be
/// \param site      rows measured while the site was as it should be; verdicts are conditioned on them
/// \param weights   factors of the causes' priors, from `evidence`
/// \pre `measured` is not empty, and the sizes of each series are distinct
/// \throws UserError if a series' scenario cannot run; Interrupted on Ctrl-C
CheckReport check(const std::vector<MeasuredSeries>& measured, const MeasuredSite& site,
                  const std::map<Cause, double>& weights = {}, const RunOptions& options = {});

/// The report as text: the answer first, then rows and causes.
/// \param scenario  names the report
std::string check_text(const Scenario& scenario, const CheckReport& report);
/// The report as JSON (docs/formats.md).
std::string check_json(const Scenario& scenario, const CheckReport& report);

}  // namespace fabricast
