// Published tables of training steps: the reader, the facts of the shipped table, and the scenarios of its rows.
#include "fabricast/calibrate/published_steps.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "fabricast/calibrate/published_validation.hpp"
#include "fabricast/core/error.hpp"
#include "fabricast/workload/model_spec.hpp"

using namespace fabricast;
using nlohmann::json;

namespace {

const std::vector<MappedRow>& shipped() {
  static const std::vector<MappedRow> rows = map_published_rows(read_published_rows(shipped_training_steps_path()));
  return rows;
}

const MappedRow& row_called(const std::string& id) {
  for (const MappedRow& r : shipped())
    if (r.id == id) return r;
  FAIL("no row " << id);
  return shipped().front();
}

constexpr const char* header =
    "source,system,model,gpus,precision,gbs_seqs,mbs,seq,fsdp,tp,pp,cp,vp,ep,dp,recompute,step_s,tok_s_gpu,note\n";

MappedRow mapped(const std::string& line) {
  return map_published_row(parse_published_rows(header + line + "\n", "mine.csv").front());
}

/// Places and messages, a line each.
std::string faults_of(const std::string& text) {
  try {
    (void)parse_published_rows(text, "t.csv");
  } catch (const UserError& error) {
    std::string all;
    for (const Diagnostic& d : error.diagnostics())
      all += d.where.file + ":" + std::to_string(d.where.line) + ":" + std::to_string(d.where.column) + ": " +
             d.message + "\n";
    return all;
  }
  return "none";
}

/// `kv8` of a model's text is {kv, 8}.
std::map<std::string, long> dimensions_in(const std::string& model) {
  std::map<std::string, long> found;
  std::istringstream words(model);
  for (std::string word; words >> word;) {
    const auto digit = word.find_first_of("0123456789");
    if (digit > 0 && digit < 4 && word.find_first_not_of("0123456789", digit) == std::string::npos)
      found[word.substr(0, digit)] = std::stol(word.substr(digit));
  }
  return found;
}

}  // namespace

TEST_CASE("the shipped table has all rows of every source, and each has a scenario or a reason why not") {
  // Rows, and those that a scenario can say: counted by hand in the sources' lists.
  const std::map<std::string, std::pair<int, int>> expected{{"megatron-sc21-tab1", {10, 10}},
                                                            {"korthikanti22-tab5", {8, 8}},
                                                            {"megascale-tab2-Megatron-LM", {8, 8}},
                                                            {"nemo-24.07", {12, 12}},
                                                            {"torchtitan-2024-12", {8, 8}},
                                                            {"llm-foundry", {15, 15}},
                                                            {"megatron-bridge-26.04.01", {17, 17}},
                                                            {"megatron-bridge-26.04", {16, 16}},
                                                            {"megatron-bridge-26.02.01", {16, 15}},
                                                            {"megatron-bridge-26.02", {12, 12}},
                                                            {"megatron-bridge-25.09", {12, 12}},
                                                            {"mbridge-ab-qwen30-h100", {9, 8}},
                                                            {"mbridge-ab-recompute-moonlight", {6, 6}},
                                                            {"mbridge-ab-recompute-nano3", {2, 2}},
                                                            {"xtuner-h800-qwen235", {16, 12}},
                                                            {"pai-h800-qwen30", {2, 2}},
                                                            {"dgxc-24.11", {87, 87}},
                                                            {"dgxc-25.02", {77, 77}},
                                                            {"dgxc-jax", {35, 35}},
                                                            {"dgxc-25.04", {29, 29}},
                                                            {"dgxc-25.05-h100sib", {4, 4}},
                                                            {"nemo-24.07-rev2", {10, 10}},
                                                            {"torchtitan-asynctp-2025-06", {12, 12}},
                                                            {"torchtitan-676", {1, 0}},
                                                            {"torchtitan-pr1690-qwen32b", {4, 4}},
                                                            {"llm-foundry-A100-rest", {63, 63}},
                                                            {"internevo-a100-roce", {32, 32}},
                                                            {"internevo-a100-roce-pack", {22, 22}},
                                                            {"bigscience-176b-tuning", {100, 100}},
                                                            {"flagperf", {22, 22}}};
  std::map<std::string, std::pair<int, int>> found;
  for (const MappedRow& r : shipped()) {
    INFO(r.id << ": " << r.missing);
    ++found[r.row.source].first;
    found[r.row.source].second += !r.scenario.empty();
    CHECK(r.scenario.empty() == !r.missing.empty());
  }
  CHECK(shipped().size() == 61 + 606);
  for (const auto& [source, counts] : expected) {
    INFO(source);
    CHECK(found[source] == counts);
  }
  CHECK(found.size() == expected.size());
}

