// Published tables of serving: the reader, the facts of the shipped table, the scenarios of its rows and their figures.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "fabricast/calibrate/published_serving_validation.hpp"
#include "fabricast/core/error.hpp"
#include "fabricast/scenario/scenario.hpp"

using namespace fabricast;
using nlohmann::json;

namespace {

const std::vector<MappedServing>& shipped() {
  static const std::vector<MappedServing> rows = map_serving_rows(read_serving_rows(shipped_serving_path()));
  return rows;
}

constexpr const char* header =
    "source,system,model,engine,version,precision,tp,pp,ep,dp,phase,input_len,output_len,batch_or_concurrency,metric,"
    "value,note\n";

MappedServing mapped(const std::string& line) {
  return map_serving_row(parse_serving_rows(header + line + "\n", "mine.csv").front());
}
json scenario_of(const std::string& line) {
  const MappedServing m = mapped(line);
  INFO(m.missing);
  REQUIRE_FALSE(m.scenario.empty());
  return json::parse(m.scenario);
}
std::string missing_of(const std::string& line) { return mapped(line).missing; }

/// Places and messages, a line each.
std::string faults_of(const std::string& text) {
  try {
    (void)parse_serving_rows(text, "t.csv");
  } catch (const UserError& error) {
    std::string all;
    for (const Diagnostic& d : error.diagnostics())
      all += d.where.file + ":" + std::to_string(d.where.line) + ":" + std::to_string(d.where.column) + ": " +
             d.message + "\n";
    return all;
  }
  return "none";
}

/// Figures of a scenario, read off the mapping of a line.
ServingFigures figures_of(const std::string& line) { return serving_figures(mapped(line).scenario, "a line"); }
double of(const ServingFigures& figures, ServingMetric m) { return figures[static_cast<std::size_t>(m)]; }

}  // namespace

TEST_CASE("the shipped table of serving has all rows of every source, with a scenario or a reason why not") {
  // Rows, and those that a scenario can say: counted by hand in the sources' lists.
  const std::map<std::string, std::pair<int, int>> expected{
      // Not: two rates of 405B whose load is not stated.
      {"vllm-blog", {7, 5}},
      {"lmdeploy-a100", {58, 58}},
      {"fastertransformer", {77, 77}},
      {"nim-docs", {17, 17}},
      {"sgl-cookbook", {78, 78}},
      // Not: Server's times of Llama (six, no concurrency) and Mixtral's six (no lengths).
      {"mlperf-v4.1", {25, 13}},
      {"sglang-pr2904", {24, 24}},
      // Not: twelve rows of gpt-oss on H100, whose concurrency is a limit that was not reached.
      {"inferencex", {400, 388}},
      {"aic-gap", {268, 268}},
      {"inferencex-disagg", {224, 224}},
      {"aic-allreduce", {270, 270}},
      {"mlperf-v5.1", {4, 0}}};
  std::map<std::string, std::pair<int, int>> found;
  for (const MappedServing& r : shipped()) {
    INFO(r.id << ": " << r.missing);
    ++found[r.row.source].first;
    found[r.row.source].second += !r.scenario.empty();
    CHECK(r.scenario.empty() == !r.missing.empty());
  }
  CHECK(shipped().size() == 1452);
  for (const auto& [source, counts] : expected) {
    INFO(source);
    CHECK(found[source] == counts);
  }
  CHECK(found.size() == expected.size());
}

