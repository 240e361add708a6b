// `calibrate validate`, `calibrate fit` and `calibrate residuals`. The verbs `import` and `probe` have their own files.
//
// The work is in calibrate/. This file selects the data, checks combinations of options, and writes results. Steps and
// serving have fits of their own (steps.cpp, serving.cpp), because their parameters, rows and errors are others.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "commands.hpp"
#include "fabricast/calibrate/advice.hpp"
#include "fabricast/calibrate/conditioned.hpp"
#include "fabricast/calibrate/residuals.hpp"
#include "fabricast/calibrate/site_fit.hpp"
#include "fabricast/calibrate/terms.hpp"
#include "fabricast/calibrate/validate.hpp"
#include "fabricast/core/file.hpp"
#include "fabricast/core/names.hpp"
#include "manifest.hpp"
#include "options.hpp"
#include "serving.hpp"
#include "steps.hpp"

namespace fabricast {

namespace {

/// The cases that `--cases` and `--only` select.
/// `--only` is a substring of the id, which names system, source and collective.
std::vector<MeasuredCase> chosen_cases(const Options& options, std::vector<MeasuredCase> given = {}) {
  std::vector<MeasuredCase> cases =
      given.empty() ? read_cases(options.text("cases", shipped_cases_path())) : std::move(given);
  const std::string only = options.text("only");
  std::erase_if(cases, [&](const MeasuredCase& c) { return c.id.find(only) == std::string::npos; });
  if (cases.empty())
    throw UserError(only.empty() ? "the file has no cases" : fmt::format("no case has '{}' in its id", only));
  return cases;
}

constexpr int shipped_iterations = 40;  ///< as in the fit whose parameters are shipped

// Percentages, because options are whole numbers.
FitOptions fit_options_of(const Options& options) {
  FitOptions o;
  o.identified = options.integer("identified", 0, 0, 100000) / 100.0;
  o.prior_weight *= options.integer("prior-weight", 100, 1, 100000) / 100.0;
  o.progress = show_iteration;
  return o;
}

/// The values of `--leave-out` without repetitions.
std::vector<LeftOut> left_out_of(const Options& options) {
  std::vector<LeftOut> by;
  for (const std::string& word : options.list("leave-out")) {
    const auto one = enum_from<LeftOut>(word);
    if (!one)
      throw UserError(fmt::format("--leave-out: unknown value '{}'", word),
                      suggestion(word, EnumNames<LeftOut>::names));
    if (std::find(by.begin(), by.end(), *one) == by.end()) by.push_back(*one);
  }
  return by;
}

/// `--terms`: a separate study with a page of its own.
int validate_terms(const Options& options) {
  for (const std::string name : {"leave-out", "calibrated", "profile", "json", "rows"})
    if (options.has(name))
      throw UserError("--" + name + " cannot be combined with --terms",
                      "--terms fits all parameters from their priors");
  const std::string markdown = output_path(options, "markdown");
  FitOptions how = fit_options_of(options);
  // Fits without a term or a system are compared with the shipped one, so they take as many iterations.
  how.iterations = shipped_iterations;
  how.progress = {};
  const TermStudy study = study_terms(chosen_cases(options), prior_hardware(), how, progress_bar());
  if (!markdown.empty()) emit(markdown, terms_markdown(study));
  if (markdown != "-") emit("-", terms_text(study));
  return 0;
}

int validate(const std::vector<std::string>& arguments) {
  Options options("calibrate validate", "Forecasts measured cases and summarizes the errors by system and size.", {});
  options.example("fabricast calibrate validate --only h100");
  options.example("fabricast calibrate validate --leave-out site --json errors.json");
  options.example("fabricast calibrate validate --steps");
  options.add()("cases", takes("FILE"), "measured cases, JSON (default: the shipped cases)")(
      "steps", may_take("FILE"),
      "validate forecasts of steps instead: the steps of FILE (JSON, or CSV of published steps), or the shipped ones")(
      "serving", may_take("FILE"),
      "validate forecasts of serving instead: the published measurements of FILE (CSV), or the shipped ones")(
      "only", takes("TEXT"), "only cases whose id contains TEXT")(
      "profile", takes("FILE"), "fitted profile (JSON) that overrides the shipped parameters")(
      "leave-out", takes_many("NAME"),
      "fit again from the priors without each `site`, `kind`, `system` or `fifth` of the sites in turn, and report the "
      "errors of what was left out; for steps: each `software`, `source` or `family` of sources; for serving: each "
      "`source`; takes minutes; may be repeated")(
      "differences",
      "for the shipped steps: also report whether forecasts reproduce the sign and size of differences "
      "between pairs that differ in one setting")(
      "terms",
      "report what each term of the models contributes on held-out sites; takes an hour; with --steps, what "
      "each term explains of the fitted steps; takes a minute")(
      "calibrated",
      "with --leave-out: then calibrate each system with some of its own cases, and report the errors of "
      "its other cases; takes minutes more")("identified", takes("N"),
                                             "for these fits: as in `calibrate fit`, percent")(
      "prior-weight", takes("N"), "for these fits: as in `calibrate fit`, percent (default: 100)")(
      "markdown", takes("FILE"), "write the page of the documentation to FILE")(
      "json", takes("FILE"), "write JSON to FILE; - prints it instead of text")("rows", "print every row");
  options.words("leave-out", EnumNames<LeftOut>::names);
  if (!options.parse(arguments)) return 0;
  if (options.has("serving")) return validate_serving_of(options);
  if (options.has("steps")) return validate_steps_of(options);
  if (options.has("terms")) return validate_terms(options);
  // These apply to fits, and without --leave-out there is none.
  for (const std::string name : {"calibrated", "identified", "prior-weight"})
    if (options.has(name) && !options.has("leave-out"))
      throw UserError("--" + name + " needs --leave-out", "without --leave-out nothing is fitted");
  const std::vector<LeftOut> left_out_by = left_out_of(options);
  const std::string markdown = output_path(options, "markdown"), json = output_path(options, "json");
  if (!json.empty() && json == markdown)
    throw UserError(fmt::format("--json and --markdown cannot both write to '{}'", json));
  Hardware hardware = shipped_hardware();
  if (options.has("profile")) overlay_profile(hardware, read_file(options.text("profile")), options.text("profile"));
  const std::vector<MeasuredCase> cases = chosen_cases(options);
  Validation v = validate_cases(cases, hardware);
  for (const LeftOut by : left_out_by) {
    FitOptions fit_options = fit_options_of(options);
    fit_options.iterations = shipped_iterations;
    // Calibration starts from the fits of the first kind of --leave-out.
    const bool calibrated = options.has("calibrated") && !v.calibrated;
    CrossValidation crossed = leave_out(cases, prior_hardware(), fit_options, by, calibrated);
    v.leave_out.push_back(std::move(crossed.leave_one_out));
    if (crossed.calibrated) v.calibrated = std::move(crossed.calibrated);
  }
  if (!markdown.empty()) emit(markdown, validation_markdown(v, hardware));
  if (!json.empty()) emit(json, validation_json(v));
  if (json != "-" && markdown != "-") emit("-", validation_text(v, options.has("rows")));
  // Cases that cannot be forecast fail the check; errors of forecasts do not, however large.
  return v.failed.empty() ? 0 : 1;
}

/// `calibrate residuals`. Takes minutes, because it fits again without each fifth of the sites.
int residuals(const std::vector<std::string>& arguments) {
  Options options("calibrate residuals",
                  "Learns the distribution of forecast errors on held-out systems, from which intervals are computed.",
                  {});
  options.example("fabricast calibrate residuals --output residuals.json");
  options.add()("cases", takes("FILE"), "measured cases, JSON (default: the shipped cases)")(
      "only", takes("TEXT"), "only cases whose id contains TEXT")(
      "output", takes("FILE"), "write the model (JSON) to FILE; - prints it")("source", takes("TEXT"),
                                                                              "source to note in the model");
  if (!options.parse(arguments)) return 0;
  const std::string output = output_path(options, "output");
  const std::vector<MeasuredCase> cases = chosen_cases(options);
  FitOptions how;
  how.iterations = shipped_iterations;
  how.progress = show_iteration;
  // From the priors: the shipped fit has seen all sites, and errors of held-out sites would come out too small.
  const CrossValidation crossed = leave_out(cases, prior_hardware(), how, LeftOut::fifth);
  if (!output.empty()) emit(output, residual_model_json(crossed.errors->all, options.text("source", "learned")));
  emit("-", conditioned_text(conditioned_study(*crossed.errors)));
  return 0;
}

int fit(const std::vector<std::string>& arguments) {
  Options options("calibrate fit", "Fits hardware parameters to measured cases.", {});
  options.example("fabricast calibrate fit --cases mine.json --output mine_profile.json");
  options.example("fabricast calibrate fit --manifest logs.json --advise");
  options.add()("cases", takes("FILE"), "measured cases, JSON (default: the shipped cases)")(
      "steps", may_take("FILE"),
      "fit the efficiency of GPUs and software in steps instead, to the steps of FILE (JSON, or CSV of published "
      "steps), or to the shipped ones of both kinds")(
      "serving", may_take("FILE"),
      "fit the costs of serving engines instead, to the published measurements of FILE (CSV), or to the shipped ones")(
      "spread",
      "with --steps or --serving: learn the errors of held-out forecasts, by leaving out each family of "
      "sources, or each source, in turn")("only", takes("TEXT"), "only cases whose id contains TEXT")(
      "profile", takes("FILE"), "start from this fitted profile (JSON), which overrides the shipped parameters")(
      "from-priors", "start from data sheets and studies, without the shipped fit")(
      "identified", takes("N"),
      "fit only parameters that the data alone determine within this factor, percent, e.g. 250; keep others")(
      "prior-weight", takes("N"), "weight of the start relative to the data, percent (default: 100)")(
      "parameters", takes_many("NAME"),
      "parameter or group to fit, e.g. networks.roce (default: all); may be repeated")(
      "leave-out", takes_many("NAME"), "system to leave out; may be repeated")(
      "iterations", takes("N"), "maximum number of iterations (default: 12)")(
      "output", takes("FILE"), "write the fitted profile (JSON) to FILE; - prints it")(
      "source", takes("TEXT"), "source to note with each fitted parameter")(
      "seed", takes("N"), "seed of the bootstrap for the intervals (default: 1)")(
      "manifest", takes("FILE"),
      "logs with a scenario each, instead of cases (JSON: [{\"log\": FILE, \"scenario\": FILE}, ...])")(
      "force", "overwrite the file that --output names")(
      "advise", "report what the data do not determine, and which runs of nccl-tests would");
  if (!options.parse(arguments)) return 0;
  if (options.has("serving")) return fit_serving_of(options);
  if (options.has("steps")) return fit_steps_of(options);
  const std::string output = output_path(options, "output");
  // A profile may be the result of hours of measurements, so it is not overwritten by a repeated command.
  if (!output.empty() && output != "-" && !options.has("force") && std::filesystem::exists(output))
    throw UserError(fmt::format("'{}' already exists", output), "--force overwrites it");
  Hardware hardware = options.has("from-priors") ? prior_hardware() : shipped_hardware();
  if (options.has("profile")) overlay_profile(hardware, read_file(options.text("profile")), options.text("profile"));
  if (options.has("manifest") && options.has("cases")) throw UserError("--manifest cannot be combined with --cases");
  const std::vector<MeasuredCase> cases = chosen_cases(
      options, options.has("manifest") ? cases_of_manifest(options.text("manifest")) : std::vector<MeasuredCase>());
  FitOptions fit_options = fit_options_of(options);
  fit_options.parameters = options.list("parameters");
  // Parameters that are inherited from a relative (`like`) become the entry's own before they are fitted.
  for (const std::string& prefix : fit_options.parameters) hardware.own(prefix);
  const auto known = hardware.all_parameters();
  for (const std::string& prefix : fit_options.parameters)
    if (std::none_of(known.begin(), known.end(),
                     [&](const auto& p) { return p.first == prefix || p.first.starts_with(prefix + "."); }))
      throw UserError(fmt::format("--parameters: there is no parameter or group '{}'", prefix),
                      "`fabricast list parameters` lists all");
  fit_options.left_out = options.list("leave-out");
  fit_options.iterations = options.integer("iterations", 12, 1, 1000);
  fit_options.seed = static_cast<std::uint64_t>(options.integer("seed", 1, 0, 1 << 30));
  // Data of the user are of one site: the fit also reports what each subset of them would have told about the rest.
  if (options.has("cases") || options.has("manifest")) {
    const SiteFit site = fit_site(cases, hardware, fit_options);
    std::string out = site_fit_text(site);
    if (options.has("advise"))
      out += advice_text(advise(cases, fit_parameters(cases, hardware, fit_options), fit_options));
    if (!output.empty()) emit(output, site_profile_json(site, options.text("source", "fit")));
    return emit("-", out), 0;
  }
  const Fit result = fit_parameters(cases, hardware, fit_options);
  std::string out = fmt::format("mean loss {:.5f} -> {:.5f}\n", result.loss_before, result.loss_after);
  out += parameters_text(result.parameters);
  if (options.has("advise")) out += advice_text(advise(cases, result, fit_options));
  if (!output.empty()) emit(output, profile_json(result, options.text("source", "fit")));
  emit("-", out);
  return 0;
}

}  // namespace

std::span<const Verb> calibrate_words() {
  static constexpr std::array words = {
      Verb{"import", "LOG...", "read logs of nccl-tests, NCCL and other tools", import_verb},
      Verb{"validate", "", "forecast measured cases and summarize the errors", validate},
      Verb{"fit", "", "fit hardware parameters to measured cases", fit},
      Verb{"residuals", "", "learn the distribution of errors on held-out systems", residuals},
      Verb{"probe", "", "measure GPUs, NCCL, RDMA and sockets on this machine", probe_verb},
  };
  return words;
}

int calibrate_verb(const std::vector<std::string>& arguments) {
  const std::span<const Verb> words = calibrate_words();
  if (arguments.empty())
    throw UserError("fabricast calibrate: the verb is missing",
                    "use import, validate, fit, residuals or probe; `fabricast calibrate --help` describes them");
  if (arguments[0] == "--help" || arguments[0] == "-h") return emit("-", words_text("calibrate", words)), 0;
  const Verb* word = find_by_name(words, arguments[0]);
  if (!word)
    throw UserError(fmt::format("fabricast calibrate: unknown verb '{}'", arguments[0]),
                    suggestion(arguments[0], names_of(words)));
  return word->run({arguments.begin() + 1, arguments.end()});
}

}  // namespace fabricast
