// What the scenarios of inference are there to show, held to closed forms and to orders of magnitude.
#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "support/command_line.hpp"
#include "support/scratch.hpp"

namespace {

using nlohmann::json;

json run(const std::string& scenario, const std::string& options = {}) {
  return json::parse(fabricast::output_once("run scenarios/" + scenario + ".yaml " + options + " --json -"));
}

json decode(const std::string& options = {}) { return run("inference_decode", options); }

double step_ms(const json& j) { return 1e3 * j.at("step_s").get<double>(); }

/// All parts of a step, with those that are exposed.
std::map<std::string, double> parts(const json& step) {
  std::map<std::string, double> all;
  for (const auto& [name, seconds] : step.at("breakdown").items())
    if (seconds.is_number()) all[name] = seconds;
  for (const auto& [name, seconds] : step.at("breakdown").at("exposed").items()) all["exposed " + name] = seconds;
  return all;
}

json collective(const json& j, const std::string& part, const std::string& collective) {
  for (const json& e : j.at("collectives"))
    if (e.at("part") == part && e.at("collective") == collective) return e;
  FAIL("no " << part << " " << collective);
  return {};
}

}  // namespace

TEST_CASE("parts of a decode step add up, and tokens follow from it", "[inference]") {
  const json j = decode();
  double sum = 0;
  for (const auto& [name, seconds] : parts(j)) sum += seconds;
  CHECK(sum == Approx(j.at("step_s").get<double>()).epsilon(1e-6));
  CHECK(j.at("tokens_per_s") == Approx(64 / j.at("step_s").get<double>()));
  // 8 bits of each weight but those of the embedding, over four GPUs of 3.35 TB/s.
  CHECK(step_ms(j) > 68.5e9 / 4 / 3.35e12 * 1e3);
}

TEST_CASE("decoding is of a published order of magnitude", "[inference]") {
  // General knowledge: 20 to 25 ms, and 6 to 8 ms, with a factor of 1.5.
  const double a100 =
      step_ms(decode("--set 'node={profile: dgx-a100}' --set workload.parallel.tensor=8 --set workload.precision=bf16 "
                     "--set workload.batch=1 --set 'workload.model={preset: llama2-70b}'"));
  CHECK(a100 > 20 / 1.5);
  CHECK(a100 < 25 * 1.5);
  const double h100 = step_ms(
      decode("--set node.gpus=2 --set workload.parallel.tensor=1 --set workload.precision=bf16 --set workload.batch=1 "
             "--set 'workload.model={preset: llama3-8b}'"));
  CHECK(h100 > 6 / 1.5);
  CHECK(h100 < 8 * 1.5);
}

TEST_CASE("wide expert parallelism is of a published order of magnitude", "[inference]") {
  // General knowledge: 2,000 tokens a second of each H800 that decodes, several thousand of prompts.
  const json decoding = run("inference_experts");
  CHECK(decoding.at("tokens_per_s_per_gpu") > 2000 / 1.5);
  CHECK(decoding.at("tokens_per_s_per_gpu") < 2000 * 1.5);
  const json prompts = run("inference_experts",
                           "--set cluster.nodes=4 --set workload.phase=prefill --set workload.batch=4 --set "
                           "'workload.parallel={tensor: 4, expert: 32}'");
  CHECK(prompts.at("tokens_per_s_per_gpu") > 3000 / 1.5);
  CHECK(prompts.at("tokens_per_s_per_gpu") < 6000 * 1.5);
}

TEST_CASE("larger batches and longer contexts take longer, and give more tokens", "[inference]") {
  double before = 0, rate = 0;
  const json batches = decode().at("batches");
  CHECK(batches.size() >= 8);
  for (const json& row : batches) {
    CHECK(row.at("step_s") >= before);
    CHECK(row.at("tokens_per_s") >= rate);
    before = row.at("step_s"), rate = row.at("tokens_per_s");
  }
  CHECK(step_ms(decode("--set workload.input=8192")) > step_ms(decode()));
}

TEST_CASE("a graph spares the host's launches", "[inference]") {
  const std::string small = "--set 'workload.model={preset: llama3-8b}' --set workload.batch=1 ";
  const json graph = decode(small), eager = decode(small + "--set workload.launch=eager");
  CHECK(step_ms(eager) > 1.05 * step_ms(graph));
  CHECK(eager.at("breakdown").at("host") > 1.5 * graph.at("breakdown").at("host").get<double>());
  // Large batches keep the GPU behind its host.
  const std::string large = "--set workload.batch=256 ";
  CHECK(step_ms(decode(large)) <= step_ms(decode(large + "--set workload.launch=eager")));
}

TEST_CASE("over nodes, two all-reduces a layer are most of a step", "[inference]") {
  const json j =
      decode("--set node.gpus=8 --set cluster.nodes=4 --set workload.parallel.tensor=32 --set workload.batch=1");
  const json reduce = collective(j, "tensor", "all_reduce");
  CHECK(reduce.at("calls") == 161);
  CHECK(reduce.at("ranks") == 32);
  for (const auto& [name, seconds] : parts(j)) CHECK(seconds <= parts(j).at("exposed tensor"));
}

