// Measured training steps: scenarios with the time that a step took, the errors of their forecasts, and the fit of the
// parameters of GPUs and software (`compute.*`, `stacks.*`) to them. Kernels that were timed in isolation are fitted
// together with the steps.
//
// A file of steps is a JSON list of {id, source, step_s, scenario}, with the scenario as an object as in YAML, or of
// {id, source, time_us, kernel} (docs/formats.md). Steps of one `source` were measured by the same people on the same
// system. Optional keys: `noise`, the relative uncertainty that a fit assumes; `held_out`, which keeps a step out of
// all fits; `note`.
//
// An error is forecast / measured - 1. Intervals cover the parameters of GPU and software and the spread of the model,
// not the network (report/step_interval.hpp).
//
// Functions on whole lists use all cores; results do not depend on the number of threads. Long ones throw Interrupted
// on Ctrl-C. `progress` callbacks receive the fraction that is done, may be empty, and may be called from any thread.
#pragma once

#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "fabricast/calibrate/fit.hpp"
#include "fabricast/calibrate/kernel_case.hpp"

namespace fabricast {

/// A measured step, or a measured kernel.
struct StepCase {
  std::string id, source, note;
  Seconds measured;
  double noise = 0.02;    ///< relative: digits of the publication, run-to-run variation, disagreement of similar rows
  bool held_out = false;  ///< whether all fits ignore it
  std::string scenario;   ///< as text; empty: this is a kernel
  KernelCase kernel;
};

/// Path of the shipped steps, `calibrate/data/steps.json`.
std::string shipped_steps_path();
/// Reads a file of steps.
/// \throws UserError with the file and the first fault
std::vector<StepCase> read_steps(const std::string& path);
/// As read_steps, from a text; `path` appears in messages.
std::vector<StepCase> steps_of(const std::string& text, const std::string& path);

/// Forecasts one step or kernel repeatedly with different parameters. The scenario is read once, and its collectives
/// are timed once, in the first sample of the network. Use it from one thread at a time.
class StepRunner {
 public:
  /// \throws UserError if the scenario or the kernel is refused. The estimate of memory is not checked.
  explicit StepRunner(const StepCase& step);
  ~StepRunner();
  StepRunner(StepRunner&&) noexcept;
  /// The forecast with other parameters of GPU and software.
  Seconds time(const Hardware& hardware);
  /// \throws UserError if the step does not fit in the memory of a GPU, by the estimate
  void check_memory() const;
  /// The software generation; empty for a kernel.
  std::string stack() const;
  /// Whether it is a step of an MoE model.
  bool experts() const;
  /// What the interval adds to that of the parameters: spread_of_steps; 0 for a kernel, which has no software.
  double spread(const Hardware& hardware) const;
  /// Whether the forecast may depend on a parameter, given by its path.
  bool uses(const std::string& parameter) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// A step with its forecast.
struct StepRow {
  std::string id, source;
  Seconds measured, forecast;
  double factor = 1;     ///< 90 % interval: forecast / factor to forecast * factor
  double deviation = 0;  ///< standard deviation of ln(forecast) by uncertain parameters
  bool held_out = false;
  bool experts = false;  ///< whether it is an MoE model
  /// Relative error; positive: the forecast is too slow.
  double error() const { return forecast / measured - 1; }
  /// Whether the measured time is in the 90 % interval.
  bool within() const { return std::abs(std::log(forecast / measured)) <= std::log(factor); }
};
/// Forecasts a step with its interval.
StepRow step_row(const StepCase& step, StepRunner& runner, const Hardware& hardware);

/// Errors of the rows of a source.
struct StepSummary {
  std::string source;
  std::size_t rows = 0, within = 0;      ///< all rows, and those whose measured time is in their interval
  double mean = 0, worst = 0, bias = 0;  ///< mean absolute error; the largest error, with its sign; mean error
};
/// Summaries by source, in order of appearance, of the rows with this value of `held_out`.
std::vector<StepSummary> summarize(const std::vector<StepRow>& rows, bool held_out = false);
/// The means over sources, each counted once, of dense or of MoE models; without rows that are held out. `source` stays
/// empty, `rows` and `within` are sums.
StepSummary mean_over_sources(const std::vector<StepRow>& rows, bool experts);

/// The groups that are left out together. Rows that share a cause of error must not judge each other.
enum class LeftOutSteps {
  software,  ///< all steps of a software generation
  source,    ///< all rows of a source
  family     ///< all sources whose names share the part before the first `-`: releases of one table repeat its rows
};
template <>
struct EnumNames<LeftOutSteps> {
  static constexpr std::array<std::string_view, 3> names{"software", "source", "family"};
};

/// A fit without a group of steps, and the forecasts of that group with it.
struct LeftOutFit {
  LeftOutSteps by = LeftOutSteps::software;
  std::string group;
  Fit fit;
  std::vector<StepRow> rows;  ///< with intervals that are learned from the errors of the other groups
};

/// What the page and the text of a validation show.
struct StepValidation {
  std::vector<StepRow> rows;
  std::vector<LeftOutFit> left_out;  ///< empty: not requested
};

/// Forecasts all steps with the given hardware. `left_out` stays empty.
StepValidation validate_steps(const std::vector<StepCase>& steps, const Hardware& hardware,
                              const std::function<void(double)>& progress = {});

/// How to fit steps.
struct StepFitOptions {
  int iterations = 20;
  double tolerance = 1e-4;  ///< the fit ends with an iteration that reduces the loss by less than this fraction
  std::function<void(int iteration, double loss)> progress;  ///< may be empty
};
/// Fits the parameters that steps depend on, by least squares in their logarithms with Cauchy's loss and the priors of
/// `prior`. Steps that are held out are ignored.
/// \throws UserError if there are no steps to fit to, or if a scenario is refused
Fit fit_steps(const std::vector<StepCase>& steps, const Hardware& prior, const StepFitOptions& options);

/// Fits without the steps of each group in turn, and forecasts the group with the result. Each fit starts at the
/// priors, so neither the measured times of the group nor a fit that has seen them can enter. Steps that are held out
/// are neither fitted nor forecast. In order of `by` and group.
/// \param what  the kinds of groups
std::vector<LeftOutFit> leave_out_fits(const std::vector<StepCase>& steps, const Hardware& prior,
                                       const std::vector<LeftOutSteps>& what, const StepFitOptions& options,
                                       const std::function<void(double)>& progress = {});
/// The rows of all groups of one kind.
std::vector<StepRow> rows_left_out(const std::vector<LeftOutFit>& fits, LeftOutSteps by);
/// Learns `forecast.steps.dense` and `forecast.steps.experts` from rows that were left out: the standard deviation with
/// which 90 % of rows are in their interval, each source counted once. A kind of model with fewer than three sources is
/// missing from the result.
std::vector<FittedParameter> learned_step_spread(const std::vector<StepRow>& left_out, const Hardware& prior);

/// Tables as text for people.
std::string steps_text(const StepValidation& validation);
/// The page docs/validation-steps.md.
/// \param tables, rows_of_tables  sections on published tables (published_validation.hpp); may be empty
std::string steps_markdown(const StepValidation& validation, const Hardware& hardware, const std::string& tables = {},
                           const std::string& rows_of_tables = {});

}  // namespace fabricast
