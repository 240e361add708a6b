// A handle that is made from another gives what a scenario with the same words gives that is read by itself, though a
// family of handles shares worlds and engines.
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "fabricast.h"

namespace {

using Words = std::vector<std::string>;
using Scenario = std::unique_ptr<fabricast_scenario, decltype(&fabricast_scenario_free)>;
using Result = std::unique_ptr<fabricast_result, decltype(&fabricast_result_free)>;

const std::string cluster =
    "fabricast: 1\nnode: {profile: hgx-h100-roce}\ncluster: {nodes: 4}\nfabric: {kind: fat_tree}\n"
    "routing: {kind: ecmp, seeds: 3}\n";
const std::string listed = cluster + "workload: {collective: all_reduce, sizes: [1MiB, 32KiB]}\n";
const std::string ranged = cluster + "workload: {collective: all_reduce, from: 1KiB, to: 1MiB}\n";
const std::string step =
    "fabricast: 1\nnode: {profile: hgx-h100}\ncluster: {nodes: 2}\nfabric: {kind: fat_tree}\n"
    "workload: {kind: training_step, framework: fsdp, model: {preset: llama2-7b}, precision: bf16, "
    "batch: {global: 128, micro: 1}}\n";

std::vector<const char*> pointers(const Words& words) {
  std::vector<const char*> all;
  for (const std::string& word : words) all.push_back(word.c_str());
  return all;
}

/// Everything that a caller sees: status, diagnostics, and the answers in several forms.
std::string seen(fabricast_status opened, Result why, const Scenario& scenario) {
  std::string all = std::to_string(opened) + fabricast_result_diagnostics(why.get(), nullptr);
  if (opened != FABRICAST_OK) return all;
  fabricast_control control FABRICAST_CONTROL_INIT;
  control.threads = 1;
  const auto add = [&](fabricast_status status, fabricast_result* result) {
    const Result owned(result, fabricast_result_free);
    all += "\n" + std::to_string(status) + fabricast_result_text(result, nullptr) +
           fabricast_result_diagnostics(result, nullptr);
  };
  fabricast_result* result = nullptr;
  add(fabricast_run(scenario.get(), R"({"intervals": false})", &control, &result), result);
  add(fabricast_run(scenario.get(), R"({"intervals": false, "form": "csv"})", &control, &result), result);
  add(fabricast_effective(scenario.get(), &result), result);
  return all;
}

Scenario opened(const std::string& text, const Words& words, fabricast_status* status, Result* why) {
  fabricast_scenario* scenario = nullptr;
  fabricast_result* result = nullptr;
  *status =
      fabricast_open_text(text.data(), text.size(), "a.yaml", pointers(words).data(), words.size(), &scenario, &result);
  why->reset(result);
  return {scenario, fabricast_scenario_free};
}

std::string read_alone(const std::string& text, const Words& words) {
  fabricast_status status = FABRICAST_OK;
  Result why(nullptr, fabricast_result_free);
  const Scenario scenario = opened(text, words, &status, &why);
  return seen(status, std::move(why), scenario);
}

std::string changed(const Scenario& base, const Words& words) {
  fabricast_scenario* scenario = nullptr;
  fabricast_result* result = nullptr;
  const fabricast_status status =
      fabricast_change(base.get(), pointers(words).data(), words.size(), &scenario, &result);
  return seen(status, Result(result, fabricast_result_free), {scenario, fabricast_scenario_free});
}

Scenario base_of(const std::string& text) {
  fabricast_status status = FABRICAST_OK;
  Result why(nullptr, fabricast_result_free);
  Scenario base = opened(text, {}, &status, &why);
  REQUIRE(status == FABRICAST_OK);
  return base;
}

}  // namespace

TEST_CASE("changed scenarios answer as if they had been read by themselves", "[api]") {
  const std::vector<Words> changes{
      {"workload.sizes=[1MiB]"},
      {"workload.sizes=[2MiB]"},
      {"workload.sizes=[64KiB, 3MiB, 5B]"},
      {"workload.sizes=[2MiB]", "cluster.nodes=3"},
      {"workload.sizes=[4MiB]", "cluster.nodes=3"},
      {"workload.sizes=[4MiB]", "cluster.nodes=5"},
      {"workload.sizes=[4MiB]", "nccl.env={NCCL_ALGO: Ring}"},
      {"workload.sizes=[7MiB]", "nccl.env={NCCL_ALGO: Ring}"},
      {"workload.collective=all_gather", "workload.sizes=[1MiB]"},
      {"workload.collective=all_gather", "workload.sizes=[2MiB]"},
      {"workload.sizes=[1MiB]", "workload.sizes=[8MiB]"},
      {"workload.sizes=[1MiB]", "workload.sizes=[9MiB]"},
      {"workload.sizes=[1MiB, 2MiB]", "workload.sizes[1]=3MiB"},
      {"workload.sizes=[1MiB]", "workload.sizes[1]=3MiB"},
      {"workload.sizes=[5MiB]", "workload.from=1KiB"},
      {"workload.sizes=[6MiB]", "workload.from=1KiB"},
      {"workload={sizes: [1KiB]}", "workload.sizes=[1MiB]"},
      {"workload={sizes: [1KiB]}", "workload.sizes=[2MiB]"},
      {"workload={sizes: [2KiB]}", "workload.sizes=[2MiB]"},
      {"workload.sizes=[]"},
      {"workload.sizes=[1 potato]"},
      {"workload.sizes=[0B]"},
      {"workload.sizes=[2000000TiB]"},
      {"workload.sizes=1MiB"},
      {"workload.sizes="},
      {"workload.sizes=[1MiB"},
      {"workload.sizes=[[1MiB]]"},
      {"workload.sizes=[1MiB]\xff"},
      {"workload.sizes"},
      {"workload.sizes=[3MiB]", "cluster.nodez=3"},
      {"workload.sizes=[4MiB]", "cluster.nodez=3"},
  };
  for (const std::string& text : {listed, ranged, step}) {
    const Scenario base = base_of(text);
    // Twice, because the second time everything is known.
    for (int round = 0; round < 2; ++round)
      for (const Words& words : changes) {
        INFO(text << words.front() << " " << words.back());
        CHECK(changed(base, words) == read_alone(text, words));
      }
  }
}

TEST_CASE("more worlds than a family remembers", "[api]") {
  const Scenario base = base_of(listed);
  for (int round = 0; round < 2; ++round)
    for (int nodes = 2; nodes < 22; ++nodes) {
      const Words words{"cluster.nodes=" + std::to_string(nodes),
                        "workload.sizes=[" + std::to_string(nodes + round) + "MiB]"};
      CHECK(changed(base, words) == read_alone(listed, words));
    }
}

TEST_CASE("threads ask one family for different sizes", "[api]") {
  const Scenario base = base_of(listed);
  std::vector<Words> asked;
  std::vector<std::string> alone;
  for (int i = 0; i < 6; ++i)
    asked.push_back(
        {"cluster.nodes=" + std::to_string(2 + i % 2), "workload.sizes=[" + std::to_string(1 + i) + "MiB]"});
  for (const Words& words : asked) alone.push_back(read_alone(listed, words));
  std::vector<std::string> together(3 * asked.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < together.size(); ++i)
    threads.emplace_back([&, i] { together[i] = changed(base, asked[i % asked.size()]); });
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < together.size(); ++i) CHECK(together[i] == alone[i % asked.size()]);
}
