// Writes the effective scenario: every key with its value, as JSON and as YAML that reads back as the same scenario
// (effective.hpp). What-ifs rely on this: they parse the effective text with a change.
#include <fmt/format.h>

#include <filesystem>

#include "effective.hpp"
#include "fabricast/core/quantity.hpp"
#include "fabricast/scenario/allocation.hpp"

namespace fabricast {

namespace {

using Json = nlohmann::ordered_json;

// The fields are visited as for reading, and values go into a tree.
class JsonWriter final : public FieldVisitor {
 public:
  JsonWriter() { stack_.push_back(Json::object()); }

  void scalar(const FieldInfo& info, ScalarRef value) override {
    put(info.name, std::visit(
                       [](auto ref) -> Json {
                         using T = decltype(ref);
                         if constexpr (std::is_same_v<T, WordRef>) {
                           const std::string_view word = ref.words[ref.get(ref.target)];
                           if (word == "true" || word == "false") return word == "true";
                           return std::string(word);
                         } else if constexpr (std::is_same_v<T, Ratio*>) {
                           return ref->value;
                         } else if constexpr (std::is_same_v<T, Bytes*> || std::is_same_v<T, Seconds*> ||
                                              std::is_same_v<T, BytesPerSecond*> || std::is_same_v<T, Metres*> ||
                                              std::is_same_v<T, Watts*>) {
                           // Quantities as texts with units, since keys have none in their names.
                           return to_text(*ref);
                         } else {
                           return *ref;
                         }
                       },
                       value));
  }
  bool enter(const FieldInfo& info) override {
    names_.emplace_back(info.name);
    stack_.push_back(Json::object());
    return true;
  }
  void leave() override {
    Json done = std::move(stack_.back());
    stack_.pop_back();
    const std::string name = std::move(names_.back());
    names_.pop_back();
    put(name, std::move(done));
  }
  std::size_t enter_list(const FieldInfo& info, std::size_t size) override {
    names_.emplace_back(info.name);
    stack_.push_back(Json::array());
    return size;
  }
  void string_map(const FieldInfo& info, std::map<std::string, std::string>& map) override {
    Json j = Json::object();
    for (const auto& [key, value] : map) j[key] = value;
    put(info.name, std::move(j));
  }
  Json take() { return std::move(stack_.back()); }

