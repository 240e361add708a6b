// `run`, `explain` and `inspect`: forecast a scenario, explain it, or show a stage of it.
//
// Each kind of workload has a forecast, writers and a page of its own; the verbs call them in the same way. Errors at
// keys of the scenario get their position in the file (`placed`).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "commands.hpp"
#include "fabricast/core/names.hpp"
#include "fabricast/jobs/others.hpp"
#include "fabricast/page/report_page.hpp"
#include "fabricast/planner/graph_file.hpp"
#include "fabricast/report/inference_advice.hpp"
#include "fabricast/report/interval.hpp"
#include "fabricast/report/step_advice.hpp"
#include "fabricast/report/step_interval.hpp"
#include "fabricast/report/unstated.hpp"
#include "fabricast/report/versions.hpp"
#include "measured_site.hpp"
#include "options.hpp"

namespace fabricast {

namespace {

// By NCCL's version where the scenario leaves it open.
Forecast forecast_all_versions(const World& world, const RunOptions& how) {
  Forecast forecast = run_forecast(world, how);
  forecast_versions(forecast, how);
  return forecast;
}

/// A forecast, with intervals for the flow engine. The bound engine gives no time to put an interval on, and the chunk
/// engine would take minutes.
Forecast forecast_with_intervals(const World& world, const MeasuredSite& site, const RunOptions& how, bool intervals) {
  if ((!intervals && site.rows.empty()) || world.scenario().network.engine != EngineKind::flow)
    return forecast_all_versions(world, how);
  constexpr double own_part = 0.3;
  Forecast forecast = forecast_all_versions(world, part_of(how, 0, own_part));
  add_intervals(forecast, site, part_of(how, own_part, 1));
  return forecast;
}

/// The outputs of `run`. Empty paths: not written; `-`: standard output, which then gets no text.
struct RunOutputs {
  std::string json, csv, html, svg, trace;
  std::string chart;    ///< the chart for `svg`; empty: the first one
  std::string command;  ///< the command line, for the report
  bool intervals = true;
  const MeasuredSite* site = nullptr;  ///< set before the forecast runs