TEST_CASE("degrees of every row's scenario make its GPUs, or fill up its nodes") {
  std::set<std::string> seen;
  for (const MappedServing& m : shipped()) {
    if (m.scenario.empty() || m.row.phase == "collective" || !seen.insert(m.scenario).second) continue;
    INFO(m.id << " " << m.row.system << " " << m.row.note);
    const json s = json::parse(m.scenario);
    const json& w = s.at("workload");
    const auto ranks = [](const json& p) {
      return p.at("tensor").get<int>() * p.value("pipeline", 1) * p.at("data").get<int>();
    };
    int all = ranks(w.at("parallel"));
    if (w.contains("disaggregated")) all += w.at("disaggregated").at("prefill").at("gpus").get<int>();
    const int gpus = std::stoi(m.row.system.substr(m.row.system.find("count=") + 6));
    const int nodes = std::stoi(m.row.system.substr(m.row.system.find("nodes=") + 6));
    const bool filled = std::any_of(m.assumed.begin(), m.assumed.end(),
                                    [](const Assumed& a) { return a.key == "workload.disaggregated.prefill.gpus"; });
    CHECK(all == (filled ? 8 * nodes : gpus));
    if (w.contains("disaggregated"))
      CHECK(ranks(w.at("disaggregated").at("prefill").at("parallel")) ==
            w.at("disaggregated").at("prefill").at("gpus").get<int>());
    // Requests at once, but for those that were measured.
    const auto concurrency = m.row.batch.find_first_not_of("0123456789") == std::string::npos ? m.row.batch : "";
    if (!concurrency.empty() && m.row.note.find("achieved") == std::string::npos)
      CHECK(w.at("batch").get<int>() * w.at("parallel").at("data").get<int>() == std::stoi(concurrency));
  }
}

TEST_CASE("the table's rates and times agree where a row has both") {
  // A client of c requests that take t = ttft + (n - 1) tpot each gets c n / t tokens/s, if none is left waiting.
  std::map<std::string, std::map<std::string, double>> by_run;
  std::map<std::string, const ServingRow*> first;
  for (const MappedServing& m : shipped()) {
    const ServingRow& r = m.row;
    if (r.source != "sgl-cookbook" && r.source != "nim-docs") continue;
    const std::string run =
        r.source + r.system + r.model + r.batch + "/" + std::to_string(r.input) + "/" + std::to_string(r.output);
    CHECK(by_run[run].emplace(r.metric, r.value).second);
    first.emplace(run, &r);
  }
  int agreeing = 0;
  for (const auto& [run, figures] : by_run) {
    if (figures.size() < 3) continue;
    const ServingRow& r = *first.at(run);
    const double each = figures.at("ttft_ms") + (r.output - 1) * figures.at("tpot_ms");
    double requests = std::stod(r.batch);
    if (const auto at = r.note.find("achieved concurrency "); at != std::string::npos)
      requests = std::stod(r.note.substr(at + 21));
    INFO(run);
    // Lengths of ShareGPT differ by orders of magnitude, which means of them do not tell.
    const double digits = r.source == "nim-docs" ? 0.005 : r.note.find("ShareGPT") != std::string::npos ? 0.3 : 0.05;
    CHECK(figures.at("out_tok_s") == Approx(1e3 * requests * r.output / each).epsilon(digits));
    ++agreeing;
  }
  CHECK(agreeing == 31);
}