TEST_CASE("the table's own figures agree with each other") {
  for (const MappedRow& m : shipped()) {
    const PublishedRow& r = m.row;
    INFO(m.id);
    CHECK(r.tensor * r.pipeline * r.context * r.data == r.gpus);
    if (r.micro_batch > 0) CHECK(r.global_batch % (r.micro_batch * r.data) == 0);
    if (r.step_seconds > 0 && r.tokens_per_second > 0)
      CHECK(static_cast<double>(r.global_batch) * r.sequence ==
            Approx(r.step_seconds * r.tokens_per_second * r.gpus).epsilon(0.03));
  }
}

TEST_CASE("tokens/s and MFU of llm-foundry's rows fit the presets") {
  // MFU of 312 TFLOP/s, attention over the full square; MFU is published with four digits, tokens/s in whole ones.
  std::set<std::string> models;
  for (const MappedRow& m : shipped()) {
    if (!m.row.source.starts_with("llm-foundry") || !(m.row.mfu > 0)) continue;
    INFO(m.id);
    const Transformer model = resolve(parse_scenario(m.scenario, m.id).scenario.workload.training.model);
    const double flops = model_flops(model, m.row.sequence).training(false) / m.row.sequence;
    CHECK(100 * m.row.tokens_per_second * flops / 312e12 == Approx(m.row.mfu).epsilon(0.02));
    models.insert(m.row.model);
  }
  CHECK(models.size() == 9);
}

TEST_CASE("presets have the dimensions that rows state of them") {
  std::set<std::string> seen;
  for (const MappedRow& m : shipped()) {
    if (m.scenario.empty() || !seen.insert(m.row.model).second) continue;
    const Scenario s = parse_scenario(m.scenario, m.id, {"workload.memory=ignore"}).scenario;
    const Transformer model = resolve(s.workload.training.model);
    INFO(m.row.model);
    const std::map<std::string, std::int64_t> actual{{"h", model.hidden},
                                                     {"L", model.layers},
                                                     {"a", model.heads},
                                                     {"kv", model.kv_heads},
                                                     {"hd", model.head_dim},
                                                     {"E", model.experts},
                                                     {"top", model.active_experts},
                                                     {"ffe", model.expert_ffn},
                                                     {"ff", model.experts > 0 ? model.expert_ffn : model.ffn},
                                                     {"V", model.vocab}};
    // A V of sc21, korthikanti and megascale is not stated in the row.
    for (const auto& [name, n] : dimensions_in(m.row.model))
      if (actual.contains(name)) CHECK(actual.at(name) == n);
  }
}

