// `run`, `explain`, `inspect`: the verbs that take a scenario.
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

namespace po = boost::program_options;

namespace {

Forecast forecast_all_versions(const World& world, const RunOptions& how) {
  Forecast forecast = run_forecast(world, how);
  forecast_versions(world, forecast, how);
  return forecast;
}

/// Only of the flow engine: the bound is none of the time, and the chunk engine takes minutes.
Forecast forecast_with_intervals(const World& world, const MeasuredSite& site, const RunOptions& how, bool intervals) {
  if ((!intervals && site.rows.empty()) || world.scenario.network.engine != EngineKind::flow)
    return forecast_all_versions(world, how);
  constexpr double own_part = 0.3;
  Forecast forecast = forecast_all_versions(world, part_of(how, 0, own_part));
  add_intervals(world, forecast, site, part_of(how, own_part, 1));
  return forecast;
}

/// Where `run` writes; empty: nowhere, `-`: standard output, on which there is text else.
struct RunOutputs {
  std::string json, csv, html, svg, trace;
  std::string chart;    ///< that `svg` gets; empty: the first one
  std::string command;  ///< as it was typed
  bool intervals = true;
  const MeasuredSite* site = nullptr;  ///< never null where it runs

  OutputPlaces files() const { return {{"json", &json}, {"csv", &csv}, {"html", &html}, {"svg", &svg}}; }
};

/// Charts that pages of a kind of workload may have.
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
void write_all(const RunOutputs& to, const World& world, const F& forecast, std::string (*json)(const World&, const F&),
               std::string (*csv)(const World&, const F&), std::string (*text)(const World&, const F&),
               Page (*page)(const World&, const F&, std::string)) {
  if (!to.json.empty()) emit(to.json, json(world, forecast));
  if (!to.csv.empty()) emit(to.csv, csv(world, forecast));
  if (!to.html.empty() || !to.svg.empty()) write_page(page(world, forecast, to.command), to.html, to.svg, to.chart);
  if (leaves_standard_output(to.files())) emit("-", text(world, forecast));
}

void run_collective(const World& world, const RunOutputs& to, const RunOptions& how) {
  write_all(to, world, forecast_with_intervals(world, *to.site, how, to.intervals), forecast_json, forecast_csv,
            forecast_text, collective_page);
}

void write_timeline(const std::string& file, const StepForecast& step) {
  const StepTrace timeline = step_trace(step);
  emit(file, timeline.json);
  if (!timeline.left_out.empty())
    print_diagnostic({Diagnostic::Severity::warning, {}, {}, "the trace leaves out " + timeline.left_out, {}});
}

void run_training(const World& world, const RunOutputs& to, const RunOptions& how) {
  require_memory(world);
  constexpr double own_part = 0.5;
  StepForecast step = run_step(world, part_of(how, 0, to.intervals ? own_part : 1));
  if (to.intervals) add_interval(world, step, part_of(how, own_part, 1));
  if (!to.trace.empty()) write_timeline(to.trace, step);
  write_all(to, world, step, step_json, step_csv, step_text, step_page);
}

void run_execution_trace(const World& world, const RunOutputs& to, const RunOptions& how) {
  const StepForecast step = run_trace(world, how);
  if (!to.trace.empty()) write_timeline(to.trace, step);
  write_all(to, world, step, step_json, step_csv, step_text, step_page);
}

void run_serving(const World& world, const RunOutputs& to, const RunOptions& how) {
  require_memory(world);
  write_all(to, world, run_inference(world, how), inference_json, inference_csv, inference_text, inference_page);
}

/// By kind of workload.
constexpr std::array runs = {run_collective, run_training, run_serving, run_execution_trace};

bool has_timeline(WorkloadKind kind) { return kind == WorkloadKind::training_step || kind == WorkloadKind::trace; }

/// What measured rows tell of the size's forecast holds for what was tried at that size, too.
void go_on_from(const MeasuredSite& site, const World& world, Explanation& e) {
  add_intervals(world, e.forecast, site);
  const double level = e.forecast.rows.front().level;
  for (ForecastRow& row : e.weighed.rows) row.time *= level;
  for (WhatIf& change : e.what_ifs)
    for (double& time : change.times) time *= level;
}

constexpr double part_of_forecast = 0.05;  // the rest of the time is that of trials

/// Where `explain` writes, as `run` does.
struct ExplainOutputs {
  std::string json, html, command;
};

template <class E>
void write_explanation(const ExplainOutputs& to, const World& world, const E& found,
                       std::string (*json)(const World&, const E&), std::string (*text)(const World&, const E&),
                       Page (*page)(const World&, const E&, std::string)) {
  if (!to.json.empty()) emit(to.json, json(world, found));
  if (!to.html.empty()) emit(to.html, page_html(page(world, found, to.command)));
  if (to.json != "-" && to.html != "-") emit("-", text(world, found));
}

void explain_training(const World& world, const ExplainOutputs& to, const RunOptions& how) {
  const StepExplanation found = placed(world.scenario, [&] {
    require_memory(world);
    StepExplanation e;
    e.forecast = run_step(world, part_of(how, 0, part_of_forecast));
    e.what_ifs = what_would_help_step(world, e.forecast, part_of(how, part_of_forecast, 1));
    return e;
  });
  write_explanation(to, world, found, explain_step_json, explain_step_text, explain_step_page);
}

void explain_serving(const World& world, const ExplainOutputs& to, const RunOptions& how) {
  const InferenceExplanation found = placed(world.scenario, [&] {
    require_memory(world);
    InferenceExplanation e;
    e.forecast = run_inference(world, part_of(how, 0, part_of_forecast));
    e.what_ifs = what_would_help_inference(world, e.forecast, part_of(how, part_of_forecast, 1));
    return e;
  });
  write_explanation(to, world, found, explain_inference_json, explain_inference_text, explain_inference_page);
}

}  // namespace

