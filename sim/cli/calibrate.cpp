// `calibrate validate` and `calibrate fit`; `import` and `probe` have files of their own.
#include <fmt/format.h>

#include <unistd.h>

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

namespace po = boost::program_options;

namespace {

/// The cases that `--cases` and `--only` name.
std::vector<MeasuredCase> chosen_cases(const Options& options, std::vector<MeasuredCase> given = {}) {
  std::vector<MeasuredCase> cases =
      given.empty() ? read_cases(options.text("cases", shipped_cases_path())) : std::move(given);
  const std::string only = options.text("only");
  std::erase_if(cases, [&](const MeasuredCase& c) { return c.id.find(only) == std::string::npos; });
  if (cases.empty())
    throw UserError(only.empty() ? "there are no cases" : fmt::format("no case has '{}' in its id", only));
  return cases;
}

void show_fit(int iteration, double loss) {
  if (isatty(STDERR_FILENO)) fmt::print(stderr, "\riteration {}: mean loss {:.5f} ", iteration, loss);
}

constexpr int shipped_iterations = 40;  ///< of the fit whose parameters are shipped

FitOptions fit_options_of(const Options& options) {
  FitOptions o;
  o.identified = options.integer("identified", 0, 0, 100000) / 100.0;
  o.prior_weight *= options.integer("prior-weight", 100, 1, 100000) / 100.0;
  o.progress = show_fit;
  return o;
}

/// What `--leave-out` names, each once.
std::vector<LeftOut> left_out_of(const Options& options) {
  std::vector<LeftOut> by;
  for (const std::string& word : options.list("leave-out")) {
    const auto one = enum_from<LeftOut>(word);
    if (!one)
      throw UserError(fmt::format("--leave-out: '{}' can not be left out", word),
                      suggestion(word, EnumNames<LeftOut>::names));
    if (std::find(by.begin(), by.end(), *one) == by.end()) by.push_back(*one);
  }
  return by;
}

/// `--terms`: a page of its own.
int validate_terms(const Options& options) {
  for (const std::string name : {"leave-out", "calibrated", "profile", "json", "rows"})
    if (options.has(name))
      throw UserError("--" + name + ": not with --terms", "it fits all parameters from their priors");
  const std::string markdown = output_path(options, "markdown");
  FitOptions how = fit_options_of(options);
  how.iterations = shipped_iterations;
  how.progress = {};
  const TermStudy study = study_terms(chosen_cases(options), prior_hardware(), how, progress_bar());
  if (!markdown.empty()) emit(markdown, terms_markdown(study));
  if (markdown != "-") emit("-", terms_text(study));
  return 0;
}

int validate(const std::vector<std::string>& arguments) {
  Options options("calibrate validate", "Forecasts measured cases and counts the errors by system and size.", {});
  options.add()("cases", po::value<std::string>(), "file of measured cases (default: the shipped ones)")(
      "steps", po::value<std::string>()->implicit_value(""),
      "validate forecasts of steps instead: those of a file (JSON, or CSV of published ones), or the shipped ones")(
      "serving", po::value<std::string>()->implicit_value(""),
      "validate forecasts of serving instead: those of a CSV of published measurements, or the shipped one")(
      "only", po::value<std::string>(), "only cases whose id contains this")(
      "profile", po::value<std::string>(), "lay a fitted profile over the shipped parameters")(
      "leave-out", po::value<std::vector<std::string>>()->composing(),
      "fit anew from the priors without each `site`, `kind`, `system` or `fifth` of the sites in turn (of steps: "
      "`software`, `source` or `family` of sources; of serving: `source`), and count its errors then: minutes; may be "
      "repeated")("differences",
                  "of the shipped steps also say whether pairs that differ in one thing keep sign and size")(
      "terms",
      "say what each term of the models is worth on sites left out: an hour; of steps, what each explains of those "
      "that are fitted: a minute")(
      "calibrated",
      "with --leave-out, then calibrate each system with some of its own cases, and count its errors on "
      "the others: minutes more")("identified", po::value<std::string>(),
                                  "for those fits, as of `calibrate fit`, in percent")(
      "prior-weight", po::value<std::string>(), "for those fits, as of `calibrate fit`, in percent (default 100)")(
      "markdown", po::value<std::string>(), "write the page for the docs")(
      "json", po::value<std::string>(), "write JSON to a file, or `-` for standard output alone")("rows",
                                                                                                  "print every row");
  options.words("leave-out", EnumNames<LeftOut>::names);
  if (!options.parse(arguments)) return 0;
  if (options.has("serving")) return validate_serving_of(options);
  if (options.has("steps")) return validate_steps_of(options);
  if (options.has("terms")) return validate_terms(options);
  for (const std::string name : {"calibrated", "identified", "prior-weight"})
    if (options.has(name) && !options.has("leave-out"))
      throw UserError("--" + name + ": only with --leave-out", "without it nothing is fitted");
  const std::vector<LeftOut> left_out_by = left_out_of(options);
  const std::string markdown = output_path(options, "markdown"), json = output_path(options, "json");
  if (!json.empty() && json == markdown) throw UserError(fmt::format("--json and --markdown both want '{}'", json));
  Hardware hardware = shipped_hardware();
  if (options.has("profile")) overlay_profile(hardware, read_file(options.text("profile")), options.text("profile"));
  const std::vector<MeasuredCase> cases = chosen_cases(options);
  Validation v = validate_cases(cases, hardware);
  for (const LeftOut by : left_out_by) {
    FitOptions fit_options = fit_options_of(options);
    fit_options.iterations = shipped_iterations;
    // What is calibrated starts from a fit without the first of them.
    const bool calibrated = options.has("calibrated") && !v.calibrated;
    CrossValidation crossed = leave_out(cases, prior_hardware(), fit_options, by, calibrated);
    v.leave_out.push_back(std::move(crossed.leave_one_out));
    if (crossed.calibrated) v.calibrated = std::move(crossed.calibrated);
  }
  if (!markdown.empty()) emit(markdown, validation_markdown(v, hardware));
  if (!json.empty()) emit(json, validation_json(v));
  if (json != "-" && markdown != "-") emit("-", validation_text(v, options.has("rows")));
  return v.failed.empty() ? 0 : 1;
}

/// `residuals`: minutes, as it fits anew without each fifth of the sites.
int residuals(const std::vector<std::string>& arguments) {
  Options options(
      "calibrate residuals",
      "Learns how far measurements are from forecasts of systems that no fit has seen: what intervals are of.", {});
  options.add()("cases", po::value<std::string>(), "file of measured cases (default: the shipped ones)")(
      "only", po::value<std::string>(), "only cases whose id contains this")(
      "output", po::value<std::string>(), "write the model (JSON)")("source", po::value<std::string>(),
                                                                    "source to note in it");
  if (!options.parse(arguments)) return 0;
  const std::string output = output_path(options, "output");
  const std::vector<MeasuredCase> cases = chosen_cases(options);
  FitOptions how;
  how.iterations = shipped_iterations;
  how.progress = show_fit;
  const CrossValidation crossed = leave_out(cases, prior_hardware(), how, LeftOut::fifth);
  if (!output.empty()) emit(output, residual_model_json(crossed.errors->all, options.text("source", "learned")));
  emit("-", conditioned_text(conditioned_study(*crossed.errors)));
  return 0;
}

int fit(const std::vector<std::string>& arguments) {
  Options options("calibrate fit", "Fits hardware parameters to measured cases.", {});
  options.add()("cases", po::value<std::string>(), "file of measured cases (default: the shipped ones)")(
      "steps", po::value<std::string>()->implicit_value(""),
      "fit what GPUs and software reach in steps instead: those of a file (JSON, or CSV of published ones), or the "
      "shipped ones of both kinds")(
      "serving", po::value<std::string>()->implicit_value(""),
      "fit what serving engines cost instead, to a CSV of published measurements, or the shipped one")(
      "spread",
      "with --steps or --serving, learn how far forecasts are off where no fit has been: leaves out each family of "
      "sources, or each source, in turn")("only", po::value<std::string>(), "only cases whose id contains this")(
      "profile", po::value<std::string>(), "start from this profile laid over the shipped parameters")(
      "from-priors", "start from data sheets and studies, without the shipped fit")(
      "identified", po::value<std::string>(),
      "keep parameters at their start that the data alone do not tell to within this factor, in percent, e.g. 250")(
      "prior-weight", po::value<std::string>(), "what the start counts against the data, in percent (default 100)")(
      "parameters", po::value<std::vector<std::string>>()->composing(),
      "parameter or group to fit, e.g. networks.roce (default: all); may be repeated")(
      "leave-out", po::value<std::vector<std::string>>()->composing(), "a system not to look at; may be repeated")(
      "iterations", po::value<std::string>(), "at most so many (default 12)")("output", po::value<std::string>(),
                                                                              "write the fitted profile (JSON)")(
      "source", po::value<std::string>(), "source to note with each fitted parameter")(
      "seed", po::value<std::string>(), "of the bootstrap of the intervals (default 1)")(
      "manifest", po::value<std::string>(),
      "instead of cases: logs, each with its scenario (JSON: [{\"log\": FILE, \"scenario\": FILE}, ...])")(
      "force", "overwrite the file that --output names")(
      "advise", "say what the data do not tell, and which runs of nccl-tests would");
  if (!options.parse(arguments)) return 0;
  if (options.has("serving")) return fit_serving_of(options);
  if (options.has("steps")) return fit_steps_of(options);
  const std::string output = output_path(options, "output");
  if (!output.empty() && output != "-" && !options.has("force") && std::filesystem::exists(output))
    throw UserError(fmt::format("'{}' is there already", output), "--force overwrites it");
  Hardware hardware = options.has("from-priors") ? prior_hardware() : shipped_hardware();
  if (options.has("profile")) overlay_profile(hardware, read_file(options.text("profile")), options.text("profile"));
  if (options.has("manifest") && options.has("cases")) throw UserError("--manifest and --cases both name cases");
  const std::vector<MeasuredCase> cases = chosen_cases(
      options, options.has("manifest") ? cases_of_manifest(options.text("manifest")) : std::vector<MeasuredCase>());
  FitOptions fit_options = fit_options_of(options);
  fit_options.parameters = options.list("parameters");
  for (const std::string& prefix : fit_options.parameters) hardware.own(prefix);
  const auto known = hardware.all_parameters();
  for (const std::string& prefix : fit_options.parameters)
    if (std::none_of(known.begin(), known.end(),
                     [&](const auto& p) { return p.first == prefix || p.first.starts_with(prefix + "."); }))
      throw UserError(fmt::format("--parameters: no parameter or group is called '{}'", prefix),
                      "`fabricast list parameters` shows all");
  fit_options.left_out = options.list("leave-out");
  fit_options.iterations = options.integer("iterations", 12, 1, 1000);
  fit_options.seed = static_cast<std::uint64_t>(options.integer("seed", 1, 0, 1 << 30));
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
  for (const FittedParameter& p : result.parameters)
    out += fmt::format("  {:<44} {:>9.4g} -> {:>9.4g}  x/: {:.2f}  by data {:.2f}\n", p.path, p.before.value,
                       p.after.value, std::exp(quantile_95 * p.error),
                       std::exp(std::min(9.0, quantile_95 * p.error_by_data)));
  if (options.has("advise")) out += advice_text(advise(cases, result, fit_options));
  if (!output.empty()) emit(output, profile_json(result, options.text("source", "fit")));
  emit("-", out);
  return 0;
}

}  // namespace

std::span<const Verb> calibrate_words() {
  static constexpr std::array words = {
      Verb{"import", "LOG...", "read logs of nccl-tests, NCCL and others", import_verb},
      Verb{"validate", "", "forecast measured cases, and count the errors", validate},
      Verb{"fit", "", "fit hardware parameters to measured cases", fit},
      Verb{"residuals", "", "learn how far forecasts are off where no fit has been", residuals},
      Verb{"probe", "", "measure GPUs, NCCL, RDMA and sockets here", probe_verb},
  };
  return words;
}

int calibrate_verb(const std::vector<std::string>& arguments) {
  const std::span<const Verb> words = calibrate_words();
  if (arguments.empty())
    throw UserError("fabricast calibrate: import, validate, fit or probe?",
                    "`fabricast calibrate validate --help` shows the options");
  if (arguments[0] == "--help" || arguments[0] == "-h") return emit("-", words_text("calibrate", words)), 0;
  const Verb* word = find_by_name(words, arguments[0]);
  if (!word)
    throw UserError(fmt::format("fabricast calibrate: unknown word '{}'", arguments[0]),
                    suggestion(arguments[0], names_of(words)));
  return word->run({arguments.begin() + 1, arguments.end()});
}

}  // namespace fabricast
