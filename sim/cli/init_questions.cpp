// The questions of `init` (init_questions.hpp), and splits for steps: a training or inference scenario is valid only
// with degrees that divide the GPUs and fit in memory, which a beginner cannot guess. The smallest sensible split is
// added.
#include "init_questions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "fabricast/core/field_tree.hpp"
#include "fabricast/core/names.hpp"
#include "fabricast/core/quantity.hpp"
#include "fabricast/core/stop.hpp"
#include "fabricast/hardware/device_names.hpp"
#include "fabricast/report/plan.hpp"
#include "fabricast/report/report.hpp"
#include "fabricast/routing/routing.hpp"
#include "fabricast/scenario/world.hpp"

namespace fabricast {

namespace {

std::string answer(const Answers& answers, const std::string& name) {
  const auto it = answers.find(name);
  return it == answers.end() ? std::string() : it->second;
}

std::int64_t gpus_of(const Scenario& s) { return std::int64_t{s.cluster.nodes} * s.node.spec.gpus; }

/// Hosts of an NVLink domain in GB200 and GB300 NVL72 racks.
constexpr int hosts_of_nvl72 = 18;

/// Whether the hosts are trays of racks that share NVLink: GB200 and GB300, but not GB10.
bool is_tray(const Scenario& s) { return s.node.spec.gpu.starts_with("gb2") || s.node.spec.gpu.starts_with("gb3"); }

/// Trays that share NVLink. A profile of a single tray does not state the rack, but these trays are sold in NVL72 only.
int trays_of_domain(const Scenario& s) {
  const NodePreset* preset = find_node(s.hardware, s.node.spec.profile);
  return preset && preset->nvlink_domain > 1 ? preset->nvlink_domain : hosts_of_nvl72;
}

std::string about_trays(const Scenario& s) {
  if (!is_tray(s)) return {};
  const int trays = trays_of_domain(s), gpus = s.node.spec.gpus;
  return fmt::format("a node is a tray of {} GPUs, {} trays make an NVL{}", gpus, trays, trays * gpus);
}

/// More trays than a rack has are most likely GPUs.
void refuse_more_trays(const std::string& value, const Scenario& s) {
  const auto trays = parse_integer(value);
  if (trays && trays.value > trays_of_domain(s))
    throw UserError(
        fmt::format("--nvlink-domain '{}' is more than a rack: {}", value, about_trays(s)),
        fmt::format("at most {0}; for a larger domain --set nvlink_domain.nodes={1}", trays_of_domain(s), trays.value));
}

bool is_step(const Answers& answers) { return answer(answers, "workload") != "collective"; }
// Fabric and routing matter only if the job leaves one NVLink domain.
bool leaves_node(const Answers&, const Scenario& s) { return s.cluster.nodes > s.nvlink_domain.nodes; }

template <class Table>
std::vector<AnswerChoice> choices_of(const Table& table) {
  std::vector<AnswerChoice> choices;
  for (const auto& item : table) choices.push_back({std::string(item.name), std::string(item.summary)});
  return choices;
}

std::vector<AnswerChoice> node_choices() {
  std::vector<AnswerChoice> choices;
  for (const auto& [name, node] : shipped_hardware().nodes) choices.push_back({name, node.summary});
  return choices;
}

/// All topologies except those that need a file.
std::vector<AnswerChoice> fabric_choices() {
  std::vector<AnswerChoice> choices = choices_of(topologies());
  std::erase_if(choices, [](const AnswerChoice& c) { return c.name == "file"; });
  return choices;
}

std::vector<AnswerChoice> collective_choices() {
  std::vector<AnswerChoice> choices;
  for (const std::string_view name : EnumNames<CollectiveOp>::names) choices.push_back({std::string(name), {}});
  return choices;
}

// Some topologies have no oversubscription to ask for.
bool has_key(Scenario s, std::string_view path) {
  FieldTree tree;
  visit_fields(tree, s);
  return tree.take().find(path) != nullptr;
}

// A model that fits with room to spare: training needs several times the memory of inference for its optimizer state.
std::string usual_model(const Answers& answers, const Scenario& s) {
  const std::int64_t enough = answer(answers, "workload") == "inference" ? 4 : 64;
  return gpus_of(s) >= enough ? "llama3-70b" : "llama3-8b";
}

std::string usual_batch(const Answers& answers, const Scenario& s) {
  if (answer(answers, "workload") == "inference") return "64";
  // A global batch that divides over replicas, whatever their number.
  return fmt::to_string(round_up(1024, gpus_of(s)));
}

const auto always = [](const Answers&, const Scenario&) { return true; };
const auto free_text = [] { return std::vector<AnswerChoice>(); };

}  // namespace

const std::vector<InitQuestion>& init_questions() {
  static const std::vector<InitQuestion> questions = {
      {"node", "NAME", "What kind of node?", "kind of node (`fabricast list nodes`)", always, node_choices,
       [](const Answers&, const Scenario&) { return std::string("hgx-h100"); },
       [](const Answers&) { return std::string("node.profile"); }},
      {"nodes", "N", "How many nodes does the job have?", "hosts of the job; a host of an NVL72 is a tray of 4 GPUs",
       always, free_text,
       [](const Answers&, const Scenario& s) { return fmt::to_string(is_tray(s) ? trays_of_domain(s) : 16); },
       [](const Answers&) { return std::string("cluster.nodes"); }, about_trays},
      {"nvlink-domain", "N", "How many nodes share one NVLink domain?",
       "hosts that share one NVLink domain (NVL72: 18; fewer if the job has fewer)",
       [](const Answers&, const Scenario& s) { return is_tray(s); }, free_text,
       // Jobs of other than whole racks are spread evenly over the racks that they need (`even_domains`).
       [](const Answers&, const Scenario& s) { return fmt::to_string(std::min(s.cluster.nodes, trays_of_domain(s))); },
       [](const Answers&) { return std::string("nvlink_domain.nodes"); }, about_trays, refuse_more_trays},
      {"fabric", "NAME", "What is the topology of the switches?",
       "topology of the switches (`fabricast list topologies`)", leaves_node, fabric_choices,
       [](const Answers&, const Scenario& s) { return std::string(topologies()[s.fabric.kind].name); },
       [](const Answers&) { return std::string("fabric.kind"); }},
      {"oversubscription", "RATIO", "What is the oversubscription of the leaves (down : up)?",
       "oversubscription (down : up) of the leaves, e.g. 2",
       [](const Answers& a, const Scenario& s) { return leaves_node(a, s) && has_key(s, "fabric.oversubscription"); },
       free_text, [](const Answers&, const Scenario&) { return std::string("1"); },
       [](const Answers&) { return std::string("fabric.oversubscription"); }},
      {"routing", "NAME", "How do switches choose among equal-cost paths?", "routing (`fabricast list routing`)",
       leaves_node, [] { return choices_of(routing_policies()); },
       [](const Answers&, const Scenario& s) { return std::string(routing_policies()[s.routing.kind].name); },
       [](const Answers&) { return std::string("routing.kind"); }},
      {"workload", "NAME", "What runs?", "kind of workload: collective, training_step or inference", always,
       [] {
         return std::vector<AnswerChoice>{{"collective", "a size sweep of one collective, as in nccl-tests"},
                                          {"training_step", "a training step of a transformer"},
                                          {"inference", "serving of a transformer"}};
       },
       [](const Answers&, const Scenario&) { return std::string("collective"); },
       [](const Answers&) { return std::string("workload.kind"); }},
      {"collective", "NAME", "Which collective?", "for collective: the operation",
       [](const Answers& a, const Scenario&) { return !is_step(a); }, collective_choices,
       [](const Answers&, const Scenario&) { return std::string("all_reduce"); },
       [](const Answers&) { return std::string("workload.collective"); }},
      {"model", "NAME", "Which model?", "for training_step and inference: the transformer (`fabricast list models`)",
       [](const Answers& a, const Scenario&) { return is_step(a); }, [] { return choices_of(model_presets()); },
       usual_model, [](const Answers&) { return std::string("workload.model.preset"); }},
      {"phase", "NAME", "Which phase?", "for inference: decode, prefill or both",
       [](const Answers& a, const Scenario&) { return answer(a, "workload") == "inference"; },
       [] {
         return std::vector<AnswerChoice>{{"decode", "a step that generates one token of each sequence"},
                                          {"prefill", "a batch of prompts"},
                                          {"both", "complete requests"}};
       },
       [](const Answers&, const Scenario&) { return std::string("decode"); },
       [](const Answers&) { return std::string("workload.phase"); }},
      {"batch", "N", "How many sequences (training: global batch; inference: batch of each replica)?",
       "sequences: the global batch of training, or the batch of each replica of inference",
       [](const Answers& a, const Scenario&) { return is_step(a); }, free_text, usual_batch,
       [](const Answers& a) {
         return std::string(answer(a, "workload") == "inference" ? "workload.batch" : "workload.batch.global");
       }},
  };
  return questions;
}

std::vector<GivenKey> keys_of(const Answers& answers, bool whole) {
  std::vector<GivenKey> keys{{"fabricast", "1"}};
  for (const InitQuestion& q : init_questions())
    if (const auto it = answers.find(q.name); it != answers.end()) keys.push_back({q.path(answers), it->second});
  // While questions are still open, the workload is left out: it would be refused until the split is known.
  if (!whole && is_step(answers))
    std::erase_if(keys, [](const GivenKey& k) { return k.path.starts_with("workload."); });
  // A single sample of the ECMP hash would be one random outcome.
  if (answer(answers, "routing") == "ecmp") keys.push_back({"routing.seeds", "16"});
  if (answer(answers, "workload") == "collective")
    keys.insert(keys.end(), {{"workload.from", "8B"}, {"workload.to", "8GiB"}, {"workload.factor", "4"}});
  return keys;
}

Scenario scenario_with(const std::vector<GivenKey>& keys) {
  std::vector<GivenKey> all = keys;
  // Required sections with the least content, so that the answers so far can be read.
  const auto need = [&](const char* section, const char* key, const char* value) {
    for (const GivenKey& k : keys)
      if (k.path == section || k.path.starts_with(std::string(section) + ".")) return;
    all.push_back({key, value});
  };
  need("node", "node", "{}");
  need("cluster", "cluster.nodes", "1");
  need("workload", "workload", "{}");
  return parse_scenario(plain_yaml(all), "scenario").scenario;
}

namespace {

bool fits(const std::vector<GivenKey>& keys) {
  try {
    require_memory(build_world(scenario_with(keys)));
    return true;
  } catch (const UserError&) { return false; }
}

/// The scenario of the cluster without its workload.
Scenario cluster_of(std::vector<GivenKey> keys) {
  std::erase_if(keys, [](const GivenKey& k) { return k.path.starts_with("workload"); });
  return scenario_with(keys);
}

/// Steps use bf16 by default, which old GPUs do not have: they get fp16.
void add_precision(std::vector<GivenKey>& keys) {
  const Scenario cluster = cluster_of(keys);
  const GpuSheet& sheet = cluster.hardware->gpus.find(cluster.node.spec.gpu)->second.sheet;
  const bool given =
      std::any_of(keys.begin(), keys.end(), [](const GivenKey& k) { return k.path == "workload.precision"; });
  if (!given && sheet.peak_of(Precision::bf16) == 0) keys.push_back({"workload.precision", "fp16"});
}

/// Weights of inference as the released checkpoint has them, where the preset states it: in bf16, models that are
/// served from 8 bits would seem not to fit. Where the user sets a precision, nothing is added.
void add_checkpoint(std::vector<GivenKey>& keys) {
  const auto sets_weights = [](const GivenKey& k) {
    return k.path == "workload" || k.path.starts_with("workload.precision") ||
           k.path.starts_with("workload.weight_precision") || k.path.starts_with("workload.experts");
  };
  if (std::any_of(keys.begin(), keys.end(), sets_weights)) return;
  const auto model =
      std::find_if(keys.rbegin(), keys.rend(), [](const GivenKey& k) { return k.path == "workload.model.preset"; });
  const ModelPreset* preset = model == keys.rend() ? nullptr : find_by_name(model_presets(), model->value);
  if (!preset) return;
  const auto add = [&](const char* path, NumberFormat format, std::string_view of) {
    keys.push_back({path, std::string(name_of(format)),
                    fmt::format("The released checkpoint of {} has {} in this format.", preset->name, of)});
  };
  const Scenario cluster = cluster_of(keys);
  const GpuSheet& sheet = cluster.hardware->gpus.find(cluster.node.spec.gpu)->second.sheet;
  // GPUs without GEMMs in 8 bits convert the weights.
  if (preset->checkpoint == NumberFormat::fp8 && sheet.peak_of(Precision::fp8) > 0)
    add("workload.precision", *preset->checkpoint, "its linear layers");
  else if (preset->checkpoint)
    add("workload.weight_precision", *preset->checkpoint, "its linear layers");
  if (preset->expert_checkpoint) add("workload.experts.weight_precision", *preset->expert_checkpoint, "its experts");
}

/// The first split of a training step that divides evenly (the batch over replicas, the GPUs over ranks), whether or
/// not it fits in memory. The search for a better split starts from its world.
World dividing_world(std::vector<GivenKey>& keys) {
  const Scenario cluster = cluster_of(keys);
  std::optional<UserError> first;
  // Tensor parallelism stays inside a host; stages are added when that is not enough.
  for (int stages = 1; stages <= cluster.cluster.nodes; ++stages)
    for (int tensor = 1; tensor <= cluster.node.spec.gpus; tensor *= 2) {
      std::vector<GivenKey> trial = keys;
      if (tensor > 1) trial.push_back({"workload.parallel.tensor", fmt::to_string(tensor)});
      if (stages > 1) trial.push_back({"workload.parallel.pipeline", fmt::to_string(stages)});
      try {
        auto world = build_world(scenario_with(trial));
        keys = std::move(trial);
        return world;
      } catch (const UserError& e) {
        // The error of the simplest split explains most.
        if (!first) first = e;
      }
      stop_if_requested();
    }
  throw *first;
}

/// Adds keys, which replace those of the same path.
void overlay(std::vector<GivenKey>& keys, const std::vector<GivenKey>& added) {
  for (const GivenKey& key : added) {
    std::erase_if(keys, [&](const GivenKey& k) { return k.path == key.path; });
    keys.push_back(key);
  }
}

void add_training_split(std::vector<GivenKey>& keys) {
  // The quick estimate of `plan --search parallel` knows which splits fit in memory.
  const auto world = dividing_world(keys);
  const SplitSearch found = search_splits(world);
  if (found.candidates.empty())
    throw UserError(fmt::format("{} does not fit in the memory of {} GPUs with any split",
                                world.scenario().workload.training.model.preset, gpus_of(world.scenario())),
                    "use more nodes or a smaller --model");
  std::vector<GivenKey> split;
  for (const std::string& word : words_of(found.candidates.front().split, step_of(world))) {
    const std::size_t equals = word.find('=');
    split.push_back({word.substr(0, equals), word.substr(equals + 1)});
  }
  overlay(keys, split);
}

/// The split over the fewest GPUs that hold the model: first over ranks of a node, then over stages.
void add_serving_split(std::vector<GivenKey>& keys) {
  const Scenario s = scenario_with(keys);
  for (int stages = 1; stages <= s.cluster.nodes; stages *= 2)
    for (int tensor = stages == 1 ? 1 : s.node.spec.gpus; tensor <= s.node.spec.gpus; tensor *= 2) {
      std::vector<GivenKey> trial = keys;
      trial.push_back({"workload.parallel.tensor", fmt::to_string(tensor)});
      if (stages > 1) trial.push_back({"workload.parallel.pipeline", fmt::to_string(stages)});
      if (fits(trial)) return keys = std::move(trial), void();
    }
  throw UserError(fmt::format("{} with this batch does not fit in the memory of {} GPUs",
                              s.workload.inference.model.preset, gpus_of(s)),
                  "use more nodes, a smaller --batch or a smaller --model");
}

}  // namespace

void add_split(std::vector<GivenKey>& keys) {
  const auto has = [&](std::string_view path, std::string_view value) {
    return std::any_of(keys.begin(), keys.end(),
                       [&](const GivenKey& k) { return k.path.starts_with(path) && k.value.starts_with(value); });
  };
  if (has("workload.kind", "inference")) add_checkpoint(keys);
  if (has("workload.kind", "training_step") || has("workload.kind", "inference")) add_precision(keys);
  // Degrees that the user gives are not second-guessed, but they must fit.
  if (has("workload.parallel", ""))
    require_memory(build_world(scenario_with(keys)));
  else if (has("workload.kind", "training_step"))
    add_training_split(keys);
  else if (has("workload.kind", "inference"))
    add_serving_split(keys);
}

}  // namespace fabricast
