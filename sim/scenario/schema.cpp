// The JSON Schema of scenarios. Some words decide which other keys a section has. They are found by trying: every word
// of every section is assumed in turn, and if the keys then differ, the schema has a branch for each word.
#include "fabricast/scenario/schema.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "fabricast/hardware/device_names.hpp"
#include "fabricast/planner/variables.hpp"
#include "fabricast/scenario/scenario.hpp"
#include "fabricast/scenario/study.hpp"

namespace fabricast {

namespace {

using Json = nlohmann::ordered_json;

/// Keys that the reader requires, by section.
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> required_keys{
    {{"", "fabricast"}, {"", "node"}, {"", "cluster"}, {"", "workload"}, {"jobs[]", "nodes"}}};

/// Keys of elements of lists whose value in the program is no default: the reader requires them, a fault's rate unless
/// its clock is given.
constexpr std::array<std::pair<std::string_view, std::string_view>, 2> without_default{
    {{"faults", "rate"}, {"jobs", "nodes"}}};

// Stands for a default that depends on the node.
constexpr std::string_view varies = "by node";

constexpr std::string_view number_pattern = R"(([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?)";

// The defaults of a kind of node, as the reader fills them in.
Scenario smallest_scenario(const std::string& node) {
  Scenario s =
      parse_scenario("fabricast: 1\nnode: {" + node + "}\ncluster: {nodes: 1}\nworkload: {}\n", "describe").scenario;
  s.node.spec.profile.clear();  // given above; not a default
  return s;
}

Field* part_named(Field& of, std::string_view name) {
  const auto it = std::find_if(of.parts.begin(), of.parts.end(), [&](const Field& part) { return part.name == name; });
  return it == of.parts.end() ? nullptr : &*it;
}

Field fields_with(Scenario scenario, const ChosenWords& chosen) {
  FieldTree tree(chosen);
  visit_fields(tree, scenario);
  Field all = tree.take();
  for (const auto& [list, key] : without_default)
    if (Field* const element = part_named(all, list)) part_named(element->parts.front(), key)->value.clear();
  return all;
}

// Defaults that differ between kinds of nodes are not stated in the schema.
void keep_what_agrees(Field& field, const Field& other) {
  if (field.value != other.value) field.value = varies;
  for (Field& part : field.parts)
    if (const Field* same = other.find(part.name)) keep_what_agrees(part, *same);
}

/// The names of all keys below a field. Two sections with the same keys have the same shape.
std::string shape_of(const Field& field) {
  std::string shape = field.name;
  for (const Field& part : field.parts) shape += "(" + shape_of(part) + ")";
  return shape;
}

// Words true and false are YAML booleans.
Json word_json(const std::string& word) {
  if (word == "true" || word == "false") return word == "true";
  return word;
}

Json default_json(const Field& field) {
  switch (field.type) {
    case FieldType::boolean:
    case FieldType::word: return word_json(field.value);
    case FieldType::integer:
    case FieldType::number:
    case FieldType::ratio: return Json::parse(field.value, nullptr, false);
    default: return field.value;
  }
}

void add_limits(Json& j, const Range& range) {
  const auto number = [](double v) {
    return v == std::floor(v) && std::abs(v) < 0x1p53 ? Json(std::llround(v)) : Json(v);
  };
  if (std::isfinite(range.low)) j["minimum"] = number(range.low);
  if (std::isfinite(range.high)) j["maximum"] = number(range.high);
}

class SchemaMaker {
 public:
  // One sample per named node and per GPU: together they have all defaults that a node can imply.
  SchemaMaker() {
    for (const auto& [name, node] : shipped_hardware().nodes) samples_.push_back(smallest_scenario("profile: " + name));
    for (const auto& [name, gpu] : shipped_hardware().gpus) samples_.push_back(smallest_scenario("gpu: " + name));
  }

  Json make() { return section(common({}), "", {}); }

