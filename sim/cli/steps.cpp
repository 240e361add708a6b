#include "steps.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "fabricast/calibrate/steps.hpp"
#include "fabricast/core/file.hpp"

namespace fabricast {

namespace {

/// Of the file that `--steps` names, or of the shipped one, those that `--only` names.
std::vector<StepCase> chosen_steps(const Options& options) {
  const std::string file = options.text("steps");
  std::vector<StepCase> steps = read_steps(file.empty() ? shipped_steps_path() : file);
  const std::string only = options.text("only");
  std::erase_if(steps, [&](const StepCase& c) { return c.id.find(only) == std::string::npos; });
  if (steps.empty())
    throw UserError(only.empty() ? "there are no steps" : fmt::format("no step has '{}' in its id", only));
  return steps;
}

void show_step_fit(int iteration, double loss) {
  if (isatty(STDERR_FILENO)) fmt::print(stderr, "\riteration {}: loss {:.5g} ", iteration, loss);
}

}  // namespace

int validate_steps_of(const Options& options) {
  const std::string markdown = output_path(options, "markdown");
  Hardware hardware = shipped_hardware();
  if (options.has("profile")) overlay_profile(hardware, read_file(options.text("profile")), options.text("profile"));
  for (const std::string& word : options.list("leave-out"))
    if (word != "software")
      throw UserError("--leave-out: of steps one can leave out 'software', each generation in turn",
                      "--steps --leave-out software");
  const std::vector<StepCase> steps = chosen_steps(options);
  StepValidation v = validate_steps(steps, hardware, progress_bar());
  if (options.has("leave-out")) v.left_out = leave_out_stacks(steps, prior_hardware(), {}, progress_bar());
  if (!markdown.empty()) emit(markdown, steps_markdown(v, hardware));
  if (markdown != "-") emit("-", steps_text(v));
  return 0;
}

int fit_steps_of(const Options& options) {
  const std::string output = output_path(options, "output");
  Hardware hardware = options.has("from-priors") ? prior_hardware() : shipped_hardware();
  if (options.has("profile")) overlay_profile(hardware, read_file(options.text("profile")), options.text("profile"));
  StepFitOptions how;
  how.iterations = options.integer("iterations", 20, 1, 1000);
  how.progress = show_step_fit;
  const std::vector<StepCase> steps = chosen_steps(options);
  const Fit fit = fit_steps(steps, hardware, how);
  std::string out = fmt::format("loss {:.5g} -> {:.5g}\n", fit.loss_before, fit.loss_after);
  for (const FittedParameter& p : fit.parameters)
    out += fmt::format("  {:<44} {:>9.4g} -> {:>9.4g}  x/: {:.2f}  by data {:.2f}\n", p.path, p.before.value,
                       p.after.value, std::exp(quantile_95 * p.error),
                       std::exp(std::min(9.0, quantile_95 * p.error_by_data)));
  std::vector<std::pair<std::string, Parameter>> fitted;
  for (const FittedParameter& p : fit.parameters) fitted.emplace_back(p.path, p.after);
  if (!output.empty()) emit(output, profile_json(fitted, options.text("source", "fit")));
  emit("-", out + "\n" + steps_text(validate_steps(steps, fit.hardware)));
  return 0;
}

}  // namespace fabricast