int run_verb(const std::vector<std::string>& arguments) {
  Options options("run", "Forecasts a scenario and prints a row per size.", {"SCENARIO"});
  add_scenario_options(options);
  add_measured_option(options);
  options.add()("json", po::value<std::string>(), "write JSON to a file, or `-` for standard output alone")(
      "csv", po::value<std::string>(), "write CSV likewise")(
      "html", po::value<std::string>(), "write a report likewise: one HTML file with charts and tables")(
      "svg", po::value<std::string>(), "write a chart of the report likewise")(
      "chart", po::value<std::string>(), "which one, e.g. busbw, time, breakdown, samples, load (default: the first)")(
      "threads", po::value<std::string>(), "number of threads (default: all cores); results do not depend on it")(
      "trace", po::value<std::string>(), "of a step: write its timeline to a file, for ui.perfetto.dev")(
      "no-intervals", "leave out the 90 % intervals, which take most of the time")(
      "dump-effective", "print the scenario with every default filled in, and stop");
  if (!options.parse(arguments)) return 0;
  RunOutputs to;
  to.json = output_path(options, "json"), to.csv = output_path(options, "csv");
  to.html = output_path(options, "html"), to.svg = output_path(options, "svg");
  to.trace = output_path(options, "trace"), to.chart = options.text("chart");
  to.command = command_text("run", arguments), to.intervals = !options.has("no-intervals");
  require_own_places(to.files());
  if (options.has("chart") && to.svg.empty()) throw UserError("--chart is of --svg", "e.g. --svg busbw.svg");
  if (to.trace == "-") throw UserError("--trace wants a file, not standard output");
  const RunOptions how = run_options(options);
  const auto world = load_world(options, Beside::counted);
  if (options.has("dump-effective")) return emit("-", to_yaml(world->scenario)), 0;
  const WorkloadKind kind = world->scenario.workload.kind;
  const std::vector<std::string_view> charts = charts_of(kind);
  if (options.has("chart") && std::find(charts.begin(), charts.end(), to.chart) == charts.end())
    throw UserError(fmt::format("--chart: there is no chart '{}'", to.chart), suggestion(to.chart, charts));
  if (!to.trace.empty() && !has_timeline(kind))
    throw UserError(fmt::format("--trace is of a training step or an execution trace, and the workload is {}",
                                kind == WorkloadKind::collective ? "a collective" : name_of(kind)));
  placed(world->scenario, [&] {
    const MeasuredSite site = site_of(options, *world, how);
    to.site = &site;
    add_others(*world, how);
    runs[static_cast<std::size_t>(kind)](*world, to, how);
  });
  return 0;
}