TEST_CASE("rows of serving become the scenarios that one would write by hand") {
  // Tensor parallelism over half a node, a closed loop: lengths are 0.9 of the nominal ones.
  CHECK(scenario_of("inferencex,gpu=h200-sxm;count=4;nodes=1;net=nvswitch,llama3.1-70b,vllm,?,fp8/?,4,1,1,1,requests,"
                    "1024,8192,64,tpot_ms,14.2,closed loop") == json::parse(R"({"fabricast": 1,
    "node": {"profile": "hgx-h200", "gpus": 4}, "cluster": {"nodes": 1},
    "workload": {"kind": "inference", "framework": "vllm", "stack": "vllm-0.11", "model": {"preset": "llama3.1-70b"},
      "precision": "fp8", "parallel": {"tensor": 4, "data": 1}, "phase": "both", "batch": 64, "input": 922, "output": 7373,
      "scheduler": {"ahead": true}, "load": {"spread": 0.11111111111111112, "warmup": 0}}})"));
  // Releases before V1 are nearer to 0.6 than to 0.11, and so is the last one that ran V0 by default.
  const auto stack_of = [](const std::string& release) {
    return scenario_of("x,gpu=h200-sxm;count=4;nodes=1;net=nvswitch,llama3.1-70b,vllm," + release +
                       ",fp8/?,4,1,1,1,requests,1024,8192,64,tpot_ms,14.2,closed loop")
        .at("workload")
        .at("stack");
  };
  for (const char* release : {"0.2.7", "0.4.2", "0.6.3", "0.7.3"}) CHECK(stack_of(release) == "vllm-0.6");
  for (const char* release : {"0.8.5", "0.10.1", "0.19.0"}) CHECK(stack_of(release) == "vllm-0.11");
  // A static batch over three nodes.
  CHECK(scenario_of("ft,gpu=a100-sxm;count=24;nodes=3;net=infiniband 8xHDR,megatron-sc21-530b,other,FasterTransformer "
                    "5.x,fp16/fp16,8,3,1,1,decode,128,8,16,latency_ms,900,") == json::parse(R"({"fabricast": 1,
    "node": {"profile": "dgx-a100"}, "cluster": {"nodes": 3},
    "workload": {"kind": "inference", "framework": "tensorrt_llm", "stack": "fastertransformer-5", "launch": "eager",
      "model": {"preset": "megatron-sc21-530b"}, "precision": "fp16", "cache_precision": "bf16",
      "parallel": {"tensor": 8, "pipeline": 3, "data": 1}, "phase": "decode", "batch": 16, "input": 128, "output": 8}})"));
  // Workers apart: 34 GPUs of a rack are 17 trays of two. 16 sequences for each of 32 ranks with attention of its own.
  CHECK(scenario_of(
            "x,gpu=gb300;count=34;nodes=9;net=nvlink-nvl72,deepseek-v3,trtllm,0.8,fp4/fp8,1,1,32,32,requests,1024,"
            "1024,512,ttft_ms,90,disaggregated: prefill 1 x (tp1 pp1 dp2 ep2 batch 1); decode 1 x (tp1 pp1 dp32 "
            "moe_tp1 ep32 batch 16); columns of decode") == json::parse(R"({"fabricast": 1,
    "nvlink_domain": {"nodes": 17}, "node": {"profile": "gb300-nvl72", "gpus": 2}, "cluster": {"nodes": 17},
    "workload": {"kind": "inference", "framework": "tensorrt_llm", "stack": "tensorrt-llm-1.0",
      "model": {"preset": "deepseek-v3"}, "precision": "bf16", "experts": {"precision": "fp4"},
      "projection_precision": "fp4", "cache_precision": "fp8",
      "parallel": {"tensor": 1, "expert": 32, "data": 32},
      "disaggregated": {"prefill": {"gpus": 2, "parallel": {"tensor": 1, "expert": 2, "data": 2}}},
      "phase": "both", "batch": 16, "input": 1024, "output": 1024, "load": {"warmup": 0}}})"));
  // Half a node of prompts is filled up. Experts of workers for prompts are split over their eight ranks.
  const json padded = scenario_of(
      "x,gpu=b200;count=12;nodes=2;net=infiniband,deepseek-v3,sglang,0.5,fp8/"
      "?,1,1,8,8,requests,1024,1024,512,tpot_ms,24,"
      "disaggregated: prefill 1 x (tp1 pp1 dp4 ep1 batch 1); decode 1 x (tp1 pp1 dp8 moe_tp8 ep1 batch 64)");
  CHECK(padded.at("cluster").at("nodes") == 2);
  CHECK(padded.at("workload").at("disaggregated") ==
        json::parse(R"({"prefill": {"gpus": 8, "parallel": {"tensor": 1, "expert_tensor": 4, "data": 8}}})"));
  CHECK(padded.at("workload").at("parallel") == json::parse(R"({"tensor": 1, "expert_tensor": 8, "data": 8})"));
  // Experts of 2,048 hidden elements cannot be split 32 ways, as stated: 64 is less than a block of scales.
  const json wide = scenario_of(
      "x,gpu=gb200;count=40;nodes=10;net=nvlink-nvl72,deepseek-v3,sglang,0.5,fp8/"
      "?,1,1,1,32,requests,1024,1024,512,tpot_ms,24,"
      "disaggregated: prefill 1 x (tp1 pp1 dp8 ep1 batch 1); decode 1 x (tp1 pp1 dp32 moe_tp32 ep1 batch 16)");
  CHECK(wide.at("workload").at("parallel") == json::parse(R"({"tensor": 1, "expert": 32, "data": 32})"));
  // Experts' weights of 4 bits where there are no such GEMMs; the largest batch.
  const json narrow = scenario_of(
      "x,gpu=h100-sxm;count=2;nodes=1;net=nvswitch,gpt-oss-120b,vllm-0.6,,fp4/bf16,2,1,1,1,offline,1024,256,fills "
      "memory,"
      "out_tok_s,9000,");
  CHECK(narrow.at("workload").at("precision") == "bf16");
  CHECK(narrow.at("workload").at("experts").at("weight_precision") == "fp4");
  CHECK(narrow.at("workload").at("batch") == 0);
  // Weights and caches of integers, which GEMMs convert to 16 bits.
  const auto integers = [](std::string_view gpu, std::string_view precision) {
    return scenario_of(fmt::format("x,gpu={};count=2;nodes=1;net=nvswitch,llama3-70b,vllm-0.6,,{},2,1,1,1,offline,1024,"
                                   "256,64,out_tok_s,900,",
                                   gpu, precision))
        .at("workload");
  };
  const json four = integers("a100-sxm", "int4/fp16"), eight = integers("v100-sxm", "int8/int8");
  CHECK(four.at("precision") == "bf16");
  CHECK(four.at("weight_precision") == "int4");
  CHECK(four.at("cache_precision") == "bf16");
  CHECK(eight.at("precision") == "fp16");
  CHECK(eight.at("weight_precision") == "int8");
  CHECK(eight.at("cache_precision") == "int8");
  // An all-reduce by NCCL.
  CHECK(scenario_of("x,gpu=h100-sxm;count=2;nodes=1;net=nvswitch,-,other,NCCL 2.27.3,fp16,2,1,1,1,collective,8192,,1,"
                    "allreduce_us,11,") == json::parse(R"({"fabricast": 1, "node": {"profile": "hgx-h100", "gpus": 2},
    "cluster": {"nodes": 1}, "nccl": {"version": "2.27.3"}, "workload": {"collective": "all_reduce", "sizes": ["8192B"]}})"));
  // One by the engine's own kernel.
  const json own = scenario_of(
      "x,gpu=h100-sxm;count=2;nodes=1;net=nvswitch,-,vllm,0.14.0,bf16,2,1,1,1,collective,8192,,1,allreduce_us,5,kernel "
      "vLLM_custom_graph");
  CHECK(own.at("workload").at("phase") == "all_reduce");
  CHECK(own.at("workload").at("message") == "8192B");
  CHECK(own.at("workload").at("launch") == "graph");
}

