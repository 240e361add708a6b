// Measured steps: scenarios with the time that a step took there; what forecasts of them are off by; and the fit of what
// GPUs and software reach (`compute.*`, `stacks.*`) to them.
//
// A file of steps is JSON: a list of {id, source, step_s, scenario} with a scenario as an object, as in YAML. Steps of
// one `source` were measured by the same people on the same system. `held_out`: no fit sees it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "fabricast/calibrate/fit.hpp"

namespace fabricast {

struct StepCase {
  std::string id, source, note;
  double seconds = 0;  ///< measured
  bool held_out = false;
  std::string scenario;  ///< its text
};

std::string shipped_steps_path();
/// \throws UserError with file and line of what is damaged
std::vector<StepCase> read_steps(const std::string& path);

/// A step whose scenario is read, and whose exchanges are timed, once. Not thread-safe.
class StepRunner {
 public:
  explicit StepRunner(const StepCase& step);
  ~StepRunner();
  StepRunner(StepRunner&&) noexcept;
  /// s of a step with other parameters of GPU and software.
  double seconds(const Hardware& hardware);
  /// Whether its time may depend on a parameter.
  bool uses(const std::string& parameter) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

struct StepRow {
  std::string id, source;
  double measured = 0, forecast = 0;  ///< s
  bool held_out = false;
  double error() const { return forecast / measured - 1; }
};

struct StepValidation {
  std::vector<StepRow> rows;
  /// A source's mean and worst error, of rows that are in the fit (or held out).
  struct Summary {
    std::string source;
    std::size_t rows = 0;
    double mean = 0, worst = 0, bias = 0;
  };
  std::vector<Summary> summaries(bool held_out) const;
};

StepValidation validate_steps(const std::vector<StepCase>& steps, const Hardware& hardware,
                              const std::function<void(double)>& progress = {});

struct StepFitOptions {
  int iterations = 20;
  std::function<void(int iteration, double loss)> progress;
};
/// Fits what the steps that are not held out depend on. \throws UserError if there are none
Fit fit_steps(const std::vector<StepCase>& steps, const Hardware& prior, const StepFitOptions& options);

std::string steps_text(const StepValidation& validation);

}  // namespace fabricast
