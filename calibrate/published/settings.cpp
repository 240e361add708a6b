// Settings in the remarks of a row: those that a scenario has a key for, those that it has none for, and those without
// which there is no forecast.
#include <array>

#include "parts.hpp"

namespace fabricast::published {

namespace {

/// Words of a remark, and the setting that they stand for.
struct Setting {
  std::string_view words, name;
};

/// Settings without a key. The row is forecast with the software's usual setting.
constexpr std::array<Setting, 1> unsaid{{
    {"delay_wgrad", "weight gradients delayed until after the combine"},
}};

/// The first match counts.
constexpr std::array<Setting, 5> dispatchers{{
    {"disp=hybridep", "hybridep"},
    {"HybridEP", "hybridep"},
    {"disp=deepep", "deepep"},
    {"DeepEP", "deepep"},
    {"allgather dispatcher", "allgather"},
}};

/// Settings without a stated value that the forecast needs.
constexpr std::array<Setting, 1> needed{{
    {"natural routing", "workload.experts.imbalance: the imbalance of natural routing is not stated"},
}};

void say_overlap(Json& workload, const Note& note) {
  Json overlap = Json::object();
  if (note.says("zero overlap"))
    for (const char* what : {"data", "pipeline", "tensor"}) overlap[what] = false;
  if (note.says("no DP overlap")) overlap["data"] = false;
  if (note.says("DP overlap on") || note.says("DP and TP overlap on")) overlap["data"] = true;
  if (note.says("async TP") || note.says("asyncTP") || note.says("DP and TP overlap on")) overlap["tensor"] = true;
  if (note.says("a2a_overlap=True")) overlap["expert"] = true;
  if (!overlap.empty()) workload["overlap"] = std::move(overlap);
}

/// Number of layers whose activations the recipes of Megatron-Bridge keep in host memory [Megatron-Bridge].
struct RecipeOffload {
  std::string_view model, system, precision;
  int layers;
};
constexpr std::array<RecipeOffload, 5> recipe_offloads{{
    {"LLAMA3_70B", "DGX-GB300", "BF16", 30},
    {"LLAMA3_70B", "DGX-GB300", "FP8-CS", 20},
    {"LLAMA3_70B", "DGX-GB200", "BF16", 20},
    {"LLAMA3_70B", "DGX-GB200", "FP8-CS", 40},
    {"LLAMA3_70B", "DGX-B200", "FP8-CS", 5},
}};

void say_offload(Json& workload, const PublishedRow& row, const Note& note, MappedRow& mapped) {
  if (const std::int64_t layers = note.number("offload_layers="); layers > 0) {
    workload["offload_layers"] = layers;
    return;
  }
  if (!row.source.starts_with("megatron-bridge") || row.fsdp != "1") return;
  for (const RecipeOffload& r : recipe_offloads)
    if (row.model == r.model && row.system == r.system && row.precision == r.precision) {
      workload["offload_layers"] = r.layers;
      mapped.assumed.push_back({"workload.offload_layers", std::to_string(r.layers), "not stated; as in its recipe"});
    }
}

/// Identifies the rows of one model and system in the table of a release.
struct TableRow {
  std::string_view source, model, system;
  bool is(const PublishedRow& row) const { return row.source == source && row.model == model && row.system == system; }
};

/// CUDA graphs and dispatchers of recipes, where the tables do not state them [Megatron-Bridge]. With a capacity every
/// expert has the same number of tokens, so shapes are static and whole layers can be captured.
struct RecipeGraphs {
  TableRow row;
  std::string_view graphs, dispatcher;
};
constexpr std::array<RecipeGraphs, 3> recipe_graphs{{
    {{"megatron-bridge-25.09", "Qwen3_30B_a3B", "DGX-GB200"}, "step", ""},
    {{"megatron-bridge-25.09", "Qwen3_30B_a3B", "DGX-B200"}, "step", ""},
    {{"megatron-bridge-26.02.01", "Qwen3_30B_a3B", "DGX-B200"}, "attention", "hybridep"},
}};

/// Rows whose split and dispatcher are those of an earlier release: the recipe of their own release differs
/// [Megatron-Bridge].
constexpr std::array<TableRow, 1> stale_rows{{
    {"megatron-bridge-26.02.01", "Qwen3_30B_a3B", "DGX-H100"},
}};

/// Scopes of Transformer Engine: `attn` includes attention, all others begin with the router. A `local` scope is the
/// whole step.
void say_graphs(Json& workload, const PublishedRow& row, const Note& note, MappedRow& mapped) {
  if (note.says("cg=local") || note.says("full_iteration"))
    workload["cuda_graphs"] = "step";
  else if (note.says("cg=transformer_engine:attn") || note.says("TE graphs attn"))
    workload["cuda_graphs"] = "attention";
  else if (note.says("cg=transformer_engine:mamba"))
    mapped.unsaid.emplace_back("CUDA graphs of Mamba layers only");
  else if (note.says("cg=transformer_engine") || note.says("TE graphs"))
    workload["cuda_graphs"] = "router";
  else if (note.says("matched A/B")) {
    workload["cuda_graphs"] = "router";
    mapped.assumed.push_back({"workload.cuda_graphs", "router", "as in the row that it is paired with"});
  }
  for (const RecipeGraphs& r : recipe_graphs)
    if (r.row.is(row)) {
      workload["cuda_graphs"] = r.graphs;
      mapped.assumed.push_back({"workload.cuda_graphs", std::string(r.graphs), "not stated; as in its recipe"});
      if (r.dispatcher.empty()) continue;
      workload["experts"]["dispatcher"] = r.dispatcher;
      mapped.assumed.push_back(
          {"workload.experts.dispatcher", std::string(r.dispatcher), "not stated; as in its recipe"});
    }
}

void say_experts(Json& workload, const Note& note, MappedRow& mapped) {
  Json experts = Json::object();
  if (note.says("tokendrop") || note.says("capacity 1.0")) {
    experts["capacity"] = 1;
    if (!note.says("capacity"))
      mapped.assumed.push_back({"workload.experts.capacity", "1", "tokens are dropped; the capacity is not stated"});
  }
  for (const Setting& s : dispatchers)
    if (note.says(s.words) && !experts.contains("dispatcher")) experts["dispatcher"] = s.name;
  if (note.says("permute fusion off")) experts["fused_permutation"] = false;
  if (!experts.empty()) workload["experts"] = std::move(experts);
  if (!note.says("force-balanced"))
    mapped.assumed.push_back({"workload.experts.imbalance", "1", "the distribution of tokens is not stated"});
}

}  // namespace

void say_settings(Json& workload, const PublishedRow& row, const Note& note, const SaidModel& model,
                  MappedRow& mapped) {
  say_overlap(workload, note);
  if (note.says("no compile"))
    workload["compiled"] = false;
  else if (note.says("compile"))
    workload["compiled"] = true;
  for (const Setting& s : needed)
    if (note.says(s.words)) miss(mapped, std::string(s.name));
  for (const TableRow& stale : stale_rows)
    if (stale.is(row)) miss(mapped, "workload.parallel: the table and the release's recipe differ");
  if (model.experts) say_experts(workload, note, mapped);
  say_graphs(workload, row, note, mapped);
  say_offload(workload, row, note, mapped);
  for (const Setting& s : unsaid)
    if (note.says(s.words) && (mapped.unsaid.empty() || mapped.unsaid.back() != s.name))
      mapped.unsaid.emplace_back(s.name);
}

}  // namespace fabricast::published