TEST_CASE("loads of rows are those of the clients and launchers that measured them") {
  const auto workload_of = [](const std::string& source, const std::string& engine, const std::string& load,
                              const std::string& note) {
    return scenario_of(source + ",gpu=h100-sxm;count=2;nodes=1;net=nvswitch,qwen3-32b," + engine +
                       ",fp8/?,2,1,1,1,requests,1024,512," + load + ",ttft_ms,99," + note)
        .at("workload");
  };
  // GenAI-Perf counts the first request of each client. AIConfigurator's passes hold 8 + 1024 + 1500 tokens, with
  // TensorRT-LLM whole blocks of 32.
  const json vllm = workload_of("aic-gap", "vllm,0.12.0", "8", "");
  CHECK(vllm.at("load") == json::parse(R"({"warmup": 0})"));
  CHECK(vllm.at("scheduler") == json::parse(R"({"tokens": 2532})"));
  CHECK(workload_of("aic-gap", "trtllm,1.0.0", "8", "").at("scheduler") == json::parse(R"({"tokens": 2560})"));
  CHECK_FALSE(workload_of("aic-gap", "sglang,0.5.1", "8", "").contains("scheduler"));
  // vLLM plans ahead since 0.14.
  CHECK(workload_of("x", "vllm,0.14.0", "8", "").at("scheduler") == json::parse(R"({"ahead": true})"));
  CHECK_FALSE(workload_of("x", "vllm,0.9.1", "8", "").contains("scheduler"));
  CHECK_FALSE(workload_of("x", "sglang,0.14", "8", "").contains("scheduler"));
  // What a client achieved is what it loads the service with.
  CHECK(workload_of("sgl-cookbook", "sglang,0.5.6", "16", "achieved concurrency 13.5").at("batch") == 14);
  CHECK(workload_of("sgl-cookbook", "sglang,0.5.6", "16", "").at("load") == json::parse(R"({"spread": 1})"));
  // Windows of time do not contain the beginning.
  CHECK_FALSE(workload_of("nim-docs", "trtllm,NIM 1.8", "8", "").contains("load"));
  CHECK_FALSE(workload_of("x", "trtllm,1.0", "8", "genai-perf").contains("load"));
  CHECK(workload_of("x", "trtllm,1.0", "8", "").at("load") == json::parse(R"({"warmup": 0})"));
  // Workers for prompts with attention of their own hold whole experts, in TensorRT-LLM alone.
  const auto prompts = [](const std::string& engine) {
    return scenario_of(
               "x,gpu=b200;count=16;nodes=2;net=infiniband,deepseek-v3," + engine +
               ",0.8,fp8/?,1,1,8,8,requests,8192,1024,128,ttft_ms,9,disaggregated: prefill 1 x (tp1 pp1 dp8 ep1 "
               "batch 1); decode 1 x (tp1 pp1 dp8 moe_tp1 ep8 batch 16)")
        .at("workload")
        .at("disaggregated")
        .at("prefill")
        .at("parallel");
  };
  CHECK(prompts("trtllm") == json::parse(R"({"tensor": 1, "expert": 8, "data": 8})"));
  CHECK(prompts("sglang") == json::parse(R"({"tensor": 1, "expert_tensor": 8, "data": 8})"));
  // The script of December 2025 limited clients to 512, whatever the server took at once.
  const std::string limited =
      "inferencex,gpu=h100-sxm;count=2;nodes=1;net=nvswitch,gpt-oss-120b,vllm,?,fp4/"
      "?,2,1,1,1,requests,1024,1024,";
  CHECK(missing_of(limited + "512,tpot_ms,9,measured 2025-12-05") ==
        "workload.batch: 512 is the client's limit, not its concurrency");
  CHECK(missing_of(limited + "512,tpot_ms,9,measured 2026-03-27").empty());
  CHECK(missing_of(limited + "4,tpot_ms,9,measured 2025-12-05").empty());
}

