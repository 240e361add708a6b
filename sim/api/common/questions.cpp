// The table of questions, and how the options of each become a question of ask/ask.hpp.
#include "questions.hpp"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

#include "fabricast/core/names.hpp"
#include "fabricast/core/quantity.hpp"
#include "fabricast/core/scan.hpp"
#include "fabricast/report/report.hpp"
#include "question_options.hpp"

namespace fabricast {

namespace {

using Ordered = nlohmann::ordered_json;
using Names = std::string_view[];

constexpr std::string_view run_forms[] = {"json", "text", "csv", "html", "timeline"};
constexpr std::string_view explain_forms[] = {"json", "text", "html"};
constexpr std::string_view check_forms[] = {"json", "text"};
constexpr std::string_view gate_forms[] = {"json", "text", "yaml", "env", "kubernetes", "slurm"};
constexpr std::string_view plan_forms[] = {"json", "text", "csv", "html"};
constexpr std::string_view searches[] = {"parallel"};

constexpr QuestionOption measured_option{
    "measured", OptionType::logs,
    "measurements of this site, on which forecasts are conditioned: logs of nccl-tests, "
    "cases (JSON), or CSV of bytes,time_us"};
constexpr QuestionOption intervals_option{"intervals", OptionType::boolean,
                                          "90 % intervals, which take most of the time (default: true)"};
constexpr QuestionOption size_option{"size", OptionType::text,
                                     "message size, e.g. 64MiB (default: the middle size of the scenario)"};
constexpr std::string_view form_doc = "form of the answer (default: json)";

constexpr QuestionOption run_options_table[] = {
    intervals_option, measured_option, {"form", OptionType::text, form_doc, run_forms}};
constexpr QuestionOption explain_options_table[] = {
    size_option,
    {"advise", OptionType::boolean, "also recommend NCCL variables for all sizes of the scenario (default: false)"},
    measured_option,
    {"form", OptionType::text, form_doc, explain_forms}};
constexpr QuestionOption check_options_table[] = {
    {"logs", OptionType::logs, "logs to judge: nccl-tests, or CSV of bytes,time_us"},
    {"against", OptionType::logs, "logs of the same cluster when it was healthy"},
    measured_option,
    {"size", OptionType::text, "without a log: the measured size, e.g. 8GiB"},
    {"busbw_gbps", OptionType::number, "without a log: its bus bandwidth in GB/s (10^9 bytes per second)"},
    {"time", OptionType::text, "without a log: its time, e.g. 41ms"},
    {"form", OptionType::text, form_doc, check_forms}};
constexpr QuestionOption gate_options_table[] = {
    {"probability", OptionType::text,
     "probability that one row of a healthy cluster is below its floor: 1/1000, 0.001 or 0.1% (default: 1/1000)"},
    {"collectives", OptionType::texts, "collectives (default: the scenario's)"},
    {"logs", OptionType::logs, "compare these logs with the floors of their sizes"},
    measured_option,
    {"form", OptionType::text, form_doc, gate_forms}};
constexpr QuestionOption plan_options_table[] = {
    {"sweep", OptionType::texts, "axes in addition to `sweep` of the scenario, e.g. cluster.nodes=[32, 64]"},
    {"search", OptionType::text, "search instead of a sweep: ways to split a training step over its GPUs", searches},
    {"limit", OptionType::count, "for a search: maximum number of forecasts (default: 200)", {}, 1, 1'000'000},
    {"top",
     OptionType::count,
     "number of rows in text (default: 20), and for a search in JSON and CSV",
     {},
     1,
     1'000'000},
    {"risk", OptionType::boolean, "also compute the effect of failures on each row (default: false)"},
    intervals_option,
    measured_option,
    {"form", OptionType::text, form_doc, plan_forms}};

/// A value of an option in the scenario's units.
template <class Parsed>
auto parsed_option(const char* name, const Parsed& parsed) {
  if (!parsed) throw UserError(fmt::format("{}: {}", name, parsed.error), parsed.hint);
  return parsed.value;
}

Bytes size_from(const std::string& text) {
  const Bytes size = parsed_option("size", parse_bytes(text));
  if (size.value < 1 || size > largest_size)
    throw UserError(fmt::format("size '{}' is out of range", shown(text, 40)),
                    fmt::format("between 1B and {}", to_text(largest_size)));
  return size;
}

void warn_of(const OpenScenario& scenario, bool counts_others, std::vector<Diagnostic>& warnings) {
  const World& world = scenario.world();
  warnings = scenario.warnings();
  if (counts_others) return;
  if (auto alone = others_left_out(world)) warnings.push_back(std::move(*alone));
}

void warn_of(const NamedLogs& logs, const World& world, std::vector<Diagnostic>& warnings) {
  for (const NamedLog& log : logs)
    for (Diagnostic& d : left_out_of(log, world)) warnings.push_back(std::move(d));
}

Answer ask_run(const OpenScenario& scenario, const QuestionOptions& options, const RunOptions& how,
               std::vector<Diagnostic>& warnings) {
  warn_of(scenario, true, warnings);
  return answer_run(scenario.world(), {options.boolean("intervals", true), options.measured("measured", warnings)},
                    how);
}

Answer ask_explain(const OpenScenario& scenario, const QuestionOptions& options, const RunOptions& how,
                   std::vector<Diagnostic>& warnings) {
  warn_of(scenario, false, warnings);
  ExplainQuestion question;
  if (options.has("size")) question.size = size_from(options.text("size"));
  question.advise = options.boolean("advise", false);
  question.measured = options.measured("measured", warnings);
  return answer_explain(scenario.world(), question, how);
}

/// A measurement without a log.
BareMeasurement bare_measurement(const QuestionOptions& options, const World& world) {
  if (!options.has("size") || options.has("busbw_gbps") == options.has("time"))
    throw UserError("nothing is measured", "give `logs`, or `size` and either `busbw_gbps` or `time`");
  constexpr double giga = 1e9;
  BareMeasurement bare{size_from(options.text("size")), {}};
  bare.time = options.has("time")
                  ? parsed_option("time", parse_seconds(options.text("time")))
                  : time_at_bus_bandwidth(world, bare.size, BytesPerSecond{options.number("busbw_gbps") * giga});
  if (!(bare.time.value > 0 && bare.time.value < 1e9)) throw UserError("the measured value must be above 0");
  return bare;
}

Answer ask_check(const OpenScenario& scenario, const QuestionOptions& options, const RunOptions& how,
                 std::vector<Diagnostic>& warnings) {
  warn_of(scenario, false, warnings);
  CheckQuestion question;
  question.logs = options.logs("logs", warnings);
  const World& world = scenario.world();
  warn_of(question.logs, world, warnings);
  if (question.logs.empty() && world.scenario().workload.kind == WorkloadKind::collective)
    question.bare = bare_measurement(options, world);
  question.measured = options.measured("measured", warnings);
  for (MeasuredFile& file : options.measured("against", warnings)) question.measured.push_back(std::move(file));
  return answer_check(world, question, how);
}

Answer ask_gate(const OpenScenario& scenario, const QuestionOptions& options, const RunOptions& how,
                std::vector<Diagnostic>& warnings) {
  warn_of(scenario, false, warnings);
  GateQuestion question;
  question.probability = probability_from(options.text("probability", "1/1000"), "probability");
  question.operations = operations_from(options.texts("collectives"), "collectives");
  question.logs = options.logs("logs", warnings);
  warn_of(question.logs, scenario.world(), warnings);
  question.measured = options.measured("measured", warnings);
  return answer_gate(scenario.world(), question, how);
}

Answer ask_plan(const OpenScenario& scenario, const QuestionOptions& options, const RunOptions& how,
                std::vector<Diagnostic>& warnings) {
  const std::size_t top = options.count("top", 0);
  if (options.has("search")) {
    for (const char* other : {"sweep", "risk", "measured"})
      if (options.has(other)) throw UserError(fmt::format("`{}` cannot be combined with `search`", other));
    warn_of(scenario, false, warnings);
    return answer_search(scenario.world(), options.count("limit", 200), top, how);
  }
  const Study study = scenario.study(options.texts("sweep"));
  const PreparedSweep prepared =
      prepare_sweep(study, options.boolean("intervals", true), options.boolean("risk", false),
                    options.measured("measured", warnings), how);
  SweepResult result = run_sweep(study, prepared.options());
  // Half a plan would name a winner among rows that happened to be first.
  if (result.interrupted) throw Interrupted();
  return answer_sweep(study, std::move(result), top).answer;
}

constexpr std::array table = {
    Question{"run", "forecast a scenario: a row per size of a collective, or the breakdown of a step",
             run_options_table, ask_run},
    Question{"explain", "where the time of one size or of a step goes, the bottleneck, and changes that would help",
             explain_options_table, ask_explain},
    Question{"plan", "forecast all configurations of a sweep and choose one by the scenario's objective",
             plan_options_table, ask_plan},
    Question{"check", "compare measured times with the forecast for a healthy cluster, and report likely causes",
             check_options_table, ask_check},
    Question{"gate", "floors of bus bandwidth that a healthy cluster misses with a stated probability, or verdicts",
             gate_options_table, ask_gate},
};

Ordered type_schema(const QuestionOption& option) {
  switch (option.type) {
    case OptionType::boolean: return {{"type", "boolean"}};
    case OptionType::count: return {{"type", "integer"}, {"minimum", option.low}, {"maximum", option.high}};
    case OptionType::number: return {{"type", "number"}};
    case OptionType::text: break;
    case OptionType::texts: return {{"type", "array"}, {"items", {{"type", "string"}}}};
    case OptionType::logs: {
      const Ordered given = {{"type", "object"},
                             {"properties", {{"name", {{"type", "string"}}}, {"text", {{"type", "string"}}}}},
                             {"required", {"name", "text"}},
                             {"additionalProperties", false}};
      Ordered either = Ordered::array({Ordered{{"type", "string"}, {"description", "path of a file"}}, given});
      return {{"type", "array"}, {"items", {{"anyOf", std::move(either)}}}};
    }
  }
  Ordered schema{{"type", "string"}};
  if (!option.words.empty()) schema["enum"] = option.words;
  return schema;
}

Ordered schema_of(const Question& question) {
  Ordered properties = Ordered::object();
  for (const QuestionOption& option : question.options) {
    Ordered schema = type_schema(option);
    schema["description"] = option.doc;
    properties[std::string(option.name)] = std::move(schema);
  }
  return {{"type", "object"}, {"properties", std::move(properties)}, {"additionalProperties", false}};
}

/// The answer in the form that is asked for.
std::string written(const Answer& answer, const std::string& form, const std::string& command) {
  if (form == "html" && answer.page) return page_html(answer.page(command));
  if (form == "timeline" && answer.timeline) return answer.timeline().json;
  if (!answer.has(form))
    throw UserError(fmt::format("form: this answer has no form '{}'", form),
                    form == "timeline" ? "timelines are for steps" : "json and text always work");
  return answer.write(form);
}

}  // namespace

std::span<const Question> questions() { return table; }

const Question* find_question(std::string_view name) { return find_by_name(table, name); }

std::string options_schema(const Question& question) { return schema_of(question).dump(); }

std::string questions_json() {
  Ordered list = Ordered::array();
  for (const Question& q : table) list.push_back({{"name", q.name}, {"summary", q.summary}, {"options", schema_of(q)}});
  return list.dump(1) + "\n";
}

std::string named_text_json(const std::string& name, const std::string& text) {
  return Ordered{{"fabricast", version_text()}, {"name", name}, {"text", text}}.dump(1) + "\n";
}

Reply ask(const Question& question, const OpenScenario& scenario, const std::string& options, const QuestionRun& run) {
  return guarded([&](Reply& reply) {
    const QuestionOptions checked(question, options, run.reads_files);
    StopSource own;
    StopSource& stop = run.stop ? *run.stop : own;
    const StopScope scope(&stop);
    RunOptions how;
    how.threads = run.threads;
    if (run.progress)
      how.progress = [&](double fraction) {
        if (!run.progress(fraction)) stop.request();
      };
    stop_if_requested();
    const Answer answer = question.ask(scenario, checked, how, reply.diagnostics);
    stop_if_requested();
    reply.text = written(answer, checked.form(), scenario.command(question.name));
    reply.status = answer.good ? ReplyStatus::ok : ReplyStatus::check_failed;
  });
}

}  // namespace fabricast