 private:
  /// The fields for all kinds of nodes. A default is kept if all kinds agree on it.
  Field common(const ChosenWords& chosen) const {
    Field field = fields_with(samples_.front(), chosen);
    for (std::size_t i = 1; i < samples_.size(); ++i) keep_what_agrees(field, fields_with(samples_[i], chosen));
    return field;
  }

  static ChosenWords with(ChosenWords chosen, const std::string& path, const std::string& word) {
    chosen[path] = word;
    return chosen;
  }

  /// Whether the keys of the section at `path` depend on its word `name`.
  /// Found by trying, so a new kind of fabric or workload needs no entry here.
  bool decides(const std::string& path, const Field& word, const ChosenWords& chosen) const {
    const std::string at = child_path(path, word.name);
    if (word.type != FieldType::word || chosen.contains(at)) return false;
    std::string first;
    for (const std::string& w : word.words) {
      const Field tree = fields_with(samples_.front(), with(chosen, at, w));
      const std::string shape = shape_of(*tree.find(path));
      if (!first.empty() && shape != first) return true;
      first = shape;
    }
    return false;
  }

  Json section(const Field& here, const std::string& path, const ChosenWords& chosen) const {
    const auto word = std::find_if(here.parts.begin(), here.parts.end(),
                                   [&](const Field& part) { return decides(path, part, chosen); });
    return word == here.parts.end() ? closed(here, path, chosen) : branches(*word, path, chosen);
  }

  /// A section with these keys and no others.
  Json closed(const Field& here, const std::string& path, const ChosenWords& chosen) const {
    Json j = {{"type", "object"}, {"properties", Json::object()}, {"additionalProperties", false}};
    for (const Field& part : here.parts) {
      const std::string at = child_path(path, part.name);
      // The word that selects this branch is described next to the branches.
      j["properties"][part.name] = chosen.contains(at) ? Json(true) : described(part, at, chosen);
    }
    for (const auto& [section, key] : required_keys)
      if (section == path) j["required"].push_back(key);
    // What the reader checks across keys, as far as a schema can express it.
    if (path == "faults[]") {
      // One part is named, and what is wrong with it.
      Json part = Json::array(), wrong = Json::array();
      for (const char* key : {"link", "host", "gpu", "nic"}) part.push_back({{"required", {key}}});
      for (const char* key : {"rate", "clock"}) wrong.push_back({{"required", {key}}});
      j["allOf"] = {{{"anyOf", std::move(part)}}, {{"anyOf", std::move(wrong)}}};
    }
    return j;
  }

  /// A section with a set of keys for each word.
  Json branches(const Field& word, const std::string& path, const ChosenWords& chosen) const {
    const std::string at = child_path(path, word.name);
    Json j = {{"type", "object"}, {"properties", {{word.name, described(word, at, chosen)}}}, {"allOf", Json::array()}};
    // Without the word, the default's keys apply; if the default depends on the node, the keys of all branches do.
    Json any = Json::object();
    for (const std::string& w : word.words) {
      const ChosenWords assumed = with(chosen, at, w);
      const Field tree = common(assumed);
      Json then = section(*tree.find(path), path, assumed);
      if (w == word.value) any = then;
      if (word.value == varies)
        for (const auto& [key, schema] : then["properties"].items())
          if (!any["properties"].contains(key)) any["properties"][key] = schema;
      j["allOf"].push_back(
          {{"if", {{"properties", {{word.name, {{"const", word_json(w)}}}}}, {"required", {word.name}}}},
           {"then", std::move(then)}});
    }
    if (word.value == varies) any["additionalProperties"] = false;
    j["allOf"].push_back({{"if", {{"not", {{"required", {word.name}}}}}}, {"then", std::move(any)}});
    return j;
  }