int explain_verb(const std::vector<std::string>& arguments) {
  Options options("explain",
                  "Says where the time of one size goes, what binds it, what NCCL rejected, and what would help.",
                  {"SCENARIO"});
  add_scenario_options(options);
  add_measured_option(options);
  options.add()("size", po::value<std::string>(), "the size, e.g. 64MiB (default: the middle one of the scenario)")(
      "advise", "also say which of NCCL's variables to set for all sizes of the scenario, as `export env` writes them")(
      "json", po::value<std::string>(), "write JSON to a file, or `-` for standard output alone")(
      "html", po::value<std::string>(), "write a report likewise: one HTML file with charts and tables")(
      "threads", po::value<std::string>(), "number of threads (default: all cores)");
  if (!options.parse(arguments)) return 0;
  ExplainOutputs to;
  to.json = output_path(options, "json"), to.html = output_path(options, "html");
  to.command = command_text("explain", arguments);
  require_own_places({{"json", &to.json}, {"html", &to.html}});
  const RunOptions how = run_options(options);
  auto world = load_world(options);
  placed(world->scenario, [&] {
    if (world->scenario.workload.kind == WorkloadKind::trace)
      throw UserError::at("workload.kind", "a trace is not explained", "`fabricast run` forecasts it");
  });
  if (world->scenario.workload.kind != WorkloadKind::collective) {
    for (const char* other : {"size", "advise"})
      if (options.has(other)) throw UserError(fmt::format("--{} is for collectives, and this is a step", other));
    if (world->scenario.workload.kind == WorkloadKind::inference)
      explain_serving(*world, to, how);
    else
      explain_training(*world, to, how);
    return 0;
  }
  const Explanation found = placed(world->scenario, [&] {
    Explanation e;
    const double begin = options.has("advise") ? 0.9 : 0;
    if (options.has("advise")) e.advice = advise(*world, part_of(how, 0, begin));
    world->scenario.workload.sizes = {Bytes{chosen_size(options, *world)}};
    const auto part = [&](double from, double until) {
      return part_of(how, begin + from * (1 - begin), begin + until * (1 - begin));
    };
    e.forecast = forecast_all_versions(*world, part(0, 0.05));
    e.weighed = run_candidates(*world, e.forecast, part(0.05, 0.15));
    if (world->scenario.network.engine == EngineKind::flow) add_unstated(*world, e.forecast, part(0.15, 0.2));
    // A run by the chunk engine may take minutes; the flow engine's what-ifs say the same.
    if (world->scenario.network.engine == EngineKind::flow)
      e.what_ifs = what_would_help(*world, e.forecast, e.weighed, part(0.2, 1));
    if (const MeasuredSite site = site_of(options, *world, {}); !site.rows.empty()) go_on_from(site, *world, e);
    if (how.progress) how.progress(1);
    return e;
  });
  write_explanation(to, *world, found, explain_json, explain_text, explain_page);
  return 0;
}

int inspect_verb(const std::vector<std::string>& arguments) {
  Options options("inspect", "Shows the fabric, NCCL's plan for a size, or the schedule of a rank.",
                  {"STAGE", "SCENARIO"});
  options.words("STAGE", {"fabric", "plan", "schedule"});
  add_scenario_options(options);
  options.add()("size", po::value<std::string>(), "the size, for plan and schedule")(
      "channel", po::value<std::string>(), "the channel, for schedule (default 0)")(
      "rank", po::value<std::string>(), "the rank, for schedule (default 0)")(
      "graph-xml", po::value<std::string>(),
      "for plan: write the graphs as NCCL's graph XML to a file, or `-` for standard output alone")(
      "dot", po::value<std::string>(), "for fabric: write it for Graphviz likewise")(
      "svg", po::value<std::string>(), "for fabric: write a drawing likewise");
  if (!options.parse(arguments)) return 0;
  const std::string stage = options.get<std::string>("STAGE");
  if (stage != "fabric" && stage != "plan" && stage != "schedule")
    throw UserError(fmt::format("fabricast inspect: unknown stage '{}'", stage), "fabric, plan or schedule");
  const std::string graph_xml = output_path(options, "graph-xml");
  if (!graph_xml.empty() && stage != "plan") throw UserError("--graph-xml is for `inspect plan`");
  const std::string dot = output_path(options, "dot"), svg = output_path(options, "svg");
  if (!(dot.empty() && svg.empty()) && stage != "fabric")
    throw UserError(fmt::format("--{} is for `inspect fabric`", dot.empty() ? "svg" : "dot"));
  require_own_places({{"dot", &dot}, {"svg", &svg}});
  const auto world = load_world(options, Beside::counted);
  placed(world->scenario, [&] {
    if (!(dot.empty() && svg.empty()) && !world->fabric)
      throw UserError::at("cluster.nodes", "there is no fabric to draw: the job has one NCCL node");
    if (stage != "fabric" && graph_xml.empty() && world->scenario.workload.kind != WorkloadKind::collective)
      throw UserError::at("workload.kind", fmt::format("the {} shown is of one collective", stage),
                          "e.g. --set 'workload={collective: all_reduce}'");
  });
  if (!graph_xml.empty()) emit(graph_xml, write_graphs(world->planner.graphs));
  if (!dot.empty()) emit(dot, drawing_dot(scenario_drawing(*world)));
  if (!svg.empty()) emit(svg, drawing_svg(scenario_drawing(*world)));
  if (graph_xml == "-" || dot == "-" || svg == "-") return 0;
  const std::int64_t size = chosen_size(options, *world);
  const int channel = options.integer("channel", 0, 0, 63), rank = options.integer("rank", 0, 0, 1 << 30);
  emit("-", placed(world->scenario, [&] {
         if (stage == "fabric") return inspect_fabric_text(*world);
         if (stage == "plan") return inspect_plan_text(*world, size);
         return inspect_schedule_text(*world, size, channel, rank);
       }));
  return 0;
}

}  // namespace fabricast