TEST_CASE("stages work on as many passes as there are", "[inference]") {
  const json one = decode("--set workload.parallel.tensor=1 --set workload.parallel.pipeline=4");
  // Four passes of 16 sequences each read a stage's weights.
  const json alone = decode("--set workload.batch=16");
  CHECK(step_ms(one) > 2 * (step_ms(alone) - 1e3 * alone.at("breakdown").at("host").get<double>()));
  CHECK(collective(one, "pipeline", "sendrecv").at("calls") == 4);
  CHECK(one.at("breakdown").contains("gemm"));
}

TEST_CASE("replicas that share experts dispatch tokens to each other", "[inference]") {
  const std::string moe =
      "--set node.gpus=8 --set cluster.nodes=4 --set workload.parallel.tensor=1 --set 'workload.model={preset: "
      "deepseek-v3}' --set workload.parallel.expert=32 ";
  const json j = decode(moe);
  CHECK(collective(j, "expert", "alltoall").at("ranks") == 32);
  CHECK(j.at("tokens_per_s") == Approx(64 * 32 / j.at("step_s").get<double>()));
  CHECK(step_ms(decode(moe + "--set workload.imbalance=2")) > step_ms(j));
}

TEST_CASE("halves of a pass hide each other's collectives", "[inference]") {
  // Wide expert parallelism at a large batch.
  const std::string moe =
      "--set node.gpus=8 --set cluster.nodes=8 --set workload.parallel.tensor=1 --set 'workload.model={preset: "
      "deepseek-v3}' --set workload.parallel.expert=64 --set workload.input=4096 --set workload.batch=128 ";
  const json apart = decode(moe), turns = decode(moe + "--set workload.overlap=true");
  CHECK(collective(turns, "expert", "alltoall").at("calls") ==
        2 * collective(apart, "expert", "alltoall").at("calls").get<int>());
  CHECK(collective(turns, "expert", "alltoall").at("bytes") ==
        collective(apart, "expert", "alltoall").at("bytes").get<int>() / 2);
  CHECK(step_ms(turns) < step_ms(apart));
  CHECK(parts(turns).at("exposed expert") < 0.8 * parts(apart).at("exposed expert"));
  CHECK(parts(turns).at("interference") > 0);
  // Weights are read twice, and experts get half as many tokens.
  CHECK(parts(turns).at("gemm") > parts(apart).at("gemm"));
  // One sequence has no halves.
  CHECK(decode("--set workload.batch=1 --set workload.overlap=true").at("step_s") ==
        decode("--set workload.batch=1").at("step_s"));
}

TEST_CASE("prompts take turns with decoding, or ride along", "[inference]") {
  const json turns = decode("--set workload.phase=both"),
             chunks = decode("--set workload.phase=both --set workload.chunk=512");
  const json &a = turns.at("shared"), &b = chunks.at("shared");
  // Little's law over 64 clients, but for how the loop begins and ends; and over sequences that are decoded.
  const auto at_once = [](const json& served) {
    return served.at("requests_per_s").get<double>() * served.at("request_s").get<double>();
  };
  const auto decoded = [](const json& served) {
    return served.at("tokens_per_s").get<double>() * served.at("itl_s").get<double>();
  };
  CHECK(at_once(a) == Approx(64).epsilon(0.05));
  CHECK(at_once(b) == Approx(64).epsilon(0.05));
  CHECK(a.at("tokens_per_s") == Approx(128 * a.at("requests_per_s").get<double>()));
  // Prompts one by one, and steps of 64 sequences: sharing passes can only be faster, and prompts take their time.
  const double cycle = 64 * turns.at("prefill_s").get<double>() + 128 * turns.at("step_s").get<double>();
  CHECK(a.at("tokens_per_s") > 64 * 128 / cycle);
  CHECK(a.at("itl_s") > turns.at("step_s"));
  CHECK(b.at("itl_s_worst") < a.at("itl_s_worst"));
  CHECK(b.at("ttft_s") > a.at("ttft_s"));
  // Each prompt takes four steps of 128 tokens that follow it: no more than 32 sequences decode at once.
  const json few = decode("--set workload.phase=both --set workload.chunk=256");
  CHECK(at_once(few.at("shared")) == Approx(64).epsilon(0.05));
  CHECK(few.at("shared").at("sequences") < 32);
  for (const json& served : {a, b, few.at("shared")})
    CHECK(decoded(served) == Approx(served.at("sequences").get<double>()).epsilon(0.02));
  CHECK(few.at("shared").at("itl_s") <= few.at("shared").at("itl_s_worst"));
  const json prompts = decode("--set workload.phase=prefill --set workload.batch=8");
  CHECK(prompts.at("tokens_per_s") == Approx(8 * 1024 / prompts.at("step_s").get<double>()));
}