  Json described(const Field& field, const std::string& path, const ChosenWords& chosen) const {
    Json j = Json::object();
    std::string text = field.doc;
    const bool quantity = !units_of(field.type).empty();
    if (const std::string limits = limits_text(field.type, field.range); quantity && !limits.empty())
      text += (text.empty() ? "" : "; ") + limits;
    const bool single =
        field.type != FieldType::section && field.type != FieldType::list && field.type != FieldType::map;
    if (single && field.value == varies) text += (text.empty() ? "" : "; ") + std::string("default: by node");
    if (!text.empty()) j["description"] = text;
    j.update(shape(field, path, chosen));
    if (single && field.value != varies && !field.value.empty() && !field.name.empty())
      j["default"] = default_json(field);
    return j;
  }

  Json shape(const Field& field, const std::string& path, const ChosenWords& chosen) const {
    switch (field.type) {
      case FieldType::section: return section(field, path, chosen);
      case FieldType::list: return {{"type", "array"}, {"items", described(field.parts.front(), path + "[]", chosen)}};
      case FieldType::map: return map_shape(path);
      case FieldType::word: return word_shape(field);
      case FieldType::boolean: return {{"type", "boolean"}};
      case FieldType::text: return text_shape(field, path);
      default: return number_shape(field);
    }
  }

  static Json percent() {
    return {{"type", {"number", "string"}}, {"pattern", fmt::format("^{} *%$", number_pattern)}};
  }

  static Json number_shape(const Field& field) {
    Json j;
    if (field.type == FieldType::integer || field.type == FieldType::number) {
      j["type"] = name_of(field.type);
      if (field.range.proportion)
        j = {{"type", {"number", "string"}}, {"pattern", fmt::format("^{0} *: *{0}$", number_pattern)}};
      else if (field.type == FieldType::number && field.range.fraction())
        j = percent();
      add_limits(j, field.range);
    } else if (field.type == FieldType::ratio) {
      j = percent();
      add_limits(j, field.range);
    } else {
      // A quantity is text: number and unit, as in parse_bytes and its relatives.
      std::string units;
      for (const std::string_view unit : accepted_units_of(field.type))
        units += (units.empty() ? "" : "|") + std::string(unit);
      j = {{"type", "string"}, {"pattern", fmt::format("^{} *({})$", number_pattern, units)}};
    }
    return j;
  }

  static Json word_shape(const Field& field) {
    Json words = Json::array();
    for (const std::string& w : field.words) words.push_back(word_json(w));
    Json j = {{"enum", std::move(words)}};
    // A list of hosts is a short form of the word `list` and the key `order`.
    if (field.name == "placement" && std::find(field.words.begin(), field.words.end(), "list") != field.words.end())
      return {{"anyOf", {std::move(j), {{"type", "array"}, {"items", {{"type", "integer"}, {"minimum", 0}}}}}}};
    return j;
  }

  static Json text_shape(const Field& field, const std::string& path) {
    std::vector<std::string> names = names_for(path);
    // YAML parses `2.28` as a number; the reader uses its text.
    if (names.empty()) return {{"type", {"string", "number", "boolean"}}};
    if (field.value.empty()) names.emplace_back();
    const std::vector<std::string> others = other_names_for(path);
    names.insert(names.end(), others.begin(), others.end());
    if (path == "node.profile") return {{"type", "string"}, {"anyOf", {{{"enum", names}}, {{"pattern", "\\.json$"}}}}};
    return {{"enum", names}};
  }

  /// Other names in the spelling of the data. The reader accepts more spellings.
  static std::vector<std::string> other_names_for(const std::string& path) {
    if (path == "node.gpu") return other_gpu_names(shipped_hardware());
    if (path == "node.profile") return other_node_names(shipped_hardware());
    return {};
  }

  // Variables of NCCL that are not known are allowed if they look like one: new versions add some.
  static Json map_shape(const std::string& path) {
    const Json text = {{"type", {"string", "number", "boolean"}}};
    Json j = {{"type", "object"}};
    if (path != "nccl.env") return j["additionalProperties"] = text, j;
    for (const NcclVariable& v : nccl_variables()) {
      j["properties"][std::string(v.name)] = {{"description", fmt::format("{}; accepts {}", v.summary, v.accepts)}};
      j["properties"][std::string(v.name)].update(text);
    }
    j["patternProperties"] = {{"^NCCL_", text}};
    j["additionalProperties"] = false;
    return j;
  }

