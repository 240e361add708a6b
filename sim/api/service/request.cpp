// The table of tools, their schemas, and jobs from arguments.
#include "request.hpp"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

#include "fabricast/ask/catalogue.hpp"
#include "fabricast/core/names.hpp"
#include "fabricast/core/scan.hpp"
#include "fabricast/report/report.hpp"
#include "fabricast/residual/residual.hpp"
#include "fabricast/scenario/schema.hpp"

namespace fabricast {

namespace {

using OrderedJson = nlohmann::ordered_json;
using PlainJson = nlohmann::json;

constexpr std::array<std::string_view, 3> built_in{"describe", "list", "schema"};
constexpr std::array<std::string_view, 3> about_built_in{
    "what is built in under a name (a GPU, node, topology, NCCL variable, model ...) or a key of scenarios, with "
    "sources",
    "the entries of a catalogue: gpus, nodes, links, networks, topologies, routing, collectives, workloads, metrics, "
    "models, stacks, variables, parameters, regressions, scenario, prices; without a name, of all",
    "the JSON Schema of scenarios: every key with its type, default and meaning"};

std::vector<ServiceTool> made_tools() {
  std::vector<ServiceTool> made;
  for (const Question& question : questions()) made.push_back({question.name, question.summary, &question});
  for (std::size_t i = 0; i < built_in.size(); ++i) made.push_back({built_in[i], about_built_in[i], nullptr});
  return made;
}

/// The sections of a scenario with their meaning, from its list of fields.
OrderedJson sections_schema() {
  OrderedJson properties = OrderedJson::object();
  for (const Field& section : scenario_fields().parts) {
    OrderedJson schema = OrderedJson::object();
    if (!section.doc.empty()) schema["description"] = section.doc;
    properties[section.name] = std::move(schema);
  }
  return {{"type", "object"}, {"properties", std::move(properties)}};
}

/// A member of the arguments that must be a text.
std::string text_argument(const PlainJson& arguments, const char* name) {
  const auto it = arguments.find(name);
  if (it == arguments.end() || it->is_null()) return {};
  if (!it->is_string()) throw UserError(fmt::format("`{}` is not a string", name));
  return it->get<std::string>();
}

std::vector<std::string> changes_of(const PlainJson& arguments) {
  std::vector<std::string> changes;
  const auto it = arguments.find("changes");
  if (it == arguments.end() || it->is_null()) return changes;
  if (!it->is_array()) throw UserError("`changes` is not a list", R"(e.g. ["cluster.nodes=16"])");
  for (const PlainJson& word : *it) {
    if (!word.is_string()) throw UserError("an element of `changes` is not a string", R"(e.g. ["cluster.nodes=16"])");
    changes.push_back(word.get<std::string>());
  }
  return changes;
}

OpenScenario scenario_of_arguments(const PlainJson& arguments, bool reads_files) {
  std::vector<std::string> changes = changes_of(arguments);
  const auto given = arguments.find("scenario");
  if (given != arguments.end() && !given->is_null()) {
    if (!given->is_string() && !given->is_object()) throw UserError("`scenario` is neither a string nor an object");
    return OpenScenario::of_text(given->is_string() ? given->get<std::string>() : given->dump(), "scenario",
                                 std::move(changes));
  }
  const std::string file = text_argument(arguments, "file");
  if (file.empty()) throw UserError("`scenario` is missing", "give it as YAML or as a JSON object");
  if (!reads_files) throw UserError("files are not read here", "give `scenario`, or start the server with --directory");
  return OpenScenario::of_file(file, std::move(changes));
}

Reply answer_question(const Question& question, PlainJson arguments, const QuestionRun& run) {
  return guarded([&](Reply& reply) {
    const OpenScenario scenario = scenario_of_arguments(arguments, run.reads_files);
    for (const char* own : {"scenario", "file", "changes"}) arguments.erase(own);
    reply = ask(question, scenario, arguments.dump(), run);
  });
}

Reply answer_built_in(std::string_view name, const PlainJson& arguments) {
  return guarded([&](Reply& reply) {
    for (const auto& [key, value] : arguments.items())
      if (key != "name" || name == "schema")
        throw UserError(fmt::format("`{}` has no argument '{}'", name, shown(key, 40)));
    if (name == "schema") {
      reply.text = scenario_schema(version_text());
      return;
    }
    const std::string wanted = text_argument(arguments, "name");
    reply.text = named_text_json(wanted, name == "list" ? catalogue_text(wanted) : description_of(wanted));
  });
}

}  // namespace

std::span<const ServiceTool> tools() {
  static const std::vector<ServiceTool> made = made_tools();
  return made;
}

const ServiceTool* find_tool(std::string_view name) { return find_by_name(tools(), name); }

OrderedJson arguments_schema(const ServiceTool& tool) {
  if (!tool.question) {
    OrderedJson schema{{"type", "object"}, {"properties", OrderedJson::object()}, {"additionalProperties", false}};
    if (tool.name == "schema") return schema;
    schema["properties"]["name"] = {{"type", "string"}};
    if (tool.name == "describe") schema["required"] = {"name"};
    return schema;
  }
  const OrderedJson options = OrderedJson::parse(options_schema(*tool.question));
  OrderedJson properties;
  OrderedJson forms =
      OrderedJson::array({OrderedJson{{"type", "string"}, {"description", "YAML or JSON"}}, sections_schema()});
  properties["scenario"] = {{"anyOf", std::move(forms)},
                            {"description",
                             "the cluster and what runs on it; the tool `schema` gives all keys. E.g. "
                             "{fabricast: 1, node: {profile: hgx-h100}, cluster: {nodes: 8}, fabric: "
                             "{kind: fat_tree}, workload: {collective: all_reduce, sizes: [1GiB]}}"}};
  properties["file"] = {{"type", "string"},
                        {"description", "instead of `scenario`: a file in the directory that the server may read"}};
  properties["changes"] = {{"type", "array"},
                           {"items", {{"type", "string"}}},
                           {"description", "keys that override the scenario, e.g. cluster.nodes=16"}};
  for (const auto& [name, schema] : options["properties"].items()) properties[name] = schema;
  return {{"type", "object"}, {"properties", std::move(properties)}, {"additionalProperties", false}};
}

OrderedJson answer_schema() {
  return OrderedJson::parse(R"({
    "type": "object",
    "properties": {
      "status": {"type": "integer", "enum": [0, 1, 2, 3, 4, 130],
        "description": "0: answered; 1: answered, and a check has failed; 2: bad input; 3: unavailable; 4: internal error"},
      "answer": {"type": ["object", "string", "null"],
        "description": "the answer as an object, or as a string if a form other than json was requested"},
      "diagnostics": {"type": "array", "items": {"type": "object", "properties": {
        "severity": {"type": "string", "enum": ["error", "warning"]}, "what": {"type": "string"},
        "hint": {"type": "string"}, "file": {"type": "string"}, "line": {"type": "integer"},
        "column": {"type": "integer"}, "key": {"type": "string"}}, "required": ["severity", "what"]}}
    },
    "required": ["status", "answer", "diagnostics"]
  })");
}