TEST_CASE("a cache goes to the GPUs that decode, after the prompt or behind it", "[inference]") {
  // Blocks that lie next to each other, so that links decide.
  const std::string in_one_run = "--set workload.kv_cache.contiguous=0";
  const json j = run("inference_disaggregated", in_one_run);
  const json &apart = j.at("disaggregated"), &transfer = apart.at("transfer");
  CHECK(transfer.at("path") == "rdma");
  CHECK(transfer.at("library") == "nixl");
  CHECK(transfer.at("bytes") == 80 * 2 * 1024 * 4096);
  // Four pairs of GPUs with a NIC of 50 GB/s each.
  const double line = transfer.at("bytes").get<double>() / 200e9;
  CHECK(transfer.at("time_s") > line);
  CHECK(transfer.at("time_s") < 1.03 * line);
  CHECK(transfer.at("exposed_s") == transfer.at("time_s"));
  const double most =
      512 * std::min(apart.at("prefill_requests_per_s").get<double>(), apart.at("decode_requests_per_s").get<double>());
  CHECK(apart.at("tokens_per_s") <= most);
  CHECK(apart.at("tokens_per_s") > 0.94 * most);
  CHECK(apart.at("itl_s") < j.at("shared").at("itl_s"));
  // Two heads on each GPU, in blocks of 16 tokens.
  const json posted = run("inference_disaggregated").at("disaggregated").at("transfer");
  CHECK(posted.at("descriptors") == 80 * 2 * 256);
  CHECK(posted.at("descriptor_bytes") == 16 * 2 * 128);
  CHECK(posted.at("time_s") > transfer.at("time_s"));
  CHECK(posted.at("bottleneck") == "posting of descriptors");
  // Prompts of GPUs that are split another way.
  const json wider = run("inference_disaggregated", "--set workload.disaggregated.prefill.parallel.tensor=8");
  CHECK(wider.at("prefill_s") == wider.at("disaggregated").at("prefill_s"));
  CHECK(wider.at("prefill_s") < j.at("prefill_s"));
  const json layers = run("inference_disaggregated", in_one_run + " --set workload.disaggregated.stream=true")
                          .at("disaggregated")
                          .at("transfer");
  CHECK(layers.at("exposed_s") == Approx(layers.at("time_s").get<double>() / 80));
  const json staged =
      run("inference_disaggregated", in_one_run + " --set node.gdr=false").at("disaggregated").at("transfer");
  CHECK(staged.at("path") == "host");
  CHECK(staged.at("time_s") > transfer.at("time_s"));
  const json same =
      run("inference_disaggregated", in_one_run + " --set cluster.nodes=1 --set workload.disaggregated.prefill.gpus=4")
          .at("disaggregated")
          .at("transfer");
  CHECK(same.at("path") == "nvlink");
  CHECK(same.at("time_s") < 0.5 * transfer.at("time_s").get<double>());
  // NCCL's sends and receives, layer by layer.
  const json nccl =
      run("inference_disaggregated", "--set workload.kv_cache.library=nccl").at("disaggregated").at("transfer");
  CHECK(nccl.at("time_s") > transfer.at("time_s"));
  CHECK(nccl.at("exposed_s") == Approx(nccl.at("time_s").get<double>() / 80));
  CHECK_FALSE(nccl.contains("descriptors"));
}

TEST_CASE("the model may be a Hugging Face config", "[inference]") {
  const fabricast::Scratch scratch;
  std::ofstream(scratch / "config.json")
      << R"({"model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32,
             "num_hidden_layers": 32, "num_key_value_heads": 8, "vocab_size": 128256, "max_position_embeddings": 8192,
             "tie_word_embeddings": false})";
  const auto step = [&](const std::string& model) {
    const std::string file = scratch / "scenario.yaml";
    std::ofstream(file) << "fabricast: 1\nnode: {profile: hgx-h100, gpus: 1}\ncluster: {nodes: 1}\n"
                           "workload: {kind: inference, model: {"
                        << model << "}}\n";
    return json::parse(fabricast::output("run " + file + " --json -")).at("step_s").get<double>();
  };
  CHECK(step("config: config.json") == step("preset: llama3-8b"));
}

TEST_CASE("lists name what inference has", "[inference]") {
  const std::string kinds = fabricast::output("list workloads"), stacks = fabricast::output("list stacks");
  for (const char* kind : {"collective", "training_step", "inference", "trace"})
    CHECK_THAT(kinds, Catch::Contains(kind));
  for (const char* stack : {"vllm-0.11", "tensorrt-llm-0.15", "megatron-2024"}) {
    CHECK_THAT(stacks, Catch::Contains(stack));
    CHECK_THAT(fabricast::output("describe " + std::string(stack)), Catch::Contains("rate of GEMMs"));
  }
}