TEST_CASE("rows become the scenarios that one would write by hand") {
  const auto is = [](const std::string& id, const std::string& scenario) {
    INFO(id);
    CHECK(json::parse(row_called(id).scenario) == json::parse(scenario));
  };
  // DGX H100, NeMo 24.09, 405B on 576 GPUs: 126 layers in 9 x 7 chunks of two.
  is("dgxc-24.11/13", R"({"fabricast": 1, "node": {"profile": "hgx-h100"}, "cluster": {"nodes": 72},
    "workload": {"kind": "training_step", "framework": "nemo", "stack": "nemo-24.07",
      "model": {"preset": "llama3-405b", "sequence": 8192}, "precision": "bf16", "batch": {"global": 252, "micro": 1},
      "parallel": {"tensor": 8, "sequence": true, "context": 2, "pipeline": 9, "interleave": 7, "data": 4},
      "recompute": "none"}})");
  // The same cut to 30 layers in 32 chunks: the embedding and the output fill the first and the last.
  json cut = json::array({0});
  for (int i = 0; i < 30; ++i) cut.push_back(1);
  cut.push_back(0);
  CHECK(json::parse(row_called("dgxc-25.04/22").scenario)["workload"]["parallel"]["layers"] == cut);
  CHECK(json::parse(row_called("dgxc-25.04/22").scenario)["workload"]["model"]["layers"] == 30);
  // Eight GPUs of a GB200 NVL72 are two trays.
  is("megatron-bridge-25.09/6", R"({"fabricast": 1, "node": {"profile": "gb200-nvl72"}, "cluster": {"nodes": 2},
    "workload": {"kind": "training_step", "framework": "nemo", "stack": "nemo-24.07",
      "model": {"preset": "qwen3-30b-a3b", "sequence": 4096}, "precision": "fp8", "scaling": "mxfp8", "batch": {"global": 512, "micro": 4},
      "parallel": {"expert": 8, "data": 8}, "recompute": "none", "experts": {"capacity": 1},
      "cuda_graphs": "step"}})");
  // Four NICs of 100 Gb/s, the optimizer's state shared in a node.
  is("internevo-a100-roce/16", R"({"fabricast": 1,
    "node": {"profile": "dgx-a100", "nics": {"count": 4, "rate": "100Gbps", "link": "roce"}}, "cluster": {"nodes": 128},
    "fabric": {"kind": "fat_tree"}, "routing": {"kind": "ecmp", "seeds": 1},
    "workload": {"kind": "training_step", "framework": "megatron", "stack": "internevo-0.2",
      "model": {"preset": "internlm-7b", "sequence": 2048}, "precision": "bf16", "batch": {"global": 8192, "micro": 2},
      "parallel": {"data": 1024, "zero": 1, "shard": 8}, "recompute": "none"}})");
  // FSDP in groups of 128 of 2,048 GPUs.
  CHECK(json::parse(row_called("dgxc-jax/6").scenario)["workload"]["parallel"] ==
        json::parse(R"({"data": 2048, "zero": 3, "shard": 128})"));
  // A split that cannot have run, and that of the release's preset.
  for (const char* id : {"megatron-bridge-26.02.01/1", "megatron-bridge-26.02.01/3"}) {
    const json workload = json::parse(row_called(id).scenario)["workload"];
    CHECK(workload["parallel"] == json::parse(R"({"pipeline": 4, "interleave": 5, "data": 16})"));
    CHECK(workload["batch"] == json::parse(R"({"global": 256, "micro": 1})"));
    CHECK(row_called(id).assumed.front().key == "workload.parallel");
    CHECK(row_called(id).row.micro_batch == 2);
  }
  // Asynchronous tensor parallelism, recomputation by operation.
  is("torchtitan-asynctp-2025-06/8", R"({"fabricast": 1,
    "node": {"profile": "hgx-h100", "memory": "96GiB", "memory_rate": "2400GBps", "power": "500W"}, "cluster": {"nodes": 8},
    "workload": {"kind": "training_step", "framework": "fsdp", "stack": "torchtitan-24.12",
      "model": {"preset": "llama3-8b", "sequence": 8192}, "precision": "bf16", "batch": {"global": 96, "micro": 12},
      "parallel": {"tensor": 8, "sequence": true, "data": 8, "zero": 3}, "recompute": "ops", "overlap": {"tensor": true},
      "compiled": true}})");
  // A model by its dimensions alone, layers with embedding and output as one each: 84 / 12 = 7.
  is("bigscience-176b-tuning/91", R"({"fabricast": 1,
    "node": {"profile": "dgx-a100", "nics": {"count": 4, "rate": "100Gbps"}}, "cluster": {"nodes": 48},
    "workload": {"kind": "training_step", "framework": "megatron", "stack": "megatron-deepspeed-2022",
      "model": {"layers": 82, "hidden": 13312, "heads": 64, "vocab": 250880, "ffn": 53248, "tied": true, "biases": true,
        "sequence": 2048},
      "precision": "bf16", "batch": {"global": 2048, "micro": 2},
      "parallel": {"tensor": 4, "pipeline": 12, "layers": [6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 6], "data": 8, "zero": 1},
      "recompute": "full"}})");
  // Experts of Grok-1 are split as all else, as Megatron core did; layers are those that the row leaves.
  is("dgxc-24.11/5", R"({"fabricast": 1, "node": {"profile": "hgx-h100"}, "cluster": {"nodes": 16},
    "workload": {"kind": "training_step", "framework": "nemo", "stack": "nemo-24.07",
      "model": {"preset": "grok-1", "layers": 16, "sequence": 8192}, "precision": "bf16",
      "batch": {"global": 1024, "micro": 1},
      "parallel": {"tensor": 4, "sequence": true, "context": 2, "pipeline": 2, "interleave": 8, "expert": 8,
        "expert_tensor": 4, "data": 8}, "recompute": "none"}})");
}

