// Settings of NCCL judged by a step. Truths from outside: runs of the changed scenario, the whole grid of choices,
// counts by hand of NCCL's source, and parameters that the intervals were not computed from.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <map>

#include "fabricast/core/fingerprint.hpp"
#include "fabricast/planner/group_buffers.hpp"
#include "fabricast/planner/tuner_profile.hpp"
#include "fabricast/report/inference_advice.hpp"
#include "fabricast/report/step_advice.hpp"
#include "fabricast/report/step_interval.hpp"
#include "fabricast/report/step_settings.hpp"
#include "fabricast/report/tuner.hpp"
#include "support/scratch.hpp"
#include "support/worlds.hpp"

namespace fabricast {
namespace {

using Env = std::map<std::string, std::string>;

/// ZeRO 3 on four nodes: gathers and scatters beside computation. NICs of 100 Gb/s bind whatever the channels, so only
/// the SMs count. Where copies bind, half of the channels take twice as long, and cost computation as much.
const std::string fsdp = "node: {profile: hgx-h100, nics: {rate: 100Gbps}}\ncluster: {nodes: 4}\n";
const std::string workload =
    "workload: {kind: training_step, model: {preset: llama2-7b}, framework: fsdp, batch: {global: 128, micro: 4}}\n";
Scenario fsdp_scenario() { return test::world_of(fsdp + "nccl: {version: \"2.28.3\"}\n" + workload).scenario(); }
World with_env(Scenario s, const Env& env) {
  for (const auto& [name, value] : env) s.nccl.env[name] = value;
  return build_world(std::move(s));
}

Scenario with_interference(Scenario s, double fraction) {
  Parameter& p = s.hardware.change().stacks.find(s.workload.training.stack)->second.interference;
  p.value = p.low = p.high = fraction;
  p.inherited = false;
  return s;
}

TEST_CASE("buffers are those that NCCL allocates", "[step_settings]") {
  const NcclSettings plain{};
  constexpr std::int64_t ll = 8 * 512 * 16 * 8, ll128 = 120 * 640 * 8 * 8, simple = 1 << 22;  // src/init.cc
  // One node: every GPU receives from one other on each channel.
  CHECK(ring_buffers({1, 8, 16, true}, plain) == Bytes{16 * (ll + ll128 + simple)});
  // One GPU per node: it receives and sends over the network.
  CHECK(ring_buffers({4, 1, 2, true}, plain) == Bytes{2 * (ll + 2 * (ll128 + simple))});
  CHECK(ring_buffers({4, 1, 2, false}, plain) == Bytes{0});
  // Two nodes of two GPUs: on each channel two connections inside, two over the network, for four GPUs.
  CHECK(ring_buffers({2, 2, 4, true}, plain).value ==
        4 * (2 * (ll + ll128 + simple) + 2 * (ll + 2 * (ll128 + simple))) / 4);
  // Two nodes of one GPU: one edge of the tree, both directions, each with a sender and a receiver.
  CHECK(tree_buffers({2, 1, 1, true}, plain).value == 2 * (ll + 2 * (ll128 + simple)) / 2);
  // NVLS: 16 channels, two buffers of eight chunks for each of eight heads.
  CHECK(nvls_buffers({1, 8, 16, true}, Bytes{131072}) == Bytes{16LL * 2 * 8 * 131072 * 8});
  NcclSettings half = plain;
  half.buffer_size = Bytes{simple / 2};
  CHECK(ring_buffers({1, 8, 8, true}, plain) - ring_buffers({1, 8, 8, true}, half) == Bytes{16 << 20});
}

TEST_CASE("a setting of a step gains what running it gains", "[step_settings]") {
  const Scenario scenario = fsdp_scenario();
  const World world = build_world(Scenario(scenario));
  const StepSettings found = step_settings(world);
  CHECK(found.before.time == run_step(world).time);
  REQUIRE_FALSE(found.taken.empty());
  Env env;
  Seconds before = found.before.time;
  for (const StepSetting& s : found.taken) {
    CAPTURE(s.what);
    CHECK(s.gain[0] > 0);
    CHECK(s.gain[0] < s.gain[1]);
    CHECK(s.gain[1] < s.gain[2]);
    CHECK(s.gain[2] < 1);
    for (const Variable& v : s.variables) env[v.name] = v.value.value();
    const Seconds after = run_step(with_env(scenario, env)).time;
    CHECK(after == s.time.time);
    CHECK(s.gain[1] == Approx(1 - after / before));
    before = after;
  }
  CHECK(found.after.time == before);
  for (const StepSetting& s : found.unsure) CHECK(s.gain[0] <= 0);
  const std::string script = step_settings_script(found);
  for (const auto& [name, value] : env)
    CHECK(script.find("\nexport " + name + "='" + value + "'\n") != std::string::npos);
  RunOptions one;
  one.threads = 1;
  CHECK(step_settings_script(step_settings(world, one)) == script);
}

TEST_CASE("no number of channels with any buffer beats the search by more than its threshold", "[step_settings]") {
  const Scenario scenario = fsdp_scenario();
  const StepSettings found = step_settings(build_world(Scenario(scenario)));
  // Changes that were taken for other variables stay.
  Env kept;
  for (const StepSetting& s : found.taken)
    for (const Variable& v : s.variables)
      if (v.name != "NCCL_MAX_CTAS" && v.name != "NCCL_MIN_CTAS" && v.name != "NCCL_BUFFSIZE") kept[v.name] = *v.value;
  double least = 1e9;
  std::string best;
  for (const char* channels : {"2", "4", "6", "8", "12", "16", "24"})
    for (const char* buffer : {"1048576", "4194304", "16777216"}) {
      Env env = kept;
      env["NCCL_MAX_CTAS"] = channels;
      env["NCCL_BUFFSIZE"] = buffer;
      const double t = run_step(with_env(scenario, env)).time.value;
      if (t < least) {
        least = t;
        best = std::string(channels) + " channels, " + buffer;
      }
    }
  CAPTURE(best, least);
  // Settings that are not certain to gain are not taken, so their likely gains count for the search.
  double reached = found.after.time.value;
  for (const StepSetting& s : found.unsure) reached = std::min(reached, s.time.time.value);
  CHECK(reached <= least * (1 + 2 * least_step_gain));
}

TEST_CASE("fewer channels help a step only if collectives slow its computation down", "[step_settings]") {
  const auto reduces = [](const StepSettings& s) {
    const auto names = [](const StepSetting& one) {
      return std::any_of(one.variables.begin(), one.variables.end(),
                         [](const Variable& v) { return v.name == "NCCL_MAX_CTAS"; });
    };
    return std::any_of(s.taken.begin(), s.taken.end(), names) || std::any_of(s.unsure.begin(), s.unsure.end(), names);
  };
  const Scenario scenario = fsdp_scenario();
  CHECK_FALSE(reduces(step_settings(build_world(with_interference(scenario, 0)))));
  CHECK(reduces(step_settings(build_world(with_interference(scenario, 0.4)))));
}

TEST_CASE("a step with the exported profile takes the promised time", "[step_settings]") {
  const Scenario scenario = fsdp_scenario();
  const World world = build_world(Scenario(scenario));
  const std::vector<TunerRules> rules = step_tuner_rules(world, true);
  double left = 1;
  for (const TunerRules& table : rules)
    for (const TunerRule& r : table.rules) {
      CHECK(r.gain[0] > 0);
      left *= 1 - r.gain[1];
    }
  REQUIRE(left < 1);
  const std::string text = tuner_profile(world, rules);
  const auto parsed = parse_tuner_profile(text);
  REQUIRE(std::holds_alternative<TunerProfile>(parsed));
  const Scratch scratch;
  const std::string file = scratch / ("step." + fingerprint(text) + ".json");
  std::ofstream(file) << text;
  const std::string env =
      "nccl: {version: \"2.28.3\", env: {NCCL_TUNER_PLUGIN: libnccl-tuner-fabricast.so, "
      "NCCL_TUNER_CONFIG_FILE: \"" +
      file + "\"}}\n";
  const World tuned = test::world_of(fsdp + env + workload);
  CHECK(run_step(tuned).time / run_step(world).time == Approx(left));
  // A profile of another content than its name says is refused, with the key.
  std::ofstream(file, std::ios::app) << "\n";
  CHECK_THROWS_AS(test::world_of(fsdp + env + "workload: {}\n"), UserError);
  CHECK_THROWS_AS(step_tuner_rules(tuned, true), UserError);
}

TEST_CASE("gains lie in their intervals as often as stated", "[step_settings]") {
  const World world = build_world(fsdp_scenario());
  const StepTime before = step_time_of(world);
  const SampledStep now = sampled_step(world, before);
  int within = 0, all = 0;
  for (const Alternatives& list : nccl_trials(world, before)) {
    World other;
    std::optional<StepTime> after;
    for (std::size_t i = 0; i < list.size() && !after; ++i) try {
        other = build_world(ScenarioChanges(world.scenario()).with(list[i].set));
        after = step_time_of(other);
      } catch (const UserError&) {
        // NCCL cannot run this algorithm here.
      }
    if (!after) continue;
    const GainInterval gain = gain_interval(now, sampled_step(other, *after));
    // Samples beyond those that the interval is made of. They contain no errors of collectives beyond the parameters,
    // so more than 90 % are expected within.
    for (std::size_t d = gain_samples; d < gain_samples + 20; ++d) {
      const auto time_of = [&](const World& w) {
        Scenario s = w.scenario();
        s.hardware = sampled_hardware(s.hardware, d);
        const TrainingStep step = step_with(w.scenario(), s.hardware);
        return run_step(build_world(std::move(s)), step).time;
      };
      const double saved = 1 - time_of(other) / time_of(world);
      within += gain[0] <= saved && saved <= gain[2];
      ++all;
    }
  }
  CAPTURE(within, all);
  CHECK(within >= 0.85 * all);
  CHECK(all >= 40);
}

TEST_CASE("decoding is judged by its step, requests by their tokens", "[step_settings]") {
  const std::string head = "node: {profile: hgx-h100}\ncluster: {nodes: 1}\nnccl: {version: \"2.28.3\"}\n";
  const std::string model =
      "model: {preset: llama3-70b}, precision: fp8, batch: 32, input: 1024, output: 128, parallel: "
      "{tensor: 8}";
  const World decode = test::world_of(head + "workload: {kind: inference, phase: decode, " + model + "}\n");
  CHECK(step_time_of(decode).time == run_inference(decode, {}, false).step.time);
  const World both = test::world_of(head + "workload: {kind: inference, phase: both, " + model + "}\n");
  CHECK(step_time_of(both).time.value == Approx(1 / tokens_per_gpu(run_inference(both, {}, false))));
  const StepSettings found = step_settings(decode);
  for (const StepSetting& s : found.taken) CHECK(s.gain[0] > 0);
  CHECK(step_settings_script(found).find("# a step of ") != std::string::npos);
  CHECK_THROWS_AS(step_settings(test::world_of(head + "workload: {}\n")), UserError);
}

}  // namespace
}  // namespace fabricast