TEST_CASE("what a row of serving lacks is named by key") {
  const std::string gpu = "x,gpu=h100-sxm;count=8;nodes=1;net=nvswitch,",
                    tail = ",8,1,1,1,requests,1024,128,4,tpot_ms,9,";
  CHECK(missing_of(gpu + "llama9-70b,vllm,0.9,fp8/?" + tail) == "workload.model: unknown model 'llama9-70b'");
  CHECK(missing_of(gpu + "llama3.1-70b,tgi,3,fp8/?" + tail) == "workload.stack: unknown engine 'tgi'");
  CHECK(missing_of(gpu + "llama3.1-70b,vllm,0.9,int3/?" + tail) == "workload.precision: unknown precision 'int3/?'");
  CHECK(missing_of(gpu + "llama3.1-70b,vllm,0.9,fp8/?,3,1,1,1,requests,1024,128,4,tpot_ms,9,") ==
        "workload.parallel: the degrees need 3 GPUs, but there are 8");
  CHECK(missing_of(gpu + "llama3.1-70b,vllm,0.9,fp8/?,8,1,1,1,requests,1024,128,4,joules,9,") ==
        "metric: unknown metric 'joules'");
  CHECK(missing_of(gpu + "llama3.1-70b,vllm,0.9,fp8/?,8,1,1,1,requests,,128,4,tpot_ms,9,") ==
        "workload.input: not stated");
  CHECK(missing_of(gpu + "llama3.1-70b,vllm,0.9,fp8/?,8,1,1,1,requests,1024,128,,tpot_ms,9,") ==
        "workload.load.rate: requests arrive at a rate that is not stated");
  CHECK(missing_of(gpu + "llama3.1-70b,vllm,0.9,fp8/?,8,1,1,1,offline,1024,128,64,ttft_ms,9,") ==
        "metric: ttft_ms has no forecast in phase offline");
  CHECK(missing_of("x,gpu=mi300x;count=8;nodes=1;net=?,llama3.1-70b,vllm,0.9,fp8/?" + tail) ==
        "node.gpu: unknown GPU 'mi300x'");
  CHECK(missing_of("x,gpu=h100-sxm;count=16;nodes=2;net=carrier pigeon,llama3.1-70b,vllm,0.9,fp8/?" + tail) ==
        "node.nics: unknown network 'carrier pigeon'");
  CHECK(missing_of("x,gpu=h100-sxm;count=9;nodes=2;net=infiniband,llama3.1-70b,vllm,0.9,fp8/?" + tail) ==
        "cluster.nodes: 9 GPUs cannot form 2 equal nodes");
}