TEST_CASE("what a row leaves open is assumed, and what a scenario cannot express is listed") {
  const MappedRow& grok = row_called("dgxc-24.11/5");
  std::set<std::string> keys;
  for (const Assumed& a : grok.assumed) {
    keys.insert(a.key);
    CHECK_FALSE(a.value.empty());
    CHECK_FALSE(a.why.empty());
  }
  CHECK(keys == std::set<std::string>{"workload.stack", "workload.parallel.sequence", "workload.parallel.expert_tensor",
                                      "workload.recompute", "workload.experts.imbalance"});
  CHECK(row_called("megatron-bridge-26.04/8").unsaid.empty());
  const auto said = [](const std::string& id, const char* words) {
    return row_called(id).scenario.find(words) != std::string::npos;
  };
  CHECK(said("megatron-bridge-26.04/8", R"("dispatcher":"hybridep")"));
  CHECK(said("megatron-bridge-26.04/8", R"("precision":"fp8","scaling":"mxfp8")"));
  CHECK(said("internevo-a100-roce/1", R"("stack":"internevo-0.2")"));
  CHECK(said("megatron-bridge-26.04/8", R"("cuda_graphs":"router")"));
  CHECK(said("megatron-bridge-26.04/11", R"("cuda_graphs":"attention")"));
  CHECK(said("mbridge-ab-qwen30-h100/5", R"("fused_permutation":false)"));
  CHECK(said("mbridge-ab-recompute-nano3/1", R"("dispatcher":"hybridep")"));
  CHECK(said("mbridge-ab-recompute-nano3/1", R"("cuda_graphs":"attention")"));
  CHECK(said("xtuner-h800-qwen235/1", R"("overlap":{"data":false,"pipeline":false,"tensor":false})"));
  CHECK_FALSE(said("mbridge-ab-qwen30-h100/5", "dispatcher"));
  const auto missing = [](const std::string& id) { return row_called(id).missing; };
  CHECK(said("megatron-bridge-26.04.01/1", R"("offload_layers":20)"));
  CHECK(said("xtuner-h800-qwen235/1", R"("recompute_modules":["moe_act","layernorm"])"));
  // What the recipes of JAX do not keep: save_dot_except_mlp, save_qkv_proj, and all GEMMs.
  CHECK(said("dgxc-jax/1", R"("recompute_modules":["core_attn","layernorm","linear_fc1"])"));
  CHECK(said("dgxc-jax/13", R"("recompute_modules":["core_attn","layernorm","linear_proj","linear_fc1"])"));
  CHECK(said("dgxc-jax/23", R"("recompute_modules":["core_attn","layernorm","linear_fc1"])"));
  CHECK(said("dgxc-jax/28", R"("recompute_modules":["core_attn","layernorm"])"));
  // A rank's batch: 512 sequences of 32 replicas; 256 of 8, one micro-batch for each of 8 stages.
  CHECK(said("torchtitan-2024-12/5", R"("batch":{"global":512,"micro":16})"));
  CHECK(said("torchtitan-2024-12/7", R"("batch":{"global":256,"micro":4})"));
  // What the recipes capture, and the row that one is matched with.
  CHECK(said("megatron-bridge-26.02.01/11", R"("cuda_graphs":"attention")"));
  CHECK(said("megatron-bridge-26.02.01/11", R"("dispatcher":"hybridep")"));
  CHECK(said("mbridge-ab-qwen30-h100/2", R"("cuda_graphs":"router")"));
  // 128 sequences of 8 replicas in 16 micro-batches, where the row says two of each.
  CHECK(said("megatron-bridge-25.09/4", R"("batch":{"global":128,"micro":1})"));
  CHECK(said("megatron-bridge-26.04.01/13", R"("preset":"nemotron3-nano-30b-a3b")"));
  CHECK(said("megatron-bridge-26.04.01/13", R"("cuda_graphs":"attention")"));
  CHECK(missing("mbridge-ab-qwen30-h100/9") ==
        "workload.experts.imbalance: the imbalance of natural routing is not stated");
  CHECK(missing("torchtitan-676/1") == "node.nics: the network is unknown");
}