OrderedJson structured(const ServiceReply& reply) {
  OrderedJson answer;
  if (reply.answered()) {
    answer = OrderedJson::parse(reply.text, nullptr, false);
    if (!answer.is_object()) answer = reply.text;
  }
  OrderedJson diagnostics = OrderedJson::parse(reply.diagnostics, nullptr, false);
  if (!diagnostics.is_array()) diagnostics = OrderedJson::array();
  return {{"status", static_cast<int>(reply.status)},
          {"answer", std::move(answer)},
          {"diagnostics", std::move(diagnostics)}};
}

WorkPool::Job job_of(const ServiceTool& tool, const PlainJson& arguments) {
  if (!arguments.is_object() && !arguments.is_null())
    return
        [](const QuestionRun&) { return guarded([](Reply&) { throw UserError("the arguments are not an object"); }); };
  PlainJson given = arguments.is_null() ? PlainJson::object() : arguments;
  return [tool, given = std::move(given)](const QuestionRun& run) {
    return tool.question ? answer_question(*tool.question, given, run) : answer_built_in(tool.name, given);
  };
}

void warm_up() {
  (void)shipped_residuals();
  const Scenario scenario = plain_scenario();
  (void)answer_run(build_world(scenario), {}, one_thread);
}

}  // namespace fabricast
