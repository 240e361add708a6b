// Reads the data files of this layer: model presets and parameters of the memory model.
//
// Both files are part of the binary, so an invalid entry is an internal error. A preset states where its dimensions are
// from, and the published number of parameters with a tolerance, against which a test compares the count.
#include <fmt/format.h>

#include "embedded_models.hpp"
#include "fabricast/core/error.hpp"
#include "fabricast/workload/memory.hpp"
#include "model_parts.hpp"
#include "models/hardware/json_text.hpp"

namespace fabricast {

namespace {

using nlohmann::json;

/// Reads the fields that a JSON object has, and leaves the others.
class JsonFields : public FieldVisitor {
 public:
  explicit JsonFields(const json& j) : j_(j) {}

  void scalar(const FieldInfo& info, ScalarRef value) override {
    const auto it = j_.find(info.name);
    if (it == j_.end()) return;
    // Counted, so that a misspelled key in the data is noticed.
    ++found_;
    std::visit(
        [&](auto& target) {
          using T = std::decay_t<decltype(target)>;
          if constexpr (std::is_same_v<T, bool*> || std::is_same_v<T, int*> || std::is_same_v<T, std::int64_t*> ||
                        std::is_same_v<T, double*>)
            it->get_to(*target);
          else if constexpr (std::is_same_v<T, WordRef>)
            target.set(target.target, it->template get<bool>() ? std::size_t{1} : std::size_t{2});
          else
            throw InternalError(fmt::format("models.json: {} has a type that is not supported", info.name));
        },
        value);
  }
  bool enter(const FieldInfo&) override { return false; }
  void leave() override {}
  std::size_t enter_list(const FieldInfo&, std::size_t size) override { return size; }
  void string_map(const FieldInfo&, std::map<std::string, std::string>&) override {}
  std::size_t found() const { return found_; }

 private:
  const json& j_;
  std::size_t found_ = 0;
};

/// An entry with the members that it inherits from the entry it is `like`.
json with_base(const json& all, const std::string& name) {
  json j = all.at(name);
  if (!j.contains("like")) return j;
  json base = with_base(all, j.at("like").get<std::string>());
  j.erase("like");
  base.update(j);
  return base;
}

ModelPreset read_preset(json j, const std::string& name) {
  ModelPreset p;
  p.name = name;
  const auto take = [&](const char* key, auto& target) {
    j.at(key).get_to(target);
    j.erase(key);
  };
  take("summary", p.summary);
  take("source", p.source);
  take("parameters", p.parameters);
  take("tolerance", p.tolerance);
  if (j.contains("active")) {
    take("active", p.active);
    take("active_tolerance", p.active_tolerance);
  }
  const auto take_format = [&](const char* key, std::optional<NumberFormat>& target) {
    if (!j.contains(key)) return;
    std::string word;
    take(key, word);
    target = enum_from<NumberFormat>(word);
    if (!target) throw InternalError(fmt::format("models.json: {} has no format '{}'", name, word));
  };
  take_format("checkpoint", p.checkpoint);
  take_format("expert_checkpoint", p.expert_checkpoint);
  JsonFields fields(j);
  Gated gated = Gated::automatic;
  visit_dimensions(fields, p.dimensions, gated);
  if (fields.found() != j.size()) throw InternalError("models.json: " + name + " has a key that is not a dimension");
  if (gated == Gated::automatic) throw InternalError("models.json: " + name + " does not state whether it is gated");
  p.dimensions.gated = gated == Gated::on;
  return p;
}

}  // namespace

const std::vector<ModelPreset>& model_presets() {
  static const std::vector<ModelPreset> presets = [] {
    std::vector<ModelPreset> list;
    const json all = json::parse(embedded_models("models.json"));
    for (const auto& [name, entry] : all.items()) list.push_back(read_preset(with_base(all, name), name));
    return list;
  }();
  return presets;
}

const MemoryModel& shipped_memory_model() {
  static const MemoryModel model = [] {
    MemoryModel m;
    const json all = json::parse(embedded_models("memory.json"));
    for (const ParameterRef& ref : parameters(m)) {
      const json& j = all.at(std::string(ref.name));
      Parameter& p = *ref.parameter;
      j.at("value").get_to(p.value);
      j.at("low").get_to(p.low);
      j.at("high").get_to(p.high);
      j.at("source").get_to(p.source);
    }
    return m;
  }();
  return model;
}

}  // namespace fabricast