TEST_CASE("every scenario of the table is the job that its row states") {
  std::size_t read = 0, presets = 0;
  for (const MappedRow& m : shipped()) {
    if (m.scenario.empty()) continue;
    INFO(m.id);
    try {
      const Scenario s = parse_scenario(m.scenario, m.id).scenario;
      const TrainingSpec& t = s.workload.training;
      CHECK(s.cluster.nodes * s.node.spec.gpus == m.row.gpus);
      CHECK(t.parallel.tensor * t.parallel.context * t.parallel.pipeline * t.parallel.data == m.row.gpus);
      CHECK(t.batch.global == m.row.global_batch);
      CHECK(resolve(t.model).sequence == m.row.sequence);
      // But where the row contradicts itself, or its split cannot have run.
      const bool preset = m.row.note.find("preset mbs=") != std::string::npos;
      presets += preset;
      if (m.row.micro_batch > 0 && m.id != "megatron-bridge-25.09/4" && !preset)
        CHECK(t.batch.micro == m.row.micro_batch);
      if (m.row.interleave > 0 && !preset) CHECK(t.parallel.interleave == m.row.interleave);
      if (m.row.expert > 0 && m.experts) CHECK(t.parallel.expert == m.row.expert);
      ++read;
    } catch (const UserError& error) { FAIL_CHECK(m.id << ": " << error.what()); }
  }
  CHECK(read > 500);
  CHECK(presets == 2);
}

TEST_CASE("rows that are also in steps.json, or twice in the table, are not counted twice") {
  std::vector<MappedRow> rows;
  for (const MappedRow& m : shipped())
    if (rows.size() < 61) rows.push_back(m);
  rows.push_back(row_called("llm-foundry-A100-rest/29"));  // 13B on eight A100 of 40 GB, held out of the fit
  const auto results = validate_published(rows, read_steps(shipped_steps_path()), shipped_hardware());
  for (const PublishedResult& r : results) {
    INFO(r.mapped.id << " " << r.why);
    CHECK(r.outcome == RowOutcome::repeated);
  }
  CHECK(results.back().key == "llm-foundry-13b-8-40-4");
  CHECK(results.front().key == "sc21-1p7b");
}

TEST_CASE("rows are forecast, refused by memory, repeated or unmapped, and counted as such") {
  const std::string line = "lab,hgx-h100,llama3-8b,8,bf16,128,1,8192,,1,1,2,1,,4,none,12.9,,a; sw=nemo-24.07\n";
  const std::string again = "lab,hgx-h100,llama3-8b,8,bf16,128,1,8192,,1,1,2,1,,4,none,12.901,,a; sw=nemo-24.07\n";
  const std::string large = "lab,hgx-h100,llama3-405b,8,bf16,128,1,8192,,1,1,1,1,,8,none,12.9,,a; sw=nemo-24.07\n";
  const std::string odd = "lab,hgx-h100,llama3-8b,8,bf16,128,1,8192,,3,1,1,1,,1,none,12.9,,a; sw=nemo-24.07\n";
  const std::string unknown = "lab,hgx-h100,llama9,8,bf16,128,1,8192,,1,1,1,1,,8,none,12.9,,a; sw=nemo-24.07\n";
  const auto results = validate_published(
      map_published_rows(parse_published_rows(header + line + again + large + odd + unknown, "t.csv")), {},
      shipped_hardware());
  REQUIRE(results.size() == 5);
  CHECK(results[0].outcome == RowOutcome::forecast);
  CHECK(results[0].step.forecast.value == Approx(12.9).epsilon(0.3));
  CHECK(results[1].outcome == RowOutcome::repeated);
  CHECK(results[1].key == "lab/1");
  CHECK(results[2].outcome == RowOutcome::refused);
  CHECK(results[2].key == "memory");
  CHECK(results[3].outcome == RowOutcome::refused);
  CHECK(results[3].key.starts_with("workload.parallel"));
  CHECK(results[4].outcome == RowOutcome::unsayable);
  const auto summaries = summarize_published(results);
  REQUIRE(summaries.size() == 1);
  CHECK(summaries[0].rows == 5);
  CHECK(summaries[0].forecast == 1);
  CHECK(summaries[0].refused == 2);
  CHECK(summaries[0].unsayable == 1);
  CHECK(summaries[0].repeated == 1);
  CHECK(summaries[0].bias == Approx(results[0].step.error()));
  const json all = json::parse(steps_json({}, results));
  CHECK(all["published"]["rows"].size() == 5);
  CHECK(all["published"]["rows"][2]["outcome"] == "refused");
  CHECK(all["published"]["rows"][0]["scenario"]["cluster"]["nodes"] == 1);
  CHECK(published_text(results, true).find("repeats lab/1") != std::string::npos);
}

