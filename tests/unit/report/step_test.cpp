#include "fabricast/report/step.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <regex>

#include "fabricast/core/error.hpp"
#include "fabricast/report/step_interval.hpp"

using namespace fabricast;
using namespace fabricast::literals;

namespace {

const std::string small =
    "fabricast: 1\n"
    "node: {profile: hgx-h100}\n"
    "cluster: {nodes: 4}\n"
    "workload:\n"
    "  kind: training_step\n"
    "  model: {preset: llama2-7b}\n"
    "  batch: {global: 64, micro: 1}\n";

StepForecast forecast(const std::vector<std::string>& set = {}, const std::string& text = small) {
  return run_step(build_world(parse_scenario(text, "step.yaml", set).scenario));
}

double exposed(const StepForecast& f, Part part) { return f.mean.exposed[static_cast<std::size_t>(part)].value; }
double busy(const StepForecast& f, Part part) { return f.mean.busy[static_cast<std::size_t>(part)].value; }

const CollectiveUse* find_use(const StepForecast& f, Part part, CollectiveOp op) {
  for (const CollectiveUse& use : f.collectives)
    if (use.kind.part == part && use.kind.op == op) return &use;
  return nullptr;
}

/// The messages of a refused scenario.
std::string fault(const std::vector<std::string>& set) {
  try {
    forecast(set);
  } catch (const UserError& e) {
    const Diagnostic& d = e.diagnostics().front();
    return d.path + ": " + d.message + " | " + d.hint;
  }
  return "nothing";
}

}  // namespace

TEST_CASE("collectives of a step carry the bytes that the split implies") {
  const StepForecast f = forecast({"workload.parallel.tensor=4", "workload.parallel.pipeline=2"});
  // Activations of 4096 tokens of 4096 in 16 bits, twice per layer and pass, 16 layers a stage, 16 micro-batches.
  const CollectiveUse* tensor = find_use(f, Part::tensor, CollectiveOp::all_reduce);
  REQUIRE(tensor);
  CHECK(tensor->kind.bytes == 2 * 4096 * 4096);
  CHECK(f.program.groups[tensor->kind.groups].front() == std::vector<std::uint32_t>{0, 1, 2, 3});
  const CollectiveUse* pipeline = find_use(f, Part::pipeline, CollectiveOp::sendrecv);
  REQUIRE(pipeline);
  CHECK(pipeline->kind.bytes == 2 * 4096 * 4096 / 4);
  CHECK(pipeline->kind.one_way);
  CHECK(pipeline->calls == 16);
  // Replicas are a tensor group apart.
  const CollectiveUse* data = find_use(f, Part::data, CollectiveOp::reduce_scatter);
  REQUIRE(data);
  const std::vector<std::uint32_t>& replicas = f.program.groups[data->kind.groups].front();
  REQUIRE(replicas.size() == 4);
  for (std::size_t i = 1; i < replicas.size(); ++i) CHECK(replicas[i] - replicas[i - 1] == 4);
}

TEST_CASE("gradients are reduced once per step, whatever their buckets") {
  for (const char* bucket : {"1MB", "100MB", "100GB"}) {
    const StepForecast f = forecast({"workload.overlap.bucket=" + std::string(bucket), "workload.parallel.zero=1"});
    double reduced = 0, gathered = 0;
    for (const CollectiveUse& use : f.collectives) {
      if (use.kind.part != Part::data) continue;
      (use.kind.op == CollectiveOp::reduce_scatter ? reduced : gathered) +=
          use.calls * static_cast<double>(use.kind.bytes);
    }
    const double parameters = static_cast<double>(
        count_parameters(step_of(build_world(parse_scenario(small, "step.yaml").scenario)).model).total);
    CHECK(reduced == Approx(4 * parameters).epsilon(1e-6));
    CHECK(gathered == Approx(2 * parameters).epsilon(1e-6));
  }
}

TEST_CASE("ZeRO 3 gathers every layer forward and backward, in every micro-batch") {
  const std::vector<std::string> set{"workload.framework=fsdp", "workload.parallel.zero=3"};
  const StepForecast f = forecast(set);
  double gathers = 0, reductions = 0;
  for (const CollectiveUse& use : f.collectives) {
    if (use.kind.op == CollectiveOp::all_gather) gathers += use.calls;
    if (use.kind.op == CollectiveOp::reduce_scatter) reductions += use.calls;
  }
  // Two micro-batches of 32 layers; the last layer of the forward pass stays for the backward pass.
  CHECK(gathers == 2 * (32 + 31));
  CHECK(reductions == 2 * 32);
  auto fewer = set;
  fewer.push_back("workload.parallel.shard=8");
  const StepForecast hybrid = forecast(fewer);
  const CollectiveUse* gather = find_use(hybrid, Part::data, CollectiveOp::all_gather);
  REQUIRE(gather);
  CHECK(hybrid.program.groups[gather->kind.groups].front().size() == 8);
  CHECK(find_use(hybrid, Part::data, CollectiveOp::all_reduce));  // of the shards, over four nodes
}

