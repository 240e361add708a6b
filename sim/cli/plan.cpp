// `plan`: forecasts many configurations and chooses among them.
//
// Two kinds of work share the verb: a sweep over the axes of a study (sim/answer/plan), and a search for splits of a
// training step (sim/answer/step/search.cpp), whose rows do not follow from axes.
#include <fmt/format.h>

#include <array>
#include <cstdio>

#include "commands.hpp"
#include "fabricast/bill/prices.hpp"
#include "fabricast/core/names.hpp"
#include "fabricast/page/plan_page.hpp"
#include "fabricast/plan/report.hpp"
#include "fabricast/plan/store.hpp"
#include "fabricast/plan/sweep.hpp"
#include "fabricast/report/plan.hpp"
#include "measured_site.hpp"
#include "options.hpp"
#include "stop.hpp"

namespace fabricast {

namespace {

struct PlanOutput {
  std::string text, json, csv;
};

/// The paths of outputs. Empty: not written; `-`: standard output, which then gets no text.
struct PlanPaths {
  std::string json, csv, html, svg, results;
  std::string chart;  ///< the chart for `svg`; empty: the first one
  OutputPlaces files() const { return {{"json", &json}, {"csv", &csv}, {"html", &html}, {"svg", &svg}}; }
};

void emit_all(const PlanPaths& to, const PlanOutput& out) {
  if (!to.json.empty()) emit(to.json, out.json);
  if (!to.csv.empty()) emit(to.csv, out.csv);
  if (leaves_standard_output(to.files())) emit("-", out.text);
}

struct PlanQuestion {
  const World& world;
  std::size_t limit, top;
  const RunOptions& how;
};

constexpr std::size_t rows_of_text = 20;

PlanOutput search_parallel(const PlanQuestion& q) {
  if (q.world.scenario().workload.kind != WorkloadKind::training_step)
    throw UserError::at("workload.kind", "--search parallel is only for training steps", "write kind: training_step");
  const PlanResult result = plan_parallel(q.world, q.limit, q.how);
  return {plan_text(result, q.top > 0 ? q.top : rows_of_text), plan_json(result, q.top), plan_csv(result, q.top)};
}

struct PlanSearch {
  std::string_view name, summary;
  PlanOutput (*run)(const PlanQuestion&);
};
constexpr std::array searches = {
    PlanSearch{"parallel", "splits of a training step over its GPUs, fastest first", search_parallel},
};

void search(const Options& options, const PlanPaths& to, std::size_t top) {
  const std::string name = options.text("search");
  const PlanSearch* search = find_by_name(searches, name);
  if (!search)
    throw UserError(fmt::format("fabricast plan: there is no search '{}'", name), suggestion(name, names_of(searches)));
  const auto limit = static_cast<std::size_t>(options.integer("limit", 200, 1, 1'000'000));
  const RunOptions how = run_options(options);
  const auto world = load_world(options);
  emit_all(to, placed(world.scenario(), [&] { return search->run({world, limit, top, how}); }));
}

/// If no row can be forecast, the error is probably in what all rows share. It is then reported with its position.
void check_rows(const Study& study, const SweepResult& result, const Decision& decision) {
  // Single refused rows are data; if all are refused, the study has no answer.
  if (decision.done > 0 || result.interrupted) return;
  try {
    (void)build_world(scenario_of(study, 0));
  } catch (const UserError& e) {
    std::vector<Diagnostic> faults = e.diagnostics();
    for (Diagnostic& d : faults)
      if (const auto axis = study.places.find("sweep." + d.path); axis != study.places.end()) d.where = axis->second;
    throw UserError(std::move(faults));
  }
  throw UserError(fmt::format("no configuration can be forecast; the first fails with: {}", result.rows.front().why));
}

/// Notes for the report: a common NCCL version that was assumed for all rows, and the source of prices.
std::vector<std::string> notes_of(const Study& study) {
  std::vector<std::string> notes;
  if (!study.common_version.empty())
    notes.push_back(fmt::format(
        "NCCL {} in all rows, because nccl.version is not stated and the usual version differs between GPUs",
        study.common_version));
  try {
    const Scenario first = scenario_of(study, 0);
    if (first.prices.empty()) return notes;
    const Prices prices = prices_of(first);
    notes.push_back(fmt::format("cost in {}, prices of {}: {}", prices.currency, prices.date, prices.label));
  } catch (const UserError&) {}  // the first row is invalid and reports the error itself
  return notes;
}

/// The measurements of the site. They belong to the scenario without its sweep, or to the first row if that is invalid.
MeasuredSite measured_of(const Study& study, const Options& options) {
  Scenario base;
  try {
    base = parse_scenario(study.text, study.file, study.overrides).scenario;
  } catch (const UserError&) {
    try {
      base = scenario_of(study, 0);
    } catch (const UserError&) { return unmeasured_site(); }  // every row reports the error
  }
  try {
    return site_of(options, build_world(std::move(base)), {});
  } catch (const UserError&) {
    if (options.has("measured")) throw;
    return unmeasured_site();
  }
}

int sweep(const Options& options, const PlanPaths& to, std::size_t top, const std::string& command) {
  const Study study = read_study(options.get<std::string>("SCENARIO"), set_words(options), options.list("sweep"));
  const Objective objective = placed(study, [&] { return objective_of(study); });
  if (study.axes.empty())
    throw UserError(
        fmt::format("{}: nothing to vary", study.file),
        "add `sweep: {cluster.nodes: [32, 64]}`, or use --sweep 'cluster.nodes=[32, 64]' or --search parallel");
  SweepOptions how;
  how.run = run_options(options);
  how.intervals = !options.has("no-intervals");
  // Failures take longer than all else, so they are computed only where something asks for them.
  how.risk = options.has("risk") || asks_for_risk(objective);
  const MeasuredSite site = measured_of(study, options);
  how.site = &site;
  const auto ranks = launched_ranks();
  if (ranks && !options.has("threads")) how.run.threads = 1;  // the launcher distributes the cores
  // Other ranks only forecast rows. Rank 0 has the store, the report and the exit code.
  if (ranks && ranks->rank > 0) return run_sweep_on_ranks(study, how, *ranks), 0;

  std::unique_ptr<RowStore> store;
  if (!to.results.empty()) {
    // Settings that change rows are part of the identity of the file.
    store = open_store(to.results, study, fmt::format("intervals {}, risk {}", how.intervals, how.risk),
                       options.has("resume"));
    how.have = store->rows();
    how.put = [&](const SweepRow& row) { store->put(row); };
  }
  const SweepResult result = ranks ? run_sweep_on_ranks(study, how, *ranks) : run_sweep(study, how);
  const HeldStop whole;  // finished rows are reported, even after Ctrl-C
  const Decision decision = decide(study, result.rows);
  check_rows(study, result, decision);
  // An interrupted file has rows without a decision, and is continued by --resume.
  if (store && !result.interrupted) store->finish(decision);
  const PlanReport report{study, result.rows, decision, notes_of(study)};
  emit_all(to, {plan_text(report, top > 0 ? top : rows_of_text), plan_json(report), plan_csv(report)});
  if (!to.html.empty() || !to.svg.empty()) write_page(plan_page(report, command), to.html, to.svg, to.chart);
  if (!result.interrupted) return 0;
  fmt::print(stderr, "interrupted: {} of {} configurations were not run{}\n", decision.not_run, result.rows.size(),
             store ? fmt::format("; the same command with --resume continues from {}", to.results)
                   : "; --results FILE keeps finished ones");
  return 130;
}

}  // namespace

int plan_verb(const std::vector<std::string>& arguments) {
  Options options("plan",
                  "Forecasts all configurations of a sweep, compares them, and chooses one by the scenario's "
                  "`objective`. Axes come from `sweep` in the scenario and from --sweep.",
                  {"SCENARIO"});
  options.example("fabricast plan study.yaml --html plan.html");
  options.example("fabricast plan cluster.yaml --sweep 'fabric.oversubscription=[1, 2, 4]'");
  options.example("fabricast plan training.yaml --search parallel");
  options.words("search", names_of(searches));
  add_scenario_options(options);
  add_measured_option(options);
  options.add()("sweep", takes_many("KEY=VALUES"),
                "add an axis, e.g. cluster.nodes=[32, 64]; replaces an axis of that name; may be repeated")(
      "results", takes("FILE"), "store finished rows in FILE (SQLite)")("resume",
                                                                        "continue with the rows in the --results file")(
      "risk",
      "also compute the effect of failures on each row: goodput, the worst single failure; takes longer than "
      "everything "
      "else")("no-intervals", "leave out the 90 % intervals, which take most of the time")(
      "search", takes("NAME"), "search instead of a sweep: parallel, splits of a training step over its GPUs")(
      "limit", takes("N"), "for a search: maximum number of forecasts, chosen by a quick estimate (default: 200)")(
      "top", takes("N"), "number of rows in text (default: 20), and for a search in JSON and CSV")(
      "json", takes("FILE"), "write JSON to FILE; - prints it instead of text")(
      "csv", takes("FILE"), "write CSV to FILE; - prints it instead of text")(
      "html", takes("FILE"), "for a sweep: write a report (HTML) with charts and tables to FILE; - prints it")(
      "svg", takes("FILE"), "for a sweep: write a chart of the report (SVG) to FILE; - prints it")(
      "chart", takes("NAME"), "chart for --svg: front, or a metric of the objective (default: front)")(
      "threads", takes("N"), "number of threads (default: all cores); results do not depend on it");
  if (!options.parse(arguments)) return 0;
  const PlanPaths to{output_path(options, "json"), output_path(options, "csv"), output_path(options, "html"),
                     output_path(options, "svg"),  options.text("results"),     options.text("chart")};
  require_own_places(to.files());
  if (options.has("chart") && to.svg.empty()) throw UserError("--chart needs --svg", "e.g. --svg front.svg");
  if (options.has("resume") && to.results.empty())
    throw UserError("--resume needs --results", "e.g. --results plan.sqlite");
  const auto top = static_cast<std::size_t>(options.integer("top", 0, 1, 1'000'000));
  if (!options.has("search")) return sweep(options, to, top, command_text("plan", arguments));
  for (const char* other : {"sweep", "results", "html", "svg", "risk", "measured"})
    if (options.has(other)) throw UserError(fmt::format("--{} cannot be combined with --search", other));
  return search(options, to, top), 0;
}

}  // namespace fabricast
