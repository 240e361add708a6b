// Reads hardware from JSON: the data files, and profiles that override them.
//
// Three layers: priors in the data files of each section, the shipped fits on top (fitted*.json), and a user's profile
// on top of both. All three have the same form, so overlay_profile reads fits and profiles alike. Invalid shipped data
// is an internal error; invalid profiles are errors of the user, with the position of each.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "embedded_data.hpp"
#include "fabricast/core/error.hpp"
#include "fabricast/core/names.hpp"
#include "fabricast/core/quantity.hpp"
#include "fabricast/hardware/hardware.hpp"
#include "json_devices.hpp"
#include "json_text.hpp"

namespace fabricast {

namespace {

using nlohmann::json;

Parameter read_parameter(const json& j, const std::string& path) {
  if (!j.is_object() || !j.contains("value"))
    throw std::invalid_argument(path + ": is not a parameter {value, low, high, source}");
  Parameter p;
  p.value = j.at("value").get<double>();
  // Without an interval a value is exact.
  p.low = j.value("low", p.value);
  p.high = j.value("high", p.value);
  p.source = j.value("source", std::string());
  // Profiles of versions before 0.2 call samples `draws`.
  p.samples = j.value("samples", j.value("draws", std::vector<double>()));
  if (!std::isfinite(p.value) || p.value < 0)
    throw std::invalid_argument(path + ": 'value' must be a non-negative number");
  if (!(p.low <= p.value && p.value <= p.high))
    throw std::invalid_argument(path + ": 'low' <= 'value' <= 'high' does not hold");
  if (std::any_of(p.samples.begin(), p.samples.end(), [](double x) { return !(std::isfinite(x) && x >= 0); }))
    throw std::invalid_argument(path + ": 'samples' must be non-negative numbers");
  return p;
}

void read_parameters(const json& j, const std::vector<ParameterRef>& list, const std::string& path) {
  // A set that is `like` another states only what differs. Without `like`, a missing parameter is an error.
  const bool inherits = j.contains("like");
  for (const ParameterRef& ref : list) {
    const std::string name(ref.name);
    if (inherits && !j.contains(name))
      ref.parameter->inherited = true;
    else
      *ref.parameter = read_parameter(j.at(name), path + "." + name);
  }
}

template <class Map>
void read_sets(const json& file, Map& map, const std::string& section) {
  for (const auto& [name, j] : file.items()) {
    auto& item = map[name];
    item.summary = j.at("summary").template get<std::string>();
    read_parameters(j, parameters(item), section + "." + name);
  }
}

template <class Map>
// After all sets have been read, since a set may be like one that follows it.
void read_likes(const json& file, Map& map) {
  for (auto& [name, item] : map) {
    item.like = file.at(name).value("like", std::string());
    if (!item.like.empty() && !map.contains(item.like)) bad_data(name + ": like " + item.like);
  }
}

// Facts of a stack are read one by one, its parameters by their list.
void read_stacks(const json& file, std::map<std::string, Stack, std::less<>>& stacks) {
  for (const auto& [name, j] : file.items()) {
    Stack& s = stacks[name];
    s.name = name;
    s.summary = j.at("summary");
    s.source = j.at("source");
    s.year = j.at("year");
    const auto framework = enum_from<Framework>(j.at("framework").get<std::string>());
    if (!framework) bad_data(name + ": framework");
    s.framework = *framework;
    s.fused_attention = j.at("fused_attention");
    s.measured_experts = j.value("measured_experts", false);
    s.fused_accumulation = j.at("fused_accumulation");
    s.fused_loss = j.value("fused_loss", false);
    s.flash_2 = j.value("flash_2", false);
    s.grouped_experts = j.value("grouped_experts", false);
    s.all_reduces_gradients = j.value("all_reduces_gradients", false);
    s.owns_tensors = j.value("owns_tensors", false);
    s.gathers_cast = j.value("gathers_cast", false);
    s.reorders_parts = j.value("reorders_parts", false);
    s.gathers_normed_heads = j.value("gathers_normed_heads", false);
    s.superseded = j.value("superseded", false);
    s.plans_memory = j.value("plans_memory", false);
    s.ends_recompute_early = j.value("ends_recompute_early", false);
    s.current_scaling = j.value("current_scaling", false);
    s.hides_tensor_backward = j.at("hides_tensor_backward");
    s.compiled = j.at("compiled");
    s.overlaps_data = j.at("overlaps_data");
    s.overlaps_tensor = j.at("overlaps_tensor");
    s.overlaps_pipeline = j.at("overlaps_pipeline");
    s.zero = j.at("zero");
    s.bucket = j.at("bucket");
    s.gradient_bytes = j.at("gradient_bytes");
    s.outside = j.at("outside");
    s.attention = j.at("attention");
    s.ffn = j.at("ffn");
    s.gated_ffn = j.at("gated_ffn");
    s.logit = j.at("logit");
    read_parameters(j, parameters(s), "stacks." + name);
  }
}

void read_serving(const json& file, std::map<std::string, ServingStack, std::less<>>& serving) {
  for (const auto& [name, j] : file.items()) {
    ServingStack& s = serving[name];
    s.name = name;
    s.summary = j.at("summary");
    s.source = j.at("source");
    s.year = j.at("year");
    const auto framework = enum_from<Framework>(j.at("framework").get<std::string>());
    if (!framework) bad_data(name + ": framework");
    s.framework = *framework;
    s.tokens = j.at("tokens");
    s.mixed = j.at("mixed");
    s.chunked = j.at("chunked");
    s.reserves = j.at("reserves");
    s.memory_of_free = j.at("memory_of_free");
    s.own_all_reduce = j.at("own_all_reduce");
    s.merges = j.at("merges");
    s.divides_tokens = j.at("divides_tokens");
    const auto library = enum_from<KvLibrary>(j.at("kv_library").get<std::string>());
    const auto stream = enum_from<KvStream>(j.at("kv_stream").get<std::string>());
    if (!library || !stream) bad_data(name + ": kv_library, kv_stream");
    s.kv_library = *library;
    s.kv_stream = *stream;
    s.kv_block = j.at("kv_block");
    s.attention_kernels = j.at("attention_kernels");
    s.latent_kernels = j.at("latent_kernels");
    s.ffn_kernels = j.at("ffn_kernels");
    s.expert_kernels = j.at("expert_kernels");
    s.cast_kernels = j.at("cast_kernels");
    s.sampling_kernels = j.at("sampling_kernels");
    s.outside = j.at("outside");
    s.attention = j.at("attention");
    s.ffn = j.at("ffn");
    s.gated_ffn = j.at("gated_ffn");
    s.cast = j.at("cast");
    s.logit = j.at("logit");
    read_parameters(j, parameters(s), "serving." + name);
  }
}

Hardware read_prior() {
  // The order matters for checks: GPUs refer to architectures and compute models, nodes to GPUs.
  Hardware h;
  const auto file = [](std::string_view name) { return json::parse(embedded_data(name)); };
  read_sets(file("architectures.json"), h.architectures, "architectures");
  read_likes(file("architectures.json"), h.architectures);
  read_sets(file("networks.json"), h.networks, "networks");
  read_likes(file("networks.json"), h.networks);
  read_sets(file("compute.json"), h.compute, "compute");
  read_likes(file("compute.json"), h.compute);
  read_sets(file("pcie_paths.json"), h.pcie_paths, "pcie_paths");
  read_parameters(file("software.json"), parameters(h.software), "software");
  read_parameters(file("forecast.json").at("spread"), parameters(h.spread), "forecast.spread");
  read_parameters(file("forecast.json").at("steps"), parameters(h.step_spread), "forecast.steps");
  read_parameters(file("forecast.json").at("serving"), parameters(h.serving_spread), "forecast.serving");
  read_stacks(file("stacks.json"), h.stacks);
  read_likes(file("stacks.json"), h.stacks);
  read_serving(file("serving.json"), h.serving);
  read_likes(file("serving.json"), h.serving);
  const json links = file("links.json");
  for (const auto& [name, j] : links.items())
    h.links[name] = {link_kind_of_json(j.at("kind")),
                     j.at("generation").get<std::string>(),
                     rate_of_json(j.at("rate")),
                     read_parameter(j.at("efficiency"), name + ".efficiency"),
                     read_parameter(j.at("latency"), name + ".latency"),
                     j.at("source").get<std::string>()};
  read_gpus(file("gpus.json"), h);
  read_nodes(file("nodes.json"), h);
  read_other_accelerators(file("other_accelerators.json"), h);
  return h;
}

}  // namespace

const Hardware& prior_hardware() {
  static const Hardware hardware = [] {
    try {
      return read_prior();
    } catch (const std::exception& e) { bad_data(e.what()); }
  }();
  return hardware;
}

// A static initializer runs once and is safe with several threads; so does that of the priors.
const Hardware& shipped_hardware() {
  static const Hardware hardware = [] {
    Hardware h = prior_hardware();
    try {
      for (const char* file : {"fitted.json", "fitted_steps.json", "fitted_serving.json"})
        overlay_profile(h, std::string(embedded_data(file)), file);
    } catch (const std::exception& e) { bad_data(e.what()); }
    return h;
  }();
  return hardware;
}

void overlay_profile(Hardware& hardware, const std::string& text, const std::string& file) {
  std::vector<Diagnostic> faults;
  const auto refuse = [&](std::string_view path, std::string message, std::string hint = {}) {
    faults.push_back({Diagnostic::Severity::error, key_place(file, text, path), std::string(path), std::move(message),
                      std::move(hint)});
  };
  const json j = parse_json_text(text, file);
  if (!j.is_object())
    throw UserError({Diagnostic{
        Diagnostic::Severity::error, {file, 1, 1, 1}, {}, "a profile must be a JSON object of sections", {}}});
  // Inherited parameters can be set, too: they then belong to the set that the profile names.
  auto known = hardware.all_parameters(true);
  constexpr std::array<std::string_view, 9> sections = {"architectures", "compute", "forecast", "links", "networks",
                                                        "pcie_paths",    "serving", "software", "stacks"};
  const auto read = [&](const std::string& path, const json& value) {
    const auto it = std::find_if(known.begin(), known.end(), [&](const auto& k) { return k.first == path; });
    if (it == known.end()) {
      std::vector<std::string_view> names;
      for (const auto& [name, ref] : known) names.push_back(name);
      const auto near = nearest(path, names);
      refuse(path, "no such parameter",
             near ? fmt::format("did you mean '{}'?", *near) : "`fabricast list parameters` shows the names");
      return;
    }
    constexpr std::array<std::string_view, 6> keys = {"value", "low", "high", "source", "samples", "draws"};
    if (value.is_object())
      for (const auto& [key, part] : value.items())
        if (std::find(keys.begin(), keys.end(), key) == keys.end())
          return refuse(path, fmt::format("unknown key '{}'", key), suggestion(key, keys));
    try {
      *it->second.parameter = read_parameter(value, path);
      // Rates and efficiencies are divisors.
      const std::string_view name = it->second.name;
      if (it->second.parameter->value == 0 && (it->second.unit == "GB/s" || name.ends_with("efficiency")))
        refuse(path, "must be above 0");
      if (it->second.share && !(it->second.parameter->value > 0 && it->second.parameter->value <= 1))
        refuse(path, "must be above 0 and at most 1");
    } catch (const std::exception& e) {
      std::string what = e.what();
      // Messages of read_parameter begin with the path, which the diagnostic states anyway.
      if (what.starts_with(path + ": "))
        what = what.substr(path.size() + 2);
      else
        what = "is not a parameter {value, low, high, source}";
      refuse(path, what);
    }
  };
  for (const auto& [section, body] : j.items()) {
    // Which version wrote the file, and texts for lists.
    if (section == "fabricast" || section == "name" || section == "summary") continue;
    if (section == "measured") continue;  // rows of the fit, which forecasts condition on
    if (std::find(sections.begin(), sections.end(), section) == sections.end()) {
      refuse(section, "unknown section", suggestion(section, sections));
      continue;
    }
    if (!body.is_object()) {
      refuse(section, "must be an object of parameters");
      continue;
    }
    if (section == "software") {
      for (const auto& [name, value] : body.items()) read("software." + name, value);
      continue;
    }
    for (const auto& [name, set] : body.items()) {
      if (!set.is_object()) {
        refuse(section + "." + name, "must be an object of parameters");
        continue;
      }
      for (const auto& [key, value] : set.items()) read(section + "." + name + "." + key, value);
    }
  }
  if (!faults.empty()) throw UserError(std::move(faults));
}

}  // namespace fabricast
