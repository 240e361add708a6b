// Measured steps: scenarios with the time that a step took there; what forecasts of them are off by; and the fit of what
// GPUs and software reach (`compute.*`, `stacks.*`) to them. Kernels timed by themselves count beside them.
//
// A file of steps is JSON: a list of {id, source, step_s, scenario} with a scenario as an object, as in YAML, or of
// {id, source, time_us, kernel} (docs/formats.md). Steps of
// one `source` were measured by the same people on the same system. `held_out`: no fit sees it; `noise`: what fits take
// the time to be uncertain by.
#pragma once

#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "fabricast/calibrate/fit.hpp"
#include "fabricast/calibrate/kernel_case.hpp"

namespace fabricast {

struct StepCase {
  std::string id, source, note;
  double seconds = 0;   ///< measured
  double noise = 0.02;  ///< of the publication, relative: digits, run to run, and what rows of one kind disagree by
  bool held_out = false;
  std::string scenario;  ///< its text; empty: a kernel
  KernelCase kernel;
};

std::string shipped_steps_path();
/// \throws UserError with file and line of what is damaged
std::vector<StepCase> read_steps(const std::string& path);
/// The same of a text; `path` is for messages.
std::vector<StepCase> steps_of(const std::string& text, const std::string& path);

/// A kernel, or a step whose scenario is read, and whose exchanges are timed, once. Not thread-safe.
class StepRunner {
 public:
  explicit StepRunner(const StepCase& step);
  ~StepRunner();
  StepRunner(StepRunner&&) noexcept;
  /// s of a step with other parameters of GPU and software.
  double seconds(const Hardware& hardware);
  /// \throws UserError if a step does not fit in a GPU's memory, by the estimate
  void check_memory() const;
  /// The software generation; empty: a kernel, which has none.
  std::string stack() const;
  /// Whether a step is of a mixture of experts.
  bool experts() const;
  /// Whether its time may depend on a parameter.
  bool uses(const std::string& parameter) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

struct StepRow {
  std::string id, source;
  double measured = 0, forecast = 0;  ///< s
  double factor = 1;                  ///< the 90 % interval: forecast / factor to forecast x factor
  double deviation = 0;               ///< of ln(forecast), by what is not known of parameters
  bool held_out = false;
  bool experts = false;  ///< of a mixture of experts
  double error() const { return forecast / measured - 1; }
  bool within() const { return std::abs(std::log(forecast / measured)) <= std::log(factor); }
};
/// The interval is that of GPU and software; exchanges stay as they are.
StepRow step_row(const StepCase& step, StepRunner& runner, const Hardware& hardware);

/// Sources with the errors of their rows.
struct StepSummary {
  std::string source;
  std::size_t rows = 0, within = 0;      ///< all, and those whose measured time is in their interval
  double mean = 0, worst = 0, bias = 0;  ///< of errors: the mean and the largest size, and the mean
};
std::vector<StepSummary> summarize(const std::vector<StepRow>& rows, bool held_out = false);
/// Of dense models or of mixtures of experts, each source counting once; `source` stays empty, `rows` and `within` are sums.
StepSummary mean_over_sources(const std::vector<StepRow>& rows, bool experts);

/// What is left out together: what learned the same is no judge of itself.
enum class LeftOutSteps {
  software,  ///< steps of a software generation
  source,    ///< rows of a source
  family     ///< of all sources that begin with the same word: releases of one table repeat its rows
};
template <>
struct EnumNames<LeftOutSteps> {
  static constexpr std::array<std::string_view, 3> names{"software", "source", "family"};
};

/// A fit without a group of steps, and forecasts of these by it.
struct LeftOutFit {
  LeftOutSteps by = LeftOutSteps::software;
  std::string group;
  Fit fit;
  std::vector<StepRow> rows;  ///< with the intervals that the other groups' errors tell
};

struct StepValidation {
  std::vector<StepRow> rows;
  std::vector<LeftOutFit> left_out;  ///< empty: not asked for
};

StepValidation validate_steps(const std::vector<StepCase>& steps, const Hardware& hardware,
                              const std::function<void(double)>& progress = {});

struct StepFitOptions {
  int iterations = 20;
  double tolerance = 1e-4;  ///< a step that gains less of the loss is the last
  std::function<void(int iteration, double loss)> progress;
};
/// Fits what the steps that are not held out depend on. \throws UserError if there are none
Fit fit_steps(const std::vector<StepCase>& steps, const Hardware& prior, const StepFitOptions& options);

/// Fits without the steps of each group in turn, and forecasts those by it. Each fit begins at the priors: neither the
/// measured times of what is left out enter, nor a fit that has seen them. Steps that are held out are in no fit and are
/// not forecast. In order of `by` and group.
std::vector<LeftOutFit> leave_out_fits(const std::vector<StepCase>& steps, const Hardware& prior,
                                       const std::vector<LeftOutSteps>& what, const StepFitOptions& options,
                                       const std::function<void(double)>& progress = {});
std::vector<StepRow> rows_left_out(const std::vector<LeftOutFit>& fits, LeftOutSteps by);
/// `forecast.steps`: the spread with which nine tenths of rows that were left out are in their interval, each source
/// counting once. \returns what at least three sources tell
std::vector<FittedParameter> learned_step_spread(const std::vector<StepRow>& left_out, const Hardware& prior);

std::string steps_text(const StepValidation& validation);
/// The page for the docs: all rows, sources, parameters. \param tables, rows_of_tables  sections on published tables
std::string steps_markdown(const StepValidation& validation, const Hardware& hardware, const std::string& tables = {},
                           const std::string& rows_of_tables = {});

}  // namespace fabricast