TEST_CASE("overlap hides, and never costs more than it hides") {
  const StepForecast off = forecast({"workload.overlap.data=false"}), on = forecast({"workload.overlap.data=true"});
  CHECK(exposed(on, Part::data) < 0.5 * exposed(off, Part::data));
  CHECK(on.time.value < off.time.value);
  CHECK(on.time.value > off.time.value - exposed(off, Part::data));
}

TEST_CASE("recomputation is reported separately") {
  double before = 0;
  for (const char* recompute : {"none", "selective", "ops", "full"}) {
    const double again = busy(forecast({"workload.recompute=" + std::string(recompute)}), Part::recompute);
    CHECK(again >= before);
    before = again;
  }
  CHECK(before == Approx(busy(forecast(), Part::forward)).epsilon(0.05));
}

TEST_CASE("stages hold the stated layers") {
  const std::vector<std::string> four{"workload.model.vocab=256000", "workload.parallel.pipeline=4"};
  const auto with = [&](const std::string& layers) {
    std::vector<std::string> set = four;
    set.push_back("workload.parallel.layers=" + layers);
    return forecast(set);
  };
  const StepForecast even = forecast(four), fewer = with("[9, 9, 8, 6]");
  CHECK(with("[8, 8, 8, 8]").time == even.time);
  CHECK(fewer.stages[3].busy[static_cast<std::size_t>(Part::forward)].value ==
        Approx(0.75 * even.stages[3].busy[static_cast<std::size_t>(Part::forward)].value));
  CHECK(fewer.time.value < 0.97 * even.time.value);
  CHECK(fewer.memory.stages[3].parameters < even.memory.stages[3].parameters);
  // The waiting time of the busiest stage is due to the schedule.
  CHECK(schedule_bubble(even) == even.stages[3].bubble);
  CHECK(schedule_bubble(even) < 0.6 * even.mean.bubble);
  // A chunk may hold the embedding alone, another the output.
  const std::vector<std::string> chunks{"workload.parallel.pipeline=2", "workload.parallel.interleave=2",
                                        "workload.parallel.layers=[0, 16, 16, 0]"};
  const StepForecast bare = forecast(chunks);
  CHECK(busy(bare, Part::forward) == Approx(busy(even, Part::forward)).epsilon(0.01));
  CHECK(fault({"workload.parallel.pipeline=2", "workload.parallel.layers=[32]"}) ==
        "workload.parallel.layers: the number of chunks is 1, but pipeline 2 x interleave 1 is 2 | ");
  CHECK(fault({"workload.parallel.pipeline=2", "workload.parallel.layers=[15, 16]"}) ==
        "workload.parallel.layers: the chunks add up to 31 layers, but the model has 32 | ");
  CHECK(fault({"workload.parallel.pipeline=2", "workload.parallel.layers=[0, 32]"}) ==
        "workload.parallel.layers: leaves stage 0 without layers | ");
}

TEST_CASE("intervals widen with unknown parameters") {
  const auto with = [](const std::string& spread, const std::string& text) {
    Scenario s = parse_scenario(text, "step.yaml", {}).scenario;
    if (!spread.empty()) {
      const std::string path = "stacks." + s.workload.training.stack + ".spread";
      Hardware& changed = s.hardware.change();
      changed.own(path);
      changed.find(path)->value = std::stod(spread);
    }
    const auto world = build_world(std::move(s));
    StepForecast f = run_step(world);
    add_interval(f);
    return f.factor;
  };
  const double shipped = with("", small), sure = with("0", small);
  CHECK(sure > 1.01);
  CHECK(shipped > sure);
  // The spread of held-out sources is the minimum spread of any stack.
  const double least = quantile_95 * shipped_hardware().step_spread.of(false).value;
  const double parameters = std::pow(std::log(sure), 2) - std::pow(least, 2);
  CHECK(parameters > 0);
  CHECK(with("0.2", small) == Approx(std::exp(std::sqrt(parameters + std::pow(quantile_95 * 0.2, 2)))));
  // No step has determined the rates of Blackwell.
  CHECK(with("0", std::regex_replace(small, std::regex("hgx-h100"), "hgx-b200")) > sure);
  CHECK(interval_factor(2.0_s, {2.0_s, 2.0_s}, 0) == 1);
  CHECK(interval_factor(2.0_s, {1.0_s, 4.0_s}, 0) == Approx(std::pow(2, quantile_95)));
}

