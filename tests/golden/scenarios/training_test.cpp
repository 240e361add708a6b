// What the training scenarios are there to show.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>

#include "support/command_line.hpp"

namespace {

using nlohmann::json;

json run(const std::string& scenario, const std::string& options = {}) {
  return json::parse(fabricast::output_once("run scenarios/training_" + scenario + ".yaml --json - " + options));
}

/// Sum of all numbers of a breakdown.
double sum(const json& breakdown) {
  double s = 0;
  for (const json& value : breakdown)
    if (value.is_object())
      s += sum(value);
    else if (value.is_number())
      s += value.get<double>();
  return s;
}

}  // namespace

TEST_CASE("every training scenario runs, and says where the time goes", "[training]") {
  const std::string scenario = GENERATE(as<std::string>(), "gpt3_175b", "llama3_405b_16k", "fsdp_7b", "deepseek_v3");
  CAPTURE(scenario);
  const json f = run(scenario);
  CHECK(sum(f.at("breakdown")) == Approx(f.at("step_s").get<double>()).epsilon(1e-6));
  for (const json& stage : f.at("timeline").at("stages"))
    CHECK(sum(stage) == Approx(f.at("step_s").get<double>()).epsilon(1e-6));
  CHECK(f.at("memory").at("share") < (scenario == "llama3_405b_16k" ? 1.1 : 1));
  CHECK(f.at("mfu") > 0.08);
  CHECK(f.at("mfu") < 0.65);
}

TEST_CASE("a job has the GPUs and tokens that it is said to have", "[training]") {
  const json llama = run("llama3_405b_16k");
  CHECK(llama.at("gpus") == 16384);
  CHECK(llama.at("tokens_per_s").get<double>() * llama.at("step_s").get<double>() == Approx(16.0 * 1024 * 1024));
  CHECK(run("deepseek_v3").at("gpus") == 2048);
}

TEST_CASE("pre-training of Llama 3 is as fast as published, within a tenth", "[training]") {
  CHECK(run("llama3_405b_16k").at("tflops_per_gpu") == Approx(400).epsilon(0.1));  // [Grattafiori2024]
}

TEST_CASE("pre-training of DeepSeek-V3 is as fast as published, within its interval", "[training]") {
  const json f = run("deepseek_v3");
  // 180,000 GPU hours for 1e12 tokens [DeepSeek2024b].
  const double seconds = 15360 * 4096 / 2048. * 180e3 * 3600 / 1e12;
  CHECK(f.at("interval_90_s").at(0) < seconds);
  CHECK(f.at("interval_90_s").at(1) > seconds);
}

TEST_CASE("DeepSeek-V3 waits for the alltoall of its experts", "[training]") {
  const json f = run("deepseek_v3"), exposed = f.at("breakdown").at("exposed");
  for (const auto& [part, seconds] : exposed.items())
    if (part != "expert") CHECK(seconds < exposed.at("expert"));
  bool found = false;
  for (const json& e : f.at("collectives"))
    if (e.at("part") == "expert") {
      found = true;
      CHECK(e.at("collective") == "alltoall");
      CHECK(e.at("ranks") == 8);  // between eight nodes, and inside one
    }
  CHECK(found);
}

TEST_CASE("fully sharded, a slower network shows at small micro-batches and not at large ones", "[training]") {
  const auto slowdown = [](const std::string& batch) {
    const std::string half = " --set node.nics.rate=100Gbps --set fabric.switch.rate=100Gbps";
    return run("fsdp_7b", batch + half).at("step_s").get<double>() / run("fsdp_7b", batch).at("step_s").get<double>();
  };
  const double small = slowdown("");
  CHECK(small > 1.3);
  CHECK(slowdown("--set workload.batch.micro=4 --set workload.batch.global=256") < 1 + (small - 1) / 2);
}
