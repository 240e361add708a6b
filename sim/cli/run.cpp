// `run`, `explain`, `inspect`: the verbs that take a scenario.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "commands.hpp"
#include "fabricast/core/names.hpp"
#include "fabricast/jobs/others.hpp"
#include "fabricast/planner/graph_file.hpp"
#include "fabricast/report/inference_advice.hpp"
#include "fabricast/report/interval.hpp"
#include "fabricast/report/step_advice.hpp"
#include "fabricast/report/step_interval.hpp"
#include "fabricast/report/versions.hpp"
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
Forecast forecast_with_intervals(const World& world, const RunOptions& how, bool intervals) {
  if (!intervals || world.scenario.network.engine != EngineKind::flow) return forecast_all_versions(world, how);
  constexpr double own_part = 0.3;
  Forecast forecast = forecast_all_versions(world, part_of(how, 0, own_part));
  add_intervals(world, forecast, interval_draws(world), part_of(how, own_part, 1));
  return forecast;
}

/// Where `run` writes; empty: nowhere, `-`: standard output, on which there is text else.
struct RunOutputs {
  std::string json, csv, trace;
  bool intervals = true;
};

template <class F>
void write_all(const RunOutputs& to, const World& world, const F& forecast, std::string (*json)(const World&, const F&),
               std::string (*csv)(const World&, const F&), std::string (*text)(const World&, const F&)) {
  if (!to.json.empty()) emit(to.json, json(world, forecast));
  if (!to.csv.empty()) emit(to.csv, csv(world, forecast));
  if (to.json != "-" && to.csv != "-") emit("-", text(world, forecast));
}

void run_collective(const World& world, const RunOutputs& to, const RunOptions& how) {
  write_all(to, world, forecast_with_intervals(world, how, to.intervals), forecast_json, forecast_csv, forecast_text);
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
  write_all(to, world, step, step_json, step_csv, step_text);
}

void run_execution_trace(const World& world, const RunOutputs& to, const RunOptions& how) {
  const StepForecast step = run_trace(world, how);
  if (!to.trace.empty()) write_timeline(to.trace, step);
  write_all(to, world, step, step_json, step_csv, step_text);
}

void run_serving(const World& world, const RunOutputs& to, const RunOptions& how) {
  require_memory(world);
  write_all(to, world, run_inference(world, how), inference_json, inference_csv, inference_text);
}

/// By kind of workload.
constexpr std::array runs = {run_collective, run_training, run_serving, run_execution_trace};

bool has_timeline(WorkloadKind kind) { return kind == WorkloadKind::training_step || kind == WorkloadKind::trace; }

constexpr double part_of_forecast = 0.05;  // the rest of the time is that of trials

void explain_training(const World& world, const std::string& json, const RunOptions& how) {
  const StepExplanation found = placed(world.scenario, [&] {
    require_memory(world);
    StepExplanation e;
    e.forecast = run_step(world, part_of(how, 0, part_of_forecast));
    e.what_ifs = what_would_help_step(world, e.forecast, part_of(how, part_of_forecast, 1));
    return e;
  });
  if (!json.empty()) emit(json, explain_step_json(world, found));
  if (json != "-") emit("-", explain_step_text(world, found));
}

void explain_serving(const World& world, const std::string& json, const RunOptions& how) {
  const InferenceExplanation found = placed(world.scenario, [&] {
    require_memory(world);
    InferenceExplanation e;
    e.forecast = run_inference(world, part_of(how, 0, part_of_forecast));
    e.what_ifs = what_would_help_inference(world, e.forecast, part_of(how, part_of_forecast, 1));
    return e;
  });
  if (!json.empty()) emit(json, explain_inference_json(world, found));
  if (json != "-") emit("-", explain_inference_text(world, found));
}

}  // namespace