TEST_CASE("a static batch is its prompts and a step for each token that follows") {
  const std::string run =
      "x,gpu=h100-sxm;count=4;nodes=1;net=nvswitch,llama3.1-8b,trtllm,1,fp8/fp8,2,1,1,1,decode,512,64,";
  const ServingFigures f = figures_of(run + "16,latency_ms,900,");
  const double step = of(f, ServingMetric::tpot_ms), prompts = of(f, ServingMetric::ttft_ms);
  CHECK(of(f, ServingMetric::latency_ms) == Approx(prompts + 63 * step));
  // Two replicas of eight each.
  CHECK(of(f, ServingMetric::out_tok_s) == Approx(1e3 * 16 * 64 / (prompts + 63 * step)));
  CHECK(of(f, ServingMetric::out_tok_s_gpu) == Approx(1e3 * 16 / step / 4));
  CHECK(of(f, ServingMetric::req_s) == Approx(of(f, ServingMetric::out_tok_s) / 64));
  // Prompts of eight sequences by themselves are those of the batch, and a request's way to the engine and back.
  const ServingFigures p = figures_of(
      "x,gpu=h100-sxm;count=4;nodes=1;net=nvswitch,llama3.1-8b,trtllm,1,fp8/fp8,2,1,1,1,prefill,512,1,16,ttft_ms,1,");
  const double outside = 1e3 * shipped_hardware().serving_stack("tensorrt-llm-1.0").request_fixed.us().value;
  CHECK(of(p, ServingMetric::ttft_ms) == Approx(prompts + outside));
  CHECK(of(p, ServingMetric::in_tok_s_gpu) == Approx(1e3 * 16 * 512 / prompts / 4));
}

TEST_CASE("rows share forecasts, count once, and add up; the same whatever the threads") {
  std::vector<MappedServing> rows;
  for (const MappedServing& m : shipped())
    if (m.id.starts_with("nim-docs/") || m.id.starts_with("mlperf-v5.1/") || m.id.starts_with("aic-allreduce/2"))
      rows.push_back(m);
  const std::vector<ServingResult> one = validate_serving(rows, shipped_hardware(), {}, 1);
  const std::vector<ServingResult> many = validate_serving(rows, shipped_hardware(), {}, 3);
  CHECK(serving_json(one) == serving_json(many));
  CHECK(serving_markdown({one, {}}) == serving_markdown({many, {}}));
  CHECK(serving_markdown({one, many}).find("## In the fit") != std::string::npos);
  std::size_t all = 0;
  for (const ServingSummary& s : summarize_serving(one)) {
    CHECK(s.forecast + s.refused + s.unsayable == s.rows);
    all += s.rows;
  }
  CHECK(all == rows.size());
  const json j = json::parse(serving_json(one)).at("serving");
  CHECK(j.at("rows").size() == rows.size());
  CHECK(j.at("missing").size() == missing_keys(one).size());
  const std::string text = serving_text(one, true);
  CHECK(text.find("nim-docs/1 ") != std::string::npos);
  CHECK(text.find("unmapped: workload.") != std::string::npos);
}

