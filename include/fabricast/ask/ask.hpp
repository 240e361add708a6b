// Questions to a scenario, and the functions that answer them: one for each verb of the command line.
//
//   answer_run       how long it takes                                   a Forecast, StepForecast or InferenceForecast
//   answer_explain   where the time goes and what would help
//   answer_check     are these measured times those of a healthy cluster, and if not, why
//   answer_gate      floors for acceptance tests, or verdicts on logs
//   answer_sweep     which configuration of a study                      (prepare_sweep, run_sweep, answer_sweep)
//   answer_search    which split of a training step
//
// Each composes what its layers compute (intervals, measured rows of the site, other jobs, versions of NCCL) into one
// Answer. Nothing of a question is decided anywhere else: verbs and doors only read words and write forms.
//
// Errors at keys of the scenario have their position in its file. All functions throw UserError for what the user can
// mend, Unavailable, and Interrupted (core/stop.hpp). They only read their arguments and are safe to call concurrently,
// except with the chunk engine. Results do not depend on the number of threads.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fabricast/ask/answer.hpp"
#include "fabricast/ask/logs.hpp"
#include "fabricast/gate/gate.hpp"
#include "fabricast/plan/decision.hpp"
#include "fabricast/plan/sweep.hpp"

namespace fabricast {

/// What a workload takes: `fabricast run`.
struct RunQuestion {
  bool intervals = true;               ///< the 90 % intervals, which take most of the time
  std::vector<MeasuredFile> measured;  ///< of this site: intervals are conditioned on them; may be empty
};
/// Forms: json, text, csv; a page; for steps a timeline.
Answer answer_run(const World& world, const RunQuestion& question, const RunOptions& how = {});

/// What limits it, and what would help: `fabricast explain`.
struct ExplainQuestion {
  std::optional<Bytes> size;  ///< of a collective; none: the middle one
  bool advise = false;        ///< also recommend NCCL variables for all sizes
  std::vector<MeasuredFile> measured;
};
/// Forms: json, text; a page.
/// \throws UserError if the workload is an execution trace, or is a step and a size or advice is asked
Answer answer_explain(const World& world, const ExplainQuestion& question, const RunOptions& how = {});

/// A measurement without a log.
struct BareMeasurement {
  Bytes size;
  Seconds time;
};
/// The time of a collective of the scenario with this bus bandwidth.
Seconds time_at_bus_bandwidth(const World& world, Bytes size, BytesPerSecond rate);

/// Whether measured times are those of a healthy cluster, and if not, why: `fabricast check`.
struct CheckQuestion {
  NamedLogs logs;
  std::optional<BareMeasurement> bare;  ///< if there are no logs
  std::vector<MeasuredFile> measured;   ///< of the site when it was healthy
};
/// Forms: json, text. `good` is false if times are too slow, results are wrong, a log contradicts the scenario, or a
/// row is faster than its hardware can be.
/// \throws UserError if nothing is measured
Answer answer_check(const World& world, const CheckQuestion& question, const RunOptions& how = {});

/// Limits that a healthy cluster keeps, or a verdict by them: `fabricast gate`.
struct GateQuestion {
  double probability = 1e-3;             ///< that a row of a healthy cluster is below its floor
  std::vector<CollectiveOp> operations;  ///< empty: that of the scenario
  NamedLogs logs;                        ///< empty: the floors; else the verdict on these
  std::vector<MeasuredFile> measured;
};
/// `1/1000`, `0.001` or `0.1%`, from 1e-9 to 50 %.
/// \param label  what the value is called in messages
/// \throws UserError
double probability_from(const std::string& text, const std::string& label);
/// The collectives of a list of names without repetitions.
/// \throws UserError for a name that is none
std::vector<CollectiveOp> operations_from(const std::vector<std::string>& names, const std::string& label);
/// Forms of floors: json, yaml, env, kubernetes, slurm, text; of verdicts: json, yaml, text. `good` is false if a log
/// fails or contradicts the scenario.
Answer answer_gate(const World& world, const GateQuestion& question, const RunOptions& how = {});

/// A sweep before its rows are forecast.
struct PreparedSweep {
  MeasuredSite site;
  SweepOptions how;  ///< without its site, which `options` sets
  /// `how` with a reference to `site`. \pre this object outlives the options
  SweepOptions options() const;
};
/// \param risk  also compute the effect of failures; on its own if the objective asks for it
/// \throws UserError if the study has nothing to vary or its objective is wrong
PreparedSweep prepare_sweep(const Study& study, bool intervals, bool risk, const std::vector<MeasuredFile>& measured,
                            const RunOptions& how = {});

/// The answer to a sweep whose rows are forecast. Forms: json, text, csv; a page.
struct SweepAnswer {
  Answer answer;
  Decision decision;
};
/// \param top  number of rows in text; 0: 20
/// \throws UserError if all rows are refused
SweepAnswer answer_sweep(const Study& study, SweepResult result, std::size_t top);

/// Splits of a training step over its GPUs, fastest first. Forms: json, text, csv.
/// \param limit  maximum number of forecasts, chosen by a quick estimate
/// \param top    number of rows; 0: all, in text 20
Answer answer_search(const World& world, std::size_t limit, std::size_t top, const RunOptions& how = {});

}  // namespace fabricast
