// `calibrate --steps`: validates and fits forecasts of training steps, on measured steps (JSON) and on rows of
// published tables (CSV). The shipped data have both; a file has one kind, by its ending.
#include "steps.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "fabricast/calibrate/published_validation.hpp"
#include "fabricast/calibrate/step_pairs.hpp"
#include "fabricast/calibrate/step_terms.hpp"
#include "fabricast/calibrate/steps.hpp"
#include "fabricast/core/file.hpp"

namespace fabricast {

namespace {

template <class Row>
void keep_only(std::vector<Row>& rows, const std::string& only) {
  std::erase_if(rows, [&](const Row& r) { return r.id.find(only) == std::string::npos; });
}

/// The selected data: measured steps, published tables, or both for the shipped data.
struct Chosen {
  std::vector<StepCase> steps, known;  ///< known: all measured steps, which a published table may repeat
  std::vector<MappedRow> published;
};

Chosen chosen_of(const Options& options) {
  const std::string file = options.text("steps"), only = options.text("only");
  const bool table = file.ends_with(".csv");
  Chosen chosen;
  if (file.empty()) chosen.known = read_steps(shipped_steps_path());
  if (!table) chosen.steps = file.empty() ? chosen.known : read_steps(file);
  if (table || file.empty())
    chosen.published = map_published_rows(read_published_rows(table ? file : shipped_training_steps_path()));
  keep_only(chosen.steps, only);
  keep_only(chosen.published, only);
  if (chosen.steps.empty() && chosen.published.empty())
    throw UserError(only.empty() ? "the file has no steps" : fmt::format("no step has '{}' in its id", only));
  return chosen;
}

/// The steps for a fit: measured ones, and rows of published tables.
/// A published row that repeats a measured step would count twice, so `known` steps are left out.
std::vector<StepCase> steps_to_fit(const Chosen& chosen) {
  std::vector<StepCase> steps = chosen.steps;
  for (StepCase& row : fitted_rows(chosen.published, chosen.known)) steps.push_back(std::move(row));
  return steps;
}

// Pages of the documentation: measured steps with published tables below, or tables alone.
std::string markdown_of(const StepValidation& v, const std::vector<PublishedResult>& published,
                        const std::vector<StepDifference>& differences, const Hardware& hardware) {
  if (published.empty()) return steps_markdown(v, hardware);
  if (v.rows.empty())
    return "# Published training steps\n" + published_markdown(published) + published_rows_markdown(published);
  const std::string pairs = differences.empty() ? std::string() : differences_markdown(differences);
  return steps_markdown(v, hardware, pairs + published_markdown(published), published_rows_markdown(published));
}

/// The options of fits with parts left out. More iterations do not change the results visibly.
StepFitOptions how_left_out() { return {6, 1e-3, {}}; }

std::vector<LeftOutSteps> kinds_to_leave_out(const Options& options) {
  std::vector<LeftOutSteps> kinds;
  for (const std::string& word : options.list("leave-out")) {
    const auto kind = enum_from<LeftOutSteps>(word);
    if (!kind)
      throw UserError("--leave-out: with --steps, only 'software', 'source' or 'family' can be left out",
                      "--steps --leave-out source");
    if (std::find(kinds.begin(), kinds.end(), *kind) == kinds.end()) kinds.push_back(*kind);
  }
  return kinds;
}

}  // namespace

int validate_steps_of(const Options& options) {
  const std::string markdown = output_path(options, "markdown"), json = output_path(options, "json");
  if (!json.empty() && json == markdown)
    throw UserError(fmt::format("--json and --markdown cannot both write to '{}'", json));
  Hardware hardware = shipped_hardware();
  if (options.has("profile")) overlay_profile(hardware, read_file(options.text("profile")), options.text("profile"));
  const std::vector<LeftOutSteps> left_out = kinds_to_leave_out(options);
  const Chosen chosen = chosen_of(options);
  if (options.has("terms")) {
    if (!left_out.empty() || options.has("differences") || !json.empty())
      throw UserError("--terms with --steps cannot be combined with --leave-out, --differences or --json",
                      "--steps --terms");
    emit(markdown.empty() ? "-" : markdown,
         terms_markdown(steps_without_terms(steps_to_fit(chosen), hardware, progress_bar())));
    return 0;
  }
  if (options.has("differences") && (chosen.known.empty() || chosen.published.empty()))
    throw UserError("--differences needs the shipped steps and tables", "--steps --differences");
  StepValidation v;
  if (!chosen.steps.empty()) v = validate_steps(chosen.steps, hardware, progress_bar());
  if (!left_out.empty())
    v.left_out = leave_out_fits(steps_to_fit(chosen), prior_hardware(), left_out, how_left_out(), progress_bar());
  const std::vector<PublishedResult> published =
      validate_published(chosen.published, chosen.known, hardware, progress_bar());
  std::vector<StepDifference> differences;
  if (options.has("differences"))
    differences = step_differences(read_step_pairs(shipped_step_pairs_path()), chosen.known, chosen.published, hardware,
                                   progress_bar());
  if (!markdown.empty()) emit(markdown, markdown_of(v, published, differences, hardware));
  if (!json.empty()) emit(json, steps_json(v, published));
  if (markdown == "-" || json == "-") return 0;
  std::string text = v.rows.empty() ? std::string() : steps_text(v) + (published.empty() ? "" : "\n");
  if (!published.empty()) text += published_text(published, options.has("rows"));
  if (!differences.empty()) text += "\n" + differences_text(differences);
  emit("-", text);
  return 0;
}

int fit_steps_of(const Options& options) {
  const std::string output = output_path(options, "output");
  Hardware hardware = options.has("from-priors") ? prior_hardware() : shipped_hardware();
  if (options.has("profile")) overlay_profile(hardware, read_file(options.text("profile")), options.text("profile"));
  StepFitOptions how;
  how.iterations = options.integer("iterations", 20, 1, 1000);
  how.progress = show_iteration;
  const std::vector<StepCase> steps = steps_to_fit(chosen_of(options));
  Fit fit = fit_steps(steps, hardware, how);
  if (options.has("spread")) {
    const auto fits = leave_out_fits(steps, hardware, {LeftOutSteps::family}, how_left_out(), progress_bar());
    // The spread of each software generation comes from fits without the family of sources in question.
    for (FittedParameter& p : learned_step_spread(rows_left_out(fits, LeftOutSteps::family), hardware)) {
      *fit.hardware.find(p.path) = p.after;
      fit.parameters.push_back(std::move(p));
    }
  }
  std::string out = fmt::format("loss {:.5g} -> {:.5g}\n", fit.loss_before, fit.loss_after);
  out += parameters_text(fit.parameters);
  std::vector<std::pair<std::string, Parameter>> fitted;
  for (const FittedParameter& p : fit.parameters) fitted.emplace_back(p.path, p.after);
  if (!output.empty()) emit(output, profile_json(fitted, options.text("source", "fit")));
  emit("-", out + "\n" + steps_text(validate_steps(steps, fit.hardware)));
  return 0;
}

}  // namespace fabricast