  OutputPlaces files() const { return {{"json", &json}, {"csv", &csv}, {"html", &html}, {"svg", &svg}}; }
};

/// The charts that a report on this kind of workload may have.
/// To refuse a misspelt chart before the forecast. Whether a report has the chart is known only afterwards: a single
/// sample has no distribution, for example.
std::vector<std::string_view> charts_of(WorkloadKind kind) {
  switch (kind) {
    case WorkloadKind::collective: return {"busbw", "time", "parts", "samples", "load"};
    case WorkloadKind::inference: return {"breakdown", "throughput", "latency", "memory", "samples"};
    case WorkloadKind::training_step:
    case WorkloadKind::trace: break;
  }
  return {"breakdown", "memory", "samples"};
}

template <class F>
void write_all(const RunOutputs& to, const F& forecast, std::string (*json)(const F&), std::string (*csv)(const F&),
               std::string (*text)(const F&), Page (*page)(const F&, std::string)) {
  if (!to.json.empty()) emit(to.json, json(forecast));
  if (!to.csv.empty()) emit(to.csv, csv(forecast));
  if (!to.html.empty() || !to.svg.empty()) write_page(page(forecast, to.command), to.html, to.svg, to.chart);
  if (leaves_standard_output(to.files())) emit("-", text(forecast));
}

void run_collective(const World& world, const RunOutputs& to, const RunOptions& how) {
  write_all(to, forecast_with_intervals(world, *to.site, how, to.intervals), forecast_json, forecast_csv, forecast_text,
            collective_page);
}

void write_timeline(const std::string& file, const StepForecast& step) {
  const StepTrace timeline = step_trace(step);
  emit(file, timeline.json);
  if (!timeline.left_out.empty())
    print_diagnostic({Diagnostic::Severity::warning, {}, {}, "the timeline leaves out " + timeline.left_out, {}});
}

void run_training(const World& world, const RunOutputs& to, const RunOptions& how) {
  require_memory(world);
  constexpr double own_part = 0.5;
  StepForecast step = run_step(world, part_of(how, 0, to.intervals ? own_part : 1));
  if (to.intervals) add_interval(step, part_of(how, own_part, 1));
  if (!to.trace.empty()) write_timeline(to.trace, step);
  write_all(to, step, step_json, step_csv, step_text, step_page);
}

void run_execution_trace(const World& world, const RunOutputs& to, const RunOptions& how) {
  const StepForecast step = run_trace(world, how);
  if (!to.trace.empty()) write_timeline(to.trace, step);
  write_all(to, step, step_json, step_csv, step_text, step_page);
}

void run_serving(const World& world, const RunOutputs& to, const RunOptions& how) {
  require_memory(world);
  write_all(to, run_inference(world, how), inference_json, inference_csv, inference_text, inference_page);
}

/// The function that runs each kind of workload.
/// In the order of WorkloadKind.
constexpr std::array runs = {run_collective, run_training, run_serving, run_execution_trace};

bool has_timeline(WorkloadKind kind) { return kind == WorkloadKind::training_step || kind == WorkloadKind::trace; }

/// Conditions an explanation on measured rows. All times at the size, including those of what was tried, move by the
/// same factor.
void condition_on(const MeasuredSite& site, Explanation& e) {
  add_intervals(e.forecast, site);
  const double level = e.forecast.rows.front().level;
  for (ForecastRow& row : e.weighed.rows) row.time *= level;
  for (WhatIf& change : e.what_ifs)
    for (Seconds& time : change.times) time *= level;
}

constexpr double part_of_forecast = 0.05;  // of the progress; trials take the rest

/// The outputs of `explain`, as for `run`.
struct ExplainOutputs {
  std::string json, html, command;
};

template <class E>
void write_explanation(const ExplainOutputs& to, const E& found, std::string (*json)(const E&),
                       std::string (*text)(const E&), Page (*page)(const E&, std::string)) {
  if (!to.json.empty()) emit(to.json, json(found));
  if (!to.html.empty()) emit(to.html, page_html(page(found, to.command)));
  if (to.json != "-" && to.html != "-") emit("-", text(found));
}

void explain_training(const World& world, const ExplainOutputs& to, const RunOptions& how) {
  const StepExplanation found = placed(world.scenario(), [&] {
    require_memory(world);
    StepExplanation e;
    e.forecast = run_step(world, part_of(how, 0, part_of_forecast));
    e.what_ifs = what_would_help_step(e.forecast, part_of(how, part_of_forecast, 1));
    return e;
  });
  write_explanation(to, found, explain_step_json, explain_step_text, explain_step_page);
}

void explain_serving(const World& world, const ExplainOutputs& to, const RunOptions& how) {
  const InferenceExplanation found = placed(world.scenario(), [&] {
    require_memory(world);
    InferenceExplanation e;
    e.forecast = run_inference(world, part_of(how, 0, part_of_forecast));
    e.what_ifs = what_would_help_inference(e.forecast, part_of(how, part_of_forecast, 1));
    return e;
  });
  write_explanation(to, found, explain_inference_json, explain_inference_text, explain_inference_page);
}

}  // namespace

int run_verb(const std::vector<std::string>& arguments) {
  Options options("run", "Forecasts a scenario: a row per size of a collective, or the breakdown of a step.",
                  {"SCENARIO"});
  options.example("fabricast run cluster.yaml");
  options.example("fabricast run cluster.yaml --set fabric.kind=fat_tree --json out.json");
  options.example("fabricast run cluster.yaml --measured all_reduce.log --html report.html");
  add_scenario_options(options);
  add_measured_option(options);
  options.add()("json", takes("FILE"), "write JSON to FILE; - prints it instead of text")(
      "csv", takes("FILE"), "write CSV to FILE; - prints it instead of text")(
      "html", takes("FILE"), "write a report (HTML) with charts and tables to FILE; - prints it")(
      "svg", takes("FILE"), "write a chart of the report (SVG) to FILE; - prints it")(
      "chart", takes("NAME"), "chart for --svg, e.g. busbw, time, breakdown, samples, load (default: the first)")(
      "threads", takes("N"), "number of threads (default: all cores); results do not depend on it")(
      "trace", takes("FILE"), "for a step: write its timeline to FILE, for ui.perfetto.dev")(
      "no-intervals", "leave out the 90 % intervals, which take most of the time")(
      "dump-effective", "print the scenario with every default filled in, and stop");
  if (!options.parse(arguments)) return 0;
  RunOutputs to;
  to.json = output_path(options, "json");
  to.csv = output_path(options, "csv");
  to.html = output_path(options, "html");
  to.svg = output_path(options, "svg");
  to.trace = output_path(options, "trace");
  to.chart = options.text("chart");
  to.command = command_text("run", arguments);
  to.intervals = !options.has("no-intervals");
  require_own_places(to.files());
  if (options.has("chart") && to.svg.empty()) throw UserError("--chart needs --svg", "e.g. --svg busbw.svg");
  if (to.trace == "-") throw UserError("--trace cannot write to standard output", "give it a file");
  const RunOptions how = run_options(options);
  const auto world = load_world(options, Beside::counted);
  // After building the world, so that the scenario is known to be valid, and with NVLink domains made even.
  if (options.has("dump-effective")) return emit("-", to_yaml(world.scenario())), 0;
  const WorkloadKind kind = world.scenario().workload.kind;
  const std::vector<std::string_view> charts = charts_of(kind);
  if (options.has("chart") && std::find(charts.begin(), charts.end(), to.chart) == charts.end())
    throw UserError(fmt::format("--chart: there is no chart '{}'", to.chart), suggestion(to.chart, charts));
  if (!to.trace.empty() && !has_timeline(kind))
    throw UserError(fmt::format("--trace is for training steps and execution traces, but the workload is {}",
                                kind == WorkloadKind::collective ? "a collective" : name_of(kind)));
  placed(world.scenario(), [&] {
    const MeasuredSite site = site_of(options, world, how);
    to.site = &site;
    // Other jobs are forecast first; their traffic then slows the job's own forecast.
    runs[static_cast<std::size_t>(kind)](with_others(world, how), to, how);
  });
  return 0;
}

int explain_verb(const std::vector<std::string>& arguments) {
  Options options("explain",
                  "Explains the time of one size: its parts, the bottleneck, the alternatives that NCCL rejected, and "
                  "changes that would help. For a step: its breakdown and changes that would help.",
                  {"SCENARIO"});
  options.example("fabricast explain cluster.yaml --size 1GiB");
  options.example("fabricast explain cluster.yaml --advise");
  add_scenario_options(options);
  add_measured_option(options);
  options.add()("size", takes("SIZE"), "message size, e.g. 64MiB (default: the middle size of the scenario)")(
      "advise", "also recommend NCCL variables for all sizes of the scenario, as `export env` writes them")(
      "json", takes("FILE"), "write JSON to FILE; - prints it instead of text")(
      "html", takes("FILE"), "write a report (HTML) with charts and tables to FILE; - prints it")(
      "threads", takes("N"), "number of threads (default: all cores)");
  if (!options.parse(arguments)) return 0;
  ExplainOutputs to;
  to.json = output_path(options, "json");
  to.html = output_path(options, "html");
  to.command = command_text("explain", arguments);
  require_own_places({{"json", &to.json}, {"html", &to.html}});
  const RunOptions how = run_options(options);
  const World world = load_world(options);
  placed(world.scenario(), [&] {
    if (world.scenario().workload.kind == WorkloadKind::trace)
      throw UserError::at("workload.kind", "explain does not support execution traces",
                          "`fabricast run` forecasts them");
  });
  if (world.scenario().workload.kind != WorkloadKind::collective) {
    for (const char* other : {"size", "advise"})
      if (options.has(other))
        throw UserError(fmt::format("--{} is for collectives, but the workload is a step", other));
    if (world.scenario().workload.kind == WorkloadKind::inference)
      explain_serving(world, to, how);
    else
      explain_training(world, to, how);
    return 0;
  }
  const Explanation found = placed(world.scenario(), [&] {
    Explanation e;
    const double begin = options.has("advise") ? 0.9 : 0;
    if (options.has("advise")) e.advice = advise(world, part_of(how, 0, begin));
    // The explanation is of one size; advice above was for all of them.
    Scenario one_size = world.scenario();
    set_sizes(one_size, {chosen_size(options, world)});
    const World at_size = build_world(std::move(one_size), world.searches());
    const auto part = [&](double from, double until) {
      return part_of(how, begin + from * (1 - begin), begin + until * (1 - begin));
    };
    e.forecast = forecast_all_versions(at_size, part(0, 0.05));
    e.weighed = run_candidates(e.forecast, part(0.05, 0.15));
    if (world.scenario().network.engine == EngineKind::flow) add_unstated(e.forecast, part(0.15, 0.2));
    // Runs of the chunk engine may take minutes, and the what-ifs of the flow engine are as informative.
    if (world.scenario().network.engine == EngineKind::flow)
      e.what_ifs = what_would_help(e.forecast, e.weighed, part(0.2, 1));
    // Last: what-ifs compare simulated times with each other, and all move by the same factor.
    if (const MeasuredSite site = site_of(options, world, {}); !site.rows.empty()) condition_on(site, e);
    if (how.progress) how.progress(1);
    return e;
  });
  write_explanation(to, found, explain_json, explain_text, explain_page);
  return 0;
}

int inspect_verb(const std::vector<std::string>& arguments) {
  Options options("inspect",
                  "Shows a stage between scenario and result. STAGE is `fabric`, `plan` (NCCL's plan for a size) or "
                  "`schedule` (the transfers of a rank).",
                  {"STAGE", "SCENARIO"});
  options.example("fabricast inspect fabric cluster.yaml --svg fabric.svg");
  options.example("fabricast inspect plan cluster.yaml --size 1GiB");
  options.words("STAGE", {"fabric", "plan", "schedule"});
  add_scenario_options(options);
  options.add()("size", takes("SIZE"),
                "for plan and schedule: message size (default: the middle size of the scenario)")(
      "channel", takes("N"), "for schedule: number of the channel (default: 0)")(
      "rank", takes("N"), "for schedule: number of the rank (default: 0)")(
      "graph-xml", takes("FILE"),
      "for plan: write the graphs as NCCL's graph XML to FILE; - prints it instead of text")(
      "dot", takes("FILE"), "for fabric: write it for Graphviz to FILE; - prints it instead of text")(
      "svg", takes("FILE"), "for fabric: write a drawing to FILE; - prints it instead of text");
  if (!options.parse(arguments)) return 0;
  const std::string stage = options.get<std::string>("STAGE");
  if (stage != "fabric" && stage != "plan" && stage != "schedule")
    throw UserError(fmt::format("fabricast inspect: unknown stage '{}'", stage), "use fabric, plan or schedule");
  const std::string graph_xml = output_path(options, "graph-xml");
  if (!graph_xml.empty() && stage != "plan") throw UserError("--graph-xml is only for `inspect plan`");
  const std::string dot = output_path(options, "dot"), svg = output_path(options, "svg");
  if (!(dot.empty() && svg.empty()) && stage != "fabric")
    throw UserError(fmt::format("--{} is only for `inspect fabric`", dot.empty() ? "svg" : "dot"));
  require_own_places({{"dot", &dot}, {"svg", &svg}});
  const auto world = load_world(options, Beside::counted);
  placed(world.scenario(), [&] {
    if (!(dot.empty() && svg.empty()) && !world.fabric())
      throw UserError::at("cluster.nodes", "there is no fabric to draw, because the job has one NCCL node");
    if (stage != "fabric" && graph_xml.empty() && world.scenario().workload.kind != WorkloadKind::collective)
      throw UserError::at("workload.kind", fmt::format("`inspect {}` is only for collectives", stage),
                          "e.g. --set 'workload={collective: all_reduce}'");
  });
  if (!graph_xml.empty()) emit(graph_xml, write_graphs(world.planner().graphs));
  if (!dot.empty()) emit(dot, drawing_dot(scenario_drawing(world)));
  if (!svg.empty()) emit(svg, drawing_svg(scenario_drawing(world)));
  if (graph_xml == "-" || dot == "-" || svg == "-") return 0;
  const std::int64_t size = chosen_size(options, world);
  const int channel = options.integer("channel", 0, 0, 63), rank = options.integer("rank", 0, 0, 1 << 30);
  emit("-", placed(world.scenario(), [&] {
         if (stage == "fabric") return inspect_fabric_text(world);
         if (stage == "plan") return inspect_plan_text(world, size);
         return inspect_schedule_text(world, size, channel, rank);
       }));
  return 0;
}

}  // namespace fabricast
