// `calibrate --serving`: validates and fits forecasts of inference on published tables
// (docs/calibrate/published-serving.md).
#include "serving.hpp"

#include <fmt/format.h>

#include "fabricast/calibrate/published_serving_validation.hpp"
#include "fabricast/core/file.hpp"

namespace fabricast {

namespace {

std::vector<MappedServing> chosen_rows(const Options& options) {
  const std::string file = options.text("serving"), only = options.text("only");
  std::vector<MappedServing> rows = map_serving_rows(read_serving_rows(file.empty() ? shipped_serving_path() : file));
  std::erase_if(rows, [&](const MappedServing& r) { return r.id.find(only) == std::string::npos; });
  if (rows.empty()) throw UserError(fmt::format("no row has '{}' in its id", only));
  return rows;
}

Hardware chosen_hardware(const Options& options) {
  Hardware hardware = options.has("from-priors") ? prior_hardware() : shipped_hardware();
  if (options.has("profile")) overlay_profile(hardware, read_file(options.text("profile")), options.text("profile"));
  return hardware;
}

}  // namespace

int validate_serving_of(const Options& options) {
  for (const std::string name : {"steps", "cases", "terms"})
    if (options.has(name)) throw UserError("--" + name + " cannot be combined with --serving", "give one of them");
  for (const std::string name : {"calibrated", "identified", "prior-weight"})
    if (options.has(name))
      throw UserError("--" + name + " cannot be combined with --serving", "it is for measured collectives");
  const std::string markdown = output_path(options, "markdown"), json = output_path(options, "json");
  if (!json.empty() && json == markdown)
    throw UserError(fmt::format("--json and --markdown cannot both write to '{}'", json));
  const std::vector<std::string> left_out = options.list("leave-out");
  if (!left_out.empty() && left_out != std::vector<std::string>{"source"})
    throw UserError("--leave-out: with --serving, only 'source' can be left out", "--serving --leave-out source");
  const std::vector<MappedServing> rows = chosen_rows(options);
  const Hardware hardware = chosen_hardware(options);
  ServingPage page;
  if (left_out.empty()) {
    page.results = validate_serving(rows, hardware, progress_bar());
  } else {
    // The errors that the documentation states are of rows that the fit has not seen. Errors in the fit are shown next
    // to them.
    page.results = leave_out_serving(rows, prior_hardware(), hardware, {}, progress_bar());
    if (!markdown.empty()) page.in_the_fit = validate_serving(rows, hardware);
  }
  if (!markdown.empty()) emit(markdown, serving_markdown(page));
  if (!json.empty()) emit(json, serving_json(page.results));
  if (json != "-" && markdown != "-") emit("-", serving_text(page.results, options.has("rows")));
  return 0;
}

int fit_serving_of(const Options& options) {
  const std::string output = output_path(options, "output");
  ServingFitOptions how;
  how.iterations = options.integer("iterations", how.iterations, 1, 1000);
  how.progress = show_iteration;
  const std::vector<MappedServing> rows = chosen_rows(options);
  const Fit fit = fit_serving(rows, chosen_hardware(options), how);
  std::vector<FittedParameter> found = fit.parameters;
  // Factors of intervals are parameters too, learned from rows of sources that were left out
  // (docs/models/inference.md).
  if (options.has("spread")) {
    const std::vector<ServingResult> left_out =
        leave_out_serving(rows, prior_hardware(), fit.hardware, how, progress_bar());
    for (FittedParameter& p : learned_spread(left_out, fit.hardware)) found.push_back(std::move(p));
  }
  std::string out = fmt::format("loss {:.5g} -> {:.5g}\n", fit.loss_before, fit.loss_after);
  out += parameters_text(found);
  std::vector<std::pair<std::string, Parameter>> fitted;
  for (const FittedParameter& p : found) fitted.emplace_back(p.path, p.after);
  if (!output.empty()) emit(output, profile_json(fitted, options.text("source", "fit")));
  emit("-", out + "\n" + serving_text(validate_serving(rows, fit.hardware), options.has("rows")));
  return 0;
}

}  // namespace fabricast