  std::vector<Scenario> samples_;
};

/// The sections of a study: `sweep`, whose axes are keys or named bundles, and `objective`.
void add_study(Json& properties) {
  const Json axis = {
      {"description",
       "a list of values; a range {from, to, factor or step}; or named values, each with the keys that it sets"},
      {"type", {"array", "object"}}};
  Json sweep = {{"description", "axes that `fabricast plan` varies, in all combinations"}, {"type", "object"}};
  for (const ScenarioKey& key : scenario_keys()) sweep["properties"][key.path] = axis;
  // Bundles have names of their own, so any key is allowed.
  sweep["additionalProperties"] = axis;
  properties["sweep"] = std::move(sweep);
  ObjectiveSpec spec;
  FieldTree fields;
  visit_fields(fields, spec);
  Json objective = {{"description", "goal and conditions for the configurations of a sweep"}, {"type", "object"}};
  for (const Field& field : fields.take().parts) {
    Json part = {{"description", field.doc}, {"type", "string"}};
    // A single text is a short form of a list.
    if (field.type == FieldType::list) {
      part["type"] = {"string", "array"};
      part["items"] = {{"type", "string"}};
    }
    objective["properties"][field.name] = std::move(part);
  }
  objective["additionalProperties"] = false;
  properties["objective"] = std::move(objective);
}

template <class Table>
void add_names(std::vector<std::string>& names, const Table& map) {
  for (const auto& [name, item] : map) names.emplace_back(name);
}

}  // namespace

Field scenario_fields(const ChosenWords& chosen) {
  static const Scenario usual = smallest_scenario("");
  return fields_with(usual, chosen);
}

std::vector<std::string> names_for(std::string_view path) {
  const Hardware& hardware = shipped_hardware();
  std::vector<std::string> names;
  // Elements of `jobs` have a workload of their own.
  const auto is = [&](std::string_view key) { return path == key || path.ends_with("." + std::string(key)); };
  if (is("node.gpu")) add_names(names, hardware.gpus);
  if (is("node.profile")) add_names(names, hardware.nodes);
  if (is("workload.stack")) {
    add_names(names, hardware.stacks);
    add_names(names, hardware.serving);
  }
  if (is("workload.model.preset"))
    for (const ModelPreset& preset : model_presets()) names.emplace_back(preset.name);
  return names;
}

// Keys of the usual scenario, and those that appear if a single word is another. Elements of lists are left out: they
// have no path that `--set` or an axis could name.
std::vector<ScenarioKey> scenario_keys() {
  std::vector<ScenarioKey> keys;
  const auto add = [&](const Field& tree) {
    for (const auto& [path, field] : leaves(tree)) {
      const auto same = [&, &path = path](const ScenarioKey& key) { return key.path == path; };
      if (path.find('[') != std::string::npos || std::any_of(keys.begin(), keys.end(), same)) continue;
      std::vector<std::string> words = field->words.empty() ? names_for(path) : field->words;
      if (field->type == FieldType::boolean) words = {"true", "false"};
      keys.push_back({path, std::move(words)});
    }
  };
  const Field usual = scenario_fields();
  add(usual);
  for (const auto& [path, field] : leaves(usual))
    for (const std::string& word : field->words)
      if (path.find('[') == std::string::npos) add(scenario_fields({{path, word}}));
  std::sort(keys.begin(), keys.end(), [](const ScenarioKey& a, const ScenarioKey& b) { return a.path < b.path; });
  return keys;
}

std::string scenario_schema(std::string_view version) {
  Json j = {{"$schema", "http://json-schema.org/draft-07/schema#"},
            {"title", "Fabricast scenario"},
            {"description", fmt::format("A scenario of fabricast {}", version)}};
  j.update(SchemaMaker().make());
  add_study(j["properties"]);
  return j.dump(1) + "\n";
}

}  // namespace fabricast