TEST_CASE("tokens are dispatched to experts and combined") {
  const std::string moe =
      "fabricast: 1\nnode: {profile: hgx-h100}\ncluster: {nodes: 4}\nworkload:\n  kind: training_step\n"
      "  model: {preset: mixtral-8x7b, sequence: 4096}\n  batch: {global: 64, micro: 1}\n  parallel: {expert: 8}\n";
  const StepForecast f = forecast({}, moe);
  const CollectiveUse* tokens = find_use(f, Part::expert, CollectiveOp::alltoall);
  REQUIRE(tokens);
  CHECK(tokens->kind.bytes == 2 * 4096 * 4096 * 2);  // two experts of each token, 16 bits
  // Two micro-batches, 32 layers, dispatch and combine, forward and backward.
  CHECK(tokens->calls == 2 * 32 * 4);
  CHECK(forecast({"workload.experts.imbalance=2"}, moe).time > f.time);
}

TEST_CASE("a faster network never makes a step slower, a slower one never faster") {
  double before = 1e9;
  for (const char* rate : {"50Gbps", "100Gbps", "200Gbps", "400Gbps", "800Gbps"}) {
    const double seconds = forecast({"node.nics.rate=" + std::string(rate)}).time.value;
    CHECK(seconds <= before * (1 + 1e-9));
    before = seconds;
  }
}

TEST_CASE("a step does not depend on the number of threads") {
  const std::vector<std::string> set{"node.profile=hgx-h100-roce", "fabric.kind=fat_tree", "routing.kind=ecmp",
                                     "routing.seeds=4"};
  const auto world = build_world(parse_scenario(small, "step.yaml", set).scenario);
  RunOptions one, two;
  one.threads = 1, two.threads = 2;
  CHECK(step_json(run_step(world, one)) == step_json(run_step(world, two)));
}

TEST_CASE("a step of one GPU has no collectives") {
  const StepForecast f = forecast({"node.gpus=1", "cluster.nodes=1", "workload.batch.global=1"});
  CHECK(f.collectives.empty());
  CHECK(f.mean.bubble.value == Approx(0).margin(1e-9));
  CHECK(f.time.value > 0);
}

TEST_CASE("JSON has the documented fields") {
  const auto world = build_world(parse_scenario(small, "step.yaml").scenario);
  const StepForecast f = run_step(world);
  const auto j = nlohmann::json::parse(step_json(f));
  for (const char* key :
       {"fabricast", "scenario", "fingerprint", "step_s", "tokens_per_s", "mfu", "breakdown", "timeline"})
    CHECK(j.contains(key));
  CHECK(j["step_s"].get<double>() == Approx(f.time.value));
  CHECK(j["tokens_per_s"].get<double>() == Approx(64 * 4096 / f.time.value));
}

TEST_CASE("errors about splits name the number to change") {
  CHECK(fault({"workload.parallel.tensor=3"}).find("does not divide") != std::string::npos);
  CHECK(fault({"workload.parallel.pipeline=5"}).find("is 5, which does not divide 32 GPUs") != std::string::npos);
  CHECK(fault({"workload.parallel.data=7"}).find("7 ranks, but the job has 32 GPUs | data: 32 fills it") !=
        std::string::npos);
  CHECK(fault({"workload.batch.global=33"}).find("33 sequences are not a multiple of micro 1 x data 32 | e.g. 32") !=
        std::string::npos);
  CHECK(fault({"workload.batch.global=0"}).find("batch.global: is missing") != std::string::npos);
  CHECK(fault({"workload.parallel.expert=2"}).find("the model has no experts") != std::string::npos);
  CHECK(fault({"workload.parallel.sequence=true"}).find("tensor is 1") != std::string::npos);
  CHECK(fault({"workload.parallel.interleave=2"}).find("there is only one stage") != std::string::npos);
  CHECK(fault({"workload.parallel.pipeline=4", "workload.parallel.interleave=16"}).find("more than 32 layers") !=
        std::string::npos);
  CHECK(fault({"workload.parallel.pipeline=4", "workload.parallel.interleave=2", "workload.batch.global=48"})
            .find("6 micro-batches are not a multiple of 4 stages") != std::string::npos);
  CHECK(fault({"workload.parallel.order=tensor-data"}).find("does not name each dimension exactly once") !=
        std::string::npos);
  CHECK(fault({"workload.stack=megatron-2042"}).find("unknown stack") != std::string::npos);
  CHECK(fault({"workload.stack=nemo-24.07"}).find("framework: nemo") != std::string::npos);
  CHECK(fault({"workload.framework=vllm"}).find("is not a training framework") != std::string::npos);
  CHECK(fault({"workload.model.preset=llama9"}).find("unknown") != std::string::npos);
  CHECK(fault({"node.gpu=v100-sxm", "node.profile="}).find("workload.precision") != std::string::npos);
}