TEST_CASE("means over sources count each source once, by metric") {
  const auto result = [](const std::string& source, const char* metric, bool experts, double published,
                         double forecast) {
    ServingResult r;
    r.mapped.row.source = source;
    r.mapped.row.metric = metric;
    r.mapped.row.value = published;
    r.mapped.metric = *enum_from<ServingMetric>(metric);
    r.mapped.experts = experts;
    r.forecast = forecast;
    return r;
  };
  // a: errors +10, +30, -20 %: mean 20, median 20, bias 6.67. b: -50 %.
  const std::vector<ServingSummary> summaries =
      summarize_serving({result("a", "tpot_ms", false, 10, 11), result("a", "tpot_ms", false, 10, 13),
                         result("b", "tpot_ms", false, 4, 2), result("a", "ttft_ms", false, 10, 10),
                         result("a", "tpot_ms", false, 10, 8), result("b", "tpot_ms", true, 4, 8)});
  REQUIRE(summaries.size() == 4);
  CHECK(summaries[0].mean == Approx(0.2));
  CHECK(summaries[0].median == Approx(0.2));
  CHECK(summaries[0].bias == Approx(0.2 / 3));
  CHECK(summaries[0].worst == Approx(0.3));
  const std::vector<ServingMean> means = serving_means(summaries);
  REQUIRE(means.size() == 3);
  CHECK(means[0].metric == ServingMetric::tpot_ms);
  CHECK(means[0].sources == 2);
  CHECK(means[0].rows == 4);
  CHECK(means[0].mean == Approx(0.35));
  CHECK(means[0].bias == Approx((0.2 / 3 - 0.5) / 2));
  CHECK(means[2].experts);
}

TEST_CASE("malformed tables of serving are refused with their position, and rows that do not fit in memory by key") {
  const std::string fine =
      "x,gpu=h100-sxm;count=1;nodes=1;net=nvswitch,llama3.1-8b,vllm,1,fp8/?,1,1,1,1,requests,1024,128,4,tpot_ms,9,\n";
  CHECK(faults_of(header + fine) == "none");
  CHECK(faults_of("") == "t.csv:1:1: the header line is missing\n");
  CHECK(faults_of("source,speed\nx,1\n").starts_with("t.csv:1:8: unknown column 'speed'\n"));
  CHECK(faults_of(std::string(header) + "x,s,m,e,v,fp8,1.5,1,1,1,decode,1024,128,4,tpot_ms,9,\n") ==
        "t.csv:2:15: 'tp' must be a whole number above 0, not '1.5'\n");
  CHECK(faults_of(std::string(header) + "x,s,m,e,v,fp8,1,1,1,1,decode,1024,128,4,tpot_ms,nan,\n") ==
        "t.csv:2:49: 'value' must be a number above 0, not 'nan'\n");
  CHECK(faults_of(std::string(header) + "x,s,m,e,v,fp8,1,1,1,1,decode,1024,128,4,tpot_ms,,\n") ==
        "t.csv:2:49: 'value' is empty\n");
  const std::vector<ServingResult> results =
      validate_serving({mapped("x,gpu=h100-sxm;count=1;nodes=1;net=nvswitch,llama3.1-405b,vllm,1,fp8/"
                               "?,1,1,1,1,requests,1024,128,4,tpot_ms,9,")});
  CHECK(results.front().outcome == RowOutcome::refused);
  CHECK(results.front().key == "memory");
  CHECK(results.front().why.starts_with("does not fit in memory: a GPU has "));
}