TEST_CASE("means over sources count each source once") {
  const auto result = [](const std::string& source, bool experts, double error) {
    PublishedResult r;
    r.mapped.row.source = source, r.mapped.experts = experts;
    r.step.measured = Seconds{1}, r.step.forecast = Seconds{1 + error}, r.step.factor = 1.06;
    return r;
  };
  std::vector<PublishedResult> results;
  for (const double error : {0.1, 0.2, -0.6}) results.push_back(result("large", false, error));
  results.push_back(result("small", false, -0.05));
  results.push_back(result("large", true, 0.4));
  const auto summaries = summarize_published(results);
  REQUIRE(summaries.size() == 3);
  CHECK(summaries[0].mean == Approx(0.3));
  CHECK(summaries[0].median == Approx(0.2));
  CHECK(summaries[0].bias == Approx(-0.1));
  CHECK(summaries[0].worst == Approx(-0.6));
  CHECK(summaries[0].within == 0);
  CHECK(summaries[1].within == 1);
  const SourceMean dense = mean_over_sources(summaries, false), experts = mean_over_sources(summaries, true);
  CHECK(dense.sources == 2);
  CHECK(dense.rows == 4);
  CHECK(dense.mean == Approx((0.3 + 0.05) / 2));
  CHECK(dense.bias == Approx((-0.1 - 0.05) / 2));
  CHECK(experts.sources == 1);
  CHECK(experts.mean == Approx(0.4));
}

TEST_CASE("a user's table takes names of profiles, presets and stacks") {
  const MappedRow m =
      mapped("mine,p5,qwen3-32b,16,fp8,64,1,4096,1,2,1,1,,,8,full,,1000,mine; sw=torchtitan-24.12; net=EFA");
  CHECK(m.missing.empty());
  CHECK(m.time.value == Approx(64.0 * 4096 / (1000 * 16)));
  CHECK(json::parse(m.scenario) == json::parse(R"({"fabricast": 1, "node": {"profile": "p5"}, "cluster": {"nodes": 2},
    "workload": {"kind": "training_step", "framework": "fsdp", "stack": "torchtitan-24.12",
      "model": {"preset": "qwen3-32b", "sequence": 4096}, "precision": "fp8", "batch": {"global": 64, "micro": 1},
      "parallel": {"tensor": 2, "sequence": true, "data": 8, "zero": 3}, "recompute": "full"}})"));
  const auto missing = [](const std::string& line) { return mapped(line).missing; };
  CHECK(missing("s,abacus,llama3-8b,8,bf16,8,1,8192,,1,1,1,,,8,none,1,,x; sw=nemo-24.07") ==
        "node: unknown system 'abacus'");
  CHECK(missing("s,hgx-h100,llama3-8b,12,bf16,8,1,8192,,1,1,1,,,8,none,1,,x; sw=nemo-24.07") ==
        "cluster.nodes: 12 GPUs are not a multiple of the 8 of a node");
  CHECK(missing("s,hgx-h100,llama3-8b,8,int3,8,1,8192,,1,1,1,,,8,none,1,,x; sw=nemo-24.07") ==
        "workload.precision: unknown precision 'int3'");
  CHECK(missing("s,hgx-h100,llama3-8b,8,bf16,8,1,8192,,1,1,1,,,8,none,1,,x; sw=mine") ==
        "workload.stack: unknown software 'mine'");
  CHECK(missing("s,hgx-h100,llama3-8b,8,bf16,,1,8192,,1,1,1,,,8,none,1,,x; sw=nemo-24.07") ==
        "workload.batch.global: not stated");
  CHECK(missing("s,hgx-h100,llama3-8b,8,bf16,8,1,8192,,1,1,1,,,8,none,,,x; sw=nemo-24.07").starts_with("step_s"));
  for (const char* sharing : {"ZeRO4", "ZeRO1(0)", "ZeRO1(8", "2x", "-1"})
    CHECK(
        missing("s,hgx-h100,llama3-8b,8,bf16,8,1,8192," + std::string(sharing) + ",1,1,1,,,8,none,1,,x; sw=nemo-24.07")
            .starts_with("workload.parallel.zero"));
}

