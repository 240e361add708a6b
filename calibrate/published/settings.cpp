// Settings in the remarks of a row: what a scenario says of them, what it cannot, and what there is no forecast without.
#include <array>

#include "parts.hpp"

namespace fabricast::published {

namespace {

/// Words of a remark, and the setting that they are.
struct Setting {
  std::string_view words, name;
};

/// The forecast is of the software's usual setting.
constexpr std::array<Setting, 9> unsaid{{
    {"disp=hybridep", "dispatcher of tokens: HybridEP"},
    {"flex/HybridEP", "dispatcher of tokens: HybridEP"},
    {"; HybridEP", "dispatcher of tokens: HybridEP"},
    {"disp=deepep", "dispatcher of tokens: DeepEP"},
    {"DeepEP", "dispatcher of tokens: DeepEP"},
    {"cg=transformer_engine", "CUDA graphs"},
    {"TE graphs", "CUDA graphs"},
    {"permute fusion off", "permutation of tokens not fused"},
    {"delay_wgrad", "weight gradients delayed behind the tokens' return"},
}};

/// There is no forecast without it.
constexpr std::array<Setting, 2> needed{{
    {"natural routing", "workload.experts.imbalance: what routing gave is not stated"},
    {"offload_layers=", "workload.offload: activations of layers to host memory"},
}};

void say_overlap(Json& workload, const Note& note) {
  Json overlap = Json::object();
  if (note.says("no DP overlap")) overlap["data"] = false;
  if (note.says("DP overlap on") || note.says("DP and TP overlap on")) overlap["data"] = true;
  if (note.says("async TP") || note.says("asyncTP") || note.says("DP and TP overlap on")) overlap["tensor"] = true;
  if (note.says("a2a_overlap=True")) overlap["expert"] = true;
  if (!overlap.empty()) workload["overlap"] = std::move(overlap);
}

void say_experts(Json& workload, const Note& note, MappedRow& mapped) {
  if (note.says("tokendrop") || note.says("capacity 1.0")) {
    workload["experts"] = {{"capacity", 1}};
    if (!note.says("capacity"))
      mapped.assumed.push_back(
          {"workload.experts.capacity", "1", "tokens are dropped; at which capacity is not stated"});
  }
  if (!note.says("force-balanced"))
    mapped.assumed.push_back({"workload.experts.imbalance", "1", "how tokens are spread is not stated"});
}

}  // namespace

void say_settings(Json& workload, const Note& note, const SaidModel& model, MappedRow& mapped) {
  say_overlap(workload, note);
  if (note.says("no compile"))
    workload["compiled"] = false;
  else if (note.says("compile"))
    workload["compiled"] = true;
  for (const Setting& s : needed)
    if (note.says(s.words)) miss(mapped, std::string(s.name));
  if (model.experts) say_experts(workload, note, mapped);
  for (const Setting& s : unsaid)
    if (note.says(s.words) && (mapped.unsaid.empty() || mapped.unsaid.back() != s.name))
      mapped.unsaid.emplace_back(s.name);
}

}  // namespace fabricast::published