 private:
  void put(std::string_view name, Json value) {
    if (stack_.back().is_array())
      stack_.back().push_back(std::move(value));
    else
      stack_.back()[std::string(name)] = std::move(value);
  }
  std::vector<Json> stack_;
  std::vector<std::string> names_;
};

void write_yaml(const Json& j, int indent, std::string& out) {
  const auto scalar = [](const Json& v) -> std::string {
    if (!v.is_string()) return v.dump();
    const std::string text = v.get<std::string>();
    // Quoted if YAML would parse it as anything but this text.
    // Conservative: quoting what needs no quotes does no harm. Texts of digits only are quoted, or `2.10` would be the
    // number 2.1 to other tools.
    const bool plain = !text.empty() && text.find_first_of(":#{}[],&*?|-<>=!%@`~'\"\\ \n\t") == std::string::npos &&
                       text.find_first_not_of("0123456789.") != std::string::npos && text != "true" &&
                       text != "false" && text != "null" && text != "Null" && text != "NULL";
    return plain ? text : v.dump();
  };
  for (const auto& [key, value] : j.items()) {
    out += fmt::format("{:{}}{}:", "", indent, key);
    const bool map_list = value.is_array() && !value.empty() && value.front().is_object();
    if (value.is_object() && !value.empty()) {
      out += "\n";
      write_yaml(value, indent + 2, out);
    } else if (map_list) {
      out += "\n";
      for (const Json& item : value) {
        std::string body;
        write_yaml(item, indent + 4, body);
        // The dash replaces a blank of the first key's indentation.
        body[static_cast<std::size_t>(indent) + 2] = '-';
        out += body;
      }
    } else if (value.is_array()) {
      out += " [";
      for (std::size_t i = 0; i < value.size(); ++i) out += (i ? ", " : "") + scalar(value[i]);
      out += "]\n";
    } else {
      out += value.is_object() ? " {}\n" : " " + scalar(value) + "\n";
    }
  }
}

/// Removes keys that are not given, because their empty values would not read back.
void trim(Json& flows, const BackgroundSpec& spec) {
  if (spec.job.empty()) flows.erase("job");
  if (spec.hosts.empty()) flows.erase("hosts");
  if (spec.rate.value == 0) flows.erase("rate");
  if (spec.total.value == 0) flows.erase("total");
  if (spec.traffic_class.empty()) flows.erase("class");
}

}  // namespace

nlohmann::ordered_json effective_json(const Scenario& scenario) {
  Scenario copy = scenario;
  copy.cluster.size = hosts_on_fabric(scenario);
  JsonWriter writer;
  visit_fields(writer, copy);
  Json j = writer.take();
  // Keys that do not apply are left out, because the reader would reject them.
  Json& workload = j["workload"];
  if (!scenario.workload.sizes.empty()) {
    workload.erase("from");
    workload.erase("to");
    workload.erase("factor");
  } else
    workload.erase("sizes");
  if (scenario.cluster.placement != Placement::list || !scenario.cluster.hosts.empty()) j["cluster"].erase("order");
  j["cluster"].erase(scenario.cluster.hosts.empty() ? "hosts" : "placement");
  if (scenario.cluster.taken.empty()) j["cluster"].erase("taken");
  if (scenario.cluster.filled.value == 0) {
    j["cluster"].erase("filled");
    j["cluster"].erase("filled_seed");
  }
  if (scenario.fabric.congestion.classes.empty()) j["fabric"]["congestion"].erase("classes");
  if (scenario.fabric.congestion.control != CongestionControl::dcqcn) j["fabric"]["congestion"].erase("dcqcn");
  if (is_default(scenario.fabric.congestion)) j["fabric"].erase("congestion");
  // What-ifs set another policy, which does not know the key.
  if (j.contains("routing") && j["routing"].value("by", "") == "packet") j["routing"].erase("by");
  if (scenario.faults.empty()) j.erase("faults");
  if (scenario.jobs.empty()) j.erase("jobs");
  for (std::size_t i = 0; i < scenario.jobs.size(); ++i) {
    if (scenario.jobs[i].placement != Placement::list) j["jobs"][i].erase("order");
    if (scenario.jobs[i].traffic_class.empty()) j["jobs"][i].erase("class");
  }
  if (scenario.background.empty()) j.erase("background");
  for (std::size_t i = 0; i < scenario.background.size(); ++i) trim(j["background"][i], scenario.background[i]);
  if (scenario.name.empty()) j.erase("name");
  if (scenario.prices.empty()) j.erase("prices");
  Json measured = Json::object();
  for (const auto& [op, values] : j["measured"].items())
    if (!values.empty()) measured[op] = values;
  j["measured"] = measured;
  if (measured.empty()) j.erase("measured");
  if (scenario.node.spec.profile.empty()) j["node"].erase("profile");
  if (scenario.node.spec.topology.empty()) j["node"].erase("topology");
  return j;
}

namespace {

/// `dump(1)` of a value that is a member of the outermost object.
std::string dump_member(const Json& value) {
  const std::string text = Json{{"", value}}.dump(1);
  constexpr std::string_view begin = "{\n \"\": ", end = "\n}";
  return text.substr(begin.size(), text.size() - begin.size() - end.size());
}

// Within a string of JSON a quote has a backslash before it, so these texts are found at keys only.
constexpr std::string_view no_scenario = "\"scenario\": null", no_sizes = "\"sizes\": null";

}  // namespace

std::string EffectiveText::of(const Scenario& scenario) {
  if (scenario.workload.kind != WorkloadKind::collective || scenario.workload.sizes.empty())
    return dump_member(effective_json(scenario));
  std::call_once(written_, [&] {
    Json j = effective_json(scenario);
    j["workload"]["sizes"] = nullptr;
    const std::string text = dump_member(j);
    const std::size_t at = text.find(no_sizes) + no_sizes.size() - std::string_view("null").size();
    before_ = text.substr(0, at);
    after_ = text.substr(at + std::string_view("null").size());
  });
  std::string text = before_;
  for (std::size_t i = 0; i < scenario.workload.sizes.size(); ++i)
    text += fmt::format("{}\n    \"{}\"", i == 0 ? "[" : ",", to_text(scenario.workload.sizes[i]));
  return text + "\n   ]" + after_;
}

std::string dump_with_scenario(const nlohmann::ordered_json& j, const World& world) {
  std::string text = j.dump(1);
  const std::size_t at = text.find(no_scenario) + no_scenario.size() - std::string_view("null").size();
  return text.replace(at, std::string_view("null").size(), world.effective()->of(world.scenario()));
}

std::string to_yaml(const Scenario& scenario) {
  // The text may be written to any directory, so paths are made absolute.
  const auto from_root = [](const std::filesystem::path& path) {
    return std::filesystem::absolute(path).lexically_normal().string();
  };
  Json j = effective_json(scenario);
  if (j["fabric"].contains("path")) j["fabric"]["path"] = from_root(j["fabric"]["path"].get<std::string>());
  if (j["routing"].contains("path")) j["routing"]["path"] = from_root(j["routing"]["path"].get<std::string>());
  const std::filesystem::path folder = std::filesystem::path(scenario.file).parent_path();
  if (const std::string& profile = scenario.node.spec.profile; profile.ends_with(".json"))
    j["node"]["profile"] = from_root(folder / profile);
  if (const std::string& topology = scenario.node.spec.topology; !topology.empty())
    j["node"]["topology"] = from_root(folder / topology);
  if (!scenario.prices.empty()) j["prices"] = from_root(folder / scenario.prices);
  for (const char* name : {"NCCL_TOPO_FILE", "NCCL_GRAPH_FILE"})
    if (const auto it = scenario.nccl.env.find(name); it != scenario.nccl.env.end())
      j["nccl"]["env"][name] = from_root(folder / it->second);
  const auto move_path = [&](Json& section, const char* key, const std::filesystem::path& from) {
    if (!section.contains(key) || section[key].get<std::string>().empty()) return;
    section[key] = from_root(from / section[key].get<std::string>());
  };
  move_path(j, "profile", folder);
  Json& workload = j["workload"];
  if (workload.contains("model")) move_path(workload["model"], "config", folder);
  // The reader has already put these behind the scenario's folder.
  if (workload.contains("load")) move_path(workload["load"], "file", {});
  if (workload.contains("trace"))
    for (const char* key : {"path", "file", "groups"}) move_path(workload["trace"], key, {});
  std::string text;
  write_yaml(j, 0, text);
  return text;
}

}  // namespace fabricast