TEST_CASE("malformed tables are refused with line and column") {
  const std::string head = "source,system,model,gpus,precision,step_s,note\n";
  CHECK(faults_of("") == "t.csv:1:1: the header line is missing\n");
  CHECK(faults_of(head) == "t.csv:1:1: the table has no row\n");
  CHECK(faults_of("source,system,model,gpus\na,b,c,8\n") == "t.csv:1:1: column 'precision' is missing\n");
  CHECK(faults_of("source,system,model,gpus,precision,gups\n").starts_with("t.csv:1:36: unknown column 'gups'"));
  CHECK(faults_of("source,system,source,model,gpus,precision\n") == "t.csv:1:15: duplicate column 'source'\n");
  CHECK(faults_of(head + "a,b,c,8,bf16,1,x\na,b,c,eight,bf16,1.5s,x\n") ==
        "t.csv:3:7: 'gpus' must be a whole number above 0, not 'eight'\n"
        "t.csv:3:18: 'step_s' must be a number above 0, not '1.5s'\n");
  CHECK(faults_of(head + "a,b,c,0,bf16,1,x\n") == "t.csv:2:7: 'gpus' must be a whole number above 0, not '0'\n");
  CHECK(faults_of(head + "a,b,c,8,bf16,-1,x\n") == "t.csv:2:14: 'step_s' must be a number above 0, not '-1'\n");
  for (const char* number : {"nan", "inf", "1e999", "1e-999", "0", "1e13"})
    CHECK(faults_of(head + "a,b,c,8,bf16," + number + ",x\n").starts_with("t.csv:2:14: 'step_s' must be a number"));
  CHECK(faults_of(head + "a,b,c,99999999999999999999,bf16,1,x\n").starts_with("t.csv:2:7: 'gpus' must be"));
  CHECK(faults_of(head + "a,,c,8,bf16,1,x\n") == "t.csv:2:3: 'system' is empty\n");
  CHECK(faults_of(head + "a,b,c,8,bf16,1\n") == "t.csv:2:14: 6 fields, but the header has 7\n");
  CHECK(faults_of(head + "a,b,c,8,bf16,1,x,y\n") == "t.csv:2:16: 8 fields, but the header has 7\n");
  CHECK(faults_of(head + "a,b,\"c,8,bf16,1,x\n").starts_with("t.csv:2:5: a quoted field does not end"));
  CHECK(faults_of(head + "a,b,\"c\"d,8,bf16,1,x\n").starts_with("t.csv:2:5: a quoted field does not end"));
  CHECK(faults_of(head + "a,b,c,8,bf16,1," + std::string(5000, 'x') + "\n") ==
        "t.csv:2:16: 'note' is longer than 4096 bytes\n");
  // Only the first faults are reported, and nothing from the file reaches the terminal unsanitized.
  std::string many = head;
  for (int i = 0; i < 100; ++i) many += "a,b,c,\x1b[31m,bf16,1,x\n";
  const std::string faults = faults_of(many);
  CHECK(std::count(faults.begin(), faults.end(), '\n') == 20);
  CHECK(faults.find('\x1b') == std::string::npos);
}

TEST_CASE("fields follow RFC 4180, whatever ends the lines") {
  const auto rows = parse_published_rows(
      "\xef\xbb\xbfmodel,source,system,gpus,precision,note\r\n\"a, \"\"b\"\"\",s,sys,8,bf16,\"x; "
      "y\"\r\n\r\nm,s,sys,16,fp8,",
      "t.csv");
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].model == "a, \"b\"");
  CHECK(rows[0].note == "x; y");
  CHECK(rows[0].where.line == 2);
  CHECK(rows[1].gpus == 16);
  CHECK(rows[1].note.empty());
  CHECK(rows[1].where.line == 4);
}