int run_verb(const std::vector<std::string>& arguments) {
  Options options("run", "Forecasts a scenario and prints a row per size.", {"SCENARIO"});
  add_scenario_options(options);
  options.add()("json", po::value<std::string>(), "write JSON to a file, or `-` for standard output alone")(
      "csv", po::value<std::string>(), "write CSV likewise")(
      "threads", po::value<std::string>(), "number of threads (default: all cores); results do not depend on it")(
      "trace", po::value<std::string>(), "of a step: write its timeline to a file, for ui.perfetto.dev")(
      "no-intervals", "leave out the 90 % intervals, which take most of the time")(
      "dump-effective", "print the scenario with every default filled in, and stop");
  if (!options.parse(arguments)) return 0;
  const RunOutputs to{output_path(options, "json"), output_path(options, "csv"), output_path(options, "trace"),
                      !options.has("no-intervals")};
  if (to.json == "-" && to.csv == "-")
    throw UserError("--json - and --csv - both want standard output", "give one of them a file");
  if (!to.json.empty() && to.json != "-" && to.json == to.csv)
    throw UserError(fmt::format("--json and --csv both want '{}'", to.json));
  if (to.trace == "-") throw UserError("--trace wants a file, not standard output");
  const RunOptions how = run_options(options);
  const auto world = load_world(options, Beside::counted);
  if (options.has("dump-effective")) return emit("-", to_yaml(world->scenario)), 0;
  const WorkloadKind kind = world->scenario.workload.kind;
  if (!to.trace.empty() && !has_timeline(kind))
    throw UserError(fmt::format("--trace is of a training step or an execution trace, and the workload is {}",
                                kind == WorkloadKind::collective ? "a collective" : name_of(kind)));
  placed(world->scenario, [&] {
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
  options.add()("size", po::value<std::string>(), "the size, e.g. 64MiB (default: the middle one of the scenario)")(
      "advise", "also say which of NCCL's variables to set for all sizes of the scenario, as `export env` writes them")(
      "json", po::value<std::string>(), "write JSON to a file, or `-` for standard output alone")(
      "threads", po::value<std::string>(), "number of threads (default: all cores)");
  if (!options.parse(arguments)) return 0;
  const std::string json = output_path(options, "json");
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
      explain_serving(*world, json, how);
    else
      explain_training(*world, json, how);
    return 0;
  }
  const Explanation found = placed(world->scenario, [&] {
    Explanation e;
    const double begin = options.has("advise") ? 0.9 : 0;
    if (options.has("advise")) e.advice = advise(*world, part_of(how, 0, begin));
    world->scenario.workload.sizes = {Bytes{chosen_size(options, *world)}};
    const auto part = [&](double from, double to) {
      return part_of(how, begin + from * (1 - begin), begin + to * (1 - begin));
    };
    e.forecast = forecast_all_versions(*world, part(0, 0.05));
    e.weighed = run_candidates(*world, e.forecast, part(0.05, 0.2));
    // A run by the chunk engine may take minutes; the flow engine's what-ifs say the same.
    if (world->scenario.network.engine == EngineKind::flow)
      e.what_ifs = what_would_help(*world, e.forecast, e.weighed, part(0.2, 1));
    if (how.progress) how.progress(1);
    return e;
  });
  if (!json.empty()) emit(json, explain_json(*world, found));
  if (json != "-") emit("-", explain_text(*world, found));
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
      "for plan: write the graphs as NCCL's graph XML to a file, or `-` for standard output alone");
  if (!options.parse(arguments)) return 0;
  const std::string stage = options.get<std::string>("STAGE");
  if (stage != "fabric" && stage != "plan" && stage != "schedule")
    throw UserError(fmt::format("fabricast inspect: unknown stage '{}'", stage), "fabric, plan or schedule");
  const std::string graph_xml = output_path(options, "graph-xml");
  if (!graph_xml.empty() && stage != "plan") throw UserError("--graph-xml is for `inspect plan`");
  const auto world = load_world(options, Beside::counted);
  placed(world->scenario, [&] {
    if (stage != "fabric" && graph_xml.empty() && world->scenario.workload.kind != WorkloadKind::collective)
      throw UserError::at("workload.kind", fmt::format("the {} shown is of one collective", stage),
                          "e.g. --set 'workload={collective: all_reduce}'");
  });
  if (!graph_xml.empty()) emit(graph_xml, write_graphs(world->planner.graphs));
  if (graph_xml == "-") return 0;
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
