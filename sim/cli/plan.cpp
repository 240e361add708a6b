// `plan`: forecasts many configurations and chooses among them.
//
// Two kinds of work share the verb: a sweep over the axes of a study (sim/answer/plan), and a search for splits of a
// training step (sim/answer/step/search.cpp), whose rows do not follow from axes.
#include <fmt/format.h>

#include <array>
#include <cstdio>

#include "commands.hpp"
#include "fabricast/ask/ask.hpp"
#include "fabricast/core/names.hpp"
#include "fabricast/plan/store.hpp"
#include "measured_site.hpp"
#include "options.hpp"
#include "stop.hpp"

namespace fabricast {

namespace {

/// The paths of outputs. Empty: not written; `-`: standard output, which then gets no text.
struct PlanPaths {
  std::string json, csv, html, svg, results;
  std::string chart;  ///< the chart for `svg`; empty: the first one
  OutputPlaces files() const { return {{"json", &json}, {"csv", &csv}, {"html", &html}, {"svg", &svg}}; }
};

void emit_all(const PlanPaths& to, const Answer& answer) {
  if (!to.json.empty()) emit(to.json, answer.write("json"));
  if (!to.csv.empty()) emit(to.csv, answer.write("csv"));
  if (leaves_standard_output(to.files())) emit("-", answer.write("text"));
}

struct PlanSearch {
  std::string_view name, summary;
  Answer (*run)(const World& world, std::size_t limit, std::size_t top, const RunOptions& how);
};
constexpr std::array searches = {
    PlanSearch{"parallel", "splits of a training step over its GPUs, fastest first", answer_search},
};

void search(const Options& options, const PlanPaths& to, std::size_t top) {
  const std::string name = options.text("search");
  const PlanSearch* search = find_by_name(searches, name);
  if (!search)
    throw UserError(fmt::format("fabricast plan: there is no search '{}'", name), suggestion(name, names_of(searches)));
  const auto limit = static_cast<std::size_t>(options.integer("limit", 200, 1, 1'000'000));
  const RunOptions how = run_options(options);
  const auto world = load_world(options);
  emit_all(to, search->run(world, limit, top, how));
}

int sweep(const Options& options, const PlanPaths& to, std::size_t top, const std::string& command) {
  const Study study = read_study(options.get<std::string>("SCENARIO"), set_words(options), options.list("sweep"));
  const PreparedSweep prepared = prepare_sweep(study, !options.has("no-intervals"), options.has("risk"),
                                               measured_files(options), run_options(options));
  SweepOptions how = prepared.options();
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
  SweepResult result = ranks ? run_sweep_on_ranks(study, how, *ranks) : run_sweep(study, how);
  const bool interrupted = result.interrupted;
  const std::size_t rows = result.rows.size();
  const HeldStop whole;  // finished rows are reported, even after Ctrl-C
  const auto [answer, decision] = answer_sweep(study, std::move(result), top);
  // An interrupted file has rows without a decision, and is continued by --resume.
  if (store && !interrupted) store->finish(decision);
  emit_all(to, answer);
  if (!to.html.empty() || !to.svg.empty()) write_page(answer.page(command), to.html, to.svg, to.chart);
  if (!interrupted) return 0;
  fmt::print(stderr, "interrupted: {} of {} configurations were not run{}\n", decision.not_run, rows,
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
      "search", takes("NAME"), "search instead of a sweep; parallel: ways to split a training step over its GPUs")(
      "limit", takes("N"), "for a search: maximum number of forecasts; a quick estimate selects them (default: 200)")(
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
