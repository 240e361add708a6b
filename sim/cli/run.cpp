// `run`, `explain` and `inspect`: forecast a scenario, explain it, or show a stage of it.
//
// The answers are those of ask/ask.hpp. Errors at keys of the scenario get their position in the file (`placed`).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "commands.hpp"
#include "fabricast/ask/ask.hpp"
#include "fabricast/core/names.hpp"
#include "fabricast/page/report_page.hpp"
#include "fabricast/planner/graph_file.hpp"
#include "measured_site.hpp"
#include "options.hpp"

namespace fabricast {

namespace {

/// The outputs of `run`. Empty paths: not written; `-`: standard output, which then gets no text.
struct RunOutputs {
  std::string json, csv, html, svg, trace;
  std::string chart;    ///< the chart for `svg`; empty: the first one
  std::string command;  ///< the command line, for the report

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

void write_timeline(const std::string& file, const StepTrace& timeline) {
  emit(file, timeline.json);
  if (!timeline.left_out.empty())
    print_diagnostic({Diagnostic::Severity::warning, {}, {}, "the timeline leaves out " + timeline.left_out, {}});
}

void write_all(const RunOutputs& to, const Answer& answer) {
  if (!to.trace.empty()) write_timeline(to.trace, answer.timeline());
  if (!to.json.empty()) emit(to.json, answer.write("json"));
  if (!to.csv.empty()) emit(to.csv, answer.write("csv"));
  if (!to.html.empty() || !to.svg.empty()) write_page(answer.page(to.command), to.html, to.svg, to.chart);
  if (leaves_standard_output(to.files())) emit("-", answer.write("text"));
}

bool has_timeline(WorkloadKind kind) { return kind == WorkloadKind::training_step || kind == WorkloadKind::trace; }

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
  if (options.has("measured") && kind != WorkloadKind::collective)
    throw UserError("--measured is for collectives, but the workload is not a collective",
                    "`fabricast calibrate fit` makes a profile from measured collectives");
  write_all(to, answer_run(world, {!options.has("no-intervals"), measured_files(options)}, how));
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
  const std::string json = output_path(options, "json"), html = output_path(options, "html");
  require_own_places({{"json", &json}, {"html", &html}});
  const RunOptions how = run_options(options);
  const World world = load_world(options);
  const WorkloadKind kind = world.scenario().workload.kind;
  ExplainQuestion question;
  if (kind == WorkloadKind::training_step || kind == WorkloadKind::inference) {
    for (const char* other : {"size", "advise"})
      if (options.has(other))
        throw UserError(fmt::format("--{} is for collectives, but the workload is a step", other));
  } else if (kind == WorkloadKind::collective) {
    question.size = Bytes{chosen_size(options, world)};
    question.advise = options.has("advise");
    question.measured = measured_files(options);
  }
  const Answer answer = answer_explain(world, question, how);
  if (!json.empty()) emit(json, answer.write("json"));
  if (!html.empty()) emit(html, page_html(answer.page(command_text("explain", arguments))));
  if (json != "-" && html != "-") emit("-", answer.write("text"));
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
