// Unstated inputs: which keys they are, their effects on times compared with runs of every combination, and their
// effects on intervals.
#include "fabricast/report/unstated.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "fabricast/report/interval.hpp"
#include "fabricast/report/residual_rows.hpp"
#include "fabricast/scenario/study.hpp"

namespace fabricast {
namespace {

using Catch::Detail::Approx;

Scenario scenario_with(const std::string& node, const std::string& nccl = "", int nodes = 4) {
  return parse_scenario("fabricast: 1\nnode: {" + node + "}\ncluster: {nodes: " + std::to_string(nodes) + "}\n" + nccl +
                            "workload: {collective: all_reduce, sizes: [4KiB, 512KiB, 16MiB, 1GiB]}\n",
                        "u.yaml")
      .scenario;
}

std::vector<std::string> keys_of(const Scenario& s) {
  std::vector<std::string> keys;
  for (const UnstatedInput& input : unstated_inputs(s)) keys.push_back(input.key);
  return keys;
}

TEST_CASE("keys that the file or a named machine states are not open", "[report]") {
  using Keys = std::vector<std::string>;
  CHECK(keys_of(scenario_with("gpu: h100-sxm")) == Keys{"nccl.version", "node.cpu", "node.gdr", "node.pcie_switches"});
  CHECK(keys_of(scenario_with("gpu: h100-sxm, cpu: amd, gdr: true, pcie_switches: 4", "nccl: {version: \"2.27\"}\n"))
            .empty());
  CHECK(keys_of(scenario_with("profile: dgx-h100", "nccl: {version: \"2.27\"}\n")) == Keys{"node.gdr"});
  CHECK(keys_of(scenario_with("gpu: h100-sxm", "", 1)) == Keys{"nccl.version"});  // no network
  CHECK(keys_of(scenario_with("gpu: h100-sxm", "nccl: {version: \"2.18-2.27\"}\n", 1)) == Keys{"nccl.version"});
}

TEST_CASE("a file may say that a key is only assumed, and --set states it", "[report]") {
  const std::string text =
      "fabricast: 1\nnode: {gpu: h100-sxm, cpu: amd, gdr: true, pcie_switches: 4}\ncluster: {nodes: 4}\n"
      "nccl: {version: \"2.26\"}\nworkload: {collective: all_reduce}\nassumed: [node.cpu, nccl.version]\n";
  const Scenario s = parse_scenario(text, "a.yaml").scenario;
  CHECK(keys_of(s) == std::vector<std::string>{"nccl.version", "node.cpu"});
  CHECK_FALSE(s.nccl.version_given);
  CHECK(unstated_inputs(s).back().assumed == "amd");
  CHECK(keys_of(parse_scenario(text, "a.yaml", {"node.cpu=intel"}).scenario) ==
        std::vector<std::string>{"nccl.version"});
  CHECK(keys_of(parse_scenario(text, "a.yaml", {"nccl={version: \"2.26\"}"}).scenario) ==
        std::vector<std::string>{"node.cpu"});
  // The effective scenario states what the file leaves out.
  const Scenario again = parse_scenario(to_yaml(scenario_with("gpu: h100-sxm")), "e.yaml").scenario;
  CHECK(keys_of(again) == keys_of(scenario_with("gpu: h100-sxm")));
}

TEST_CASE("weights leave the rest to the assumed value, which is the middle one", "[report]") {
  for (const char* gpu : {"v100-sxm", "a100-sxm", "l40s", "h100-sxm", "b200"}) {
    const Scenario s = scenario_with("gpu: " + std::string(gpu) + ", nics: {count: 4, rate: 200Gbps}");
    for (const UnstatedInput& input : unstated_inputs(s)) {
      CAPTURE(gpu, input.key);
      double others = 0, before = 0;
      for (const UnstatedInput::Other& other : input.others) {
        CHECK(other.weight > 0);
        others += other.weight;
        if (input.key == "nccl.version" && *parse_nccl_version(other.value) < *parse_nccl_version(input.assumed))
          before += other.weight;
      }
      CHECK(others < 1);
      CHECK(before <= 0.5);
      CHECK((input.key != "nccl.version" || others - before <= 0.5));
    }
  }
}

/// Every combination of values with its probability, each run separately.
struct Joint {
  std::vector<double> times;  ///< of one row
  std::vector<double> weights;
};
std::vector<Joint> all_combinations(const Scenario& scenario) {
  std::vector<std::pair<Scenario, double>> made = {{scenario, 1}};
  for (const UnstatedInput& input : unstated_inputs(scenario)) {
    std::vector<std::pair<Scenario, double>> next;
    for (const auto& [s, weight] : made) {
      double rest = 1;
      for (const UnstatedInput::Other& other : input.others) {
        rest -= other.weight;
        next.emplace_back(with_input(s, input.key, other.value), weight * other.weight);
      }
      next.emplace_back(s, weight * rest);
    }
    made = std::move(next);
  }
  std::vector<Joint> rows(scenario.workload.sizes.size());
  for (const auto& [s, weight] : made) {
    const Forecast forecast = run_forecast(build_world(s));
    for (std::size_t r = 0; r < rows.size(); ++r)
      rows[r].times.push_back(forecast.rows[r].time.value), rows[r].weights.push_back(weight);
  }
  return rows;
}

double median_of(const Joint& joint) {
  std::vector<std::size_t> order(joint.times.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return joint.times[a] < joint.times[b]; });
  double below = 0;
  for (const std::size_t i : order)
    if (below += joint.weights[i]; below >= 0.5) return joint.times[i];
  return 0;
}

TEST_CASE("a forecast is near the median over unstated inputs, and its spread near theirs", "[report]") {
  for (const char* node : {"gpu: h100-sxm", "gpu: h100-sxm, nics: {count: 8, rate: 400Gbps, link: roce}",
                           "gpu: a100-sxm", "gpu: v100-sxm, nics: {count: 4, rate: 100Gbps}"}) {
    CAPTURE(node);
    const Scenario s = scenario_with(node);
    const auto world = build_world(s);
    Forecast forecast = run_forecast(world);
    add_unstated(forecast);
    const std::vector<Joint> joint = all_combinations(s);
    for (std::size_t r = 0; r < joint.size(); ++r) {
      CAPTURE(forecast.rows[r].bytes);
      const double time = forecast.rows[r].time.value;
      CHECK(std::abs(std::log(median_of(joint[r]) / time)) <= 0.1);
      double squares = 0;
      for (std::size_t i = 0; i < joint[r].times.size(); ++i)
        squares += joint[r].weights[i] * std::pow(std::log(joint[r].times[i] / time), 2);
      const double exact = std::sqrt(squares), here = unstated_spread(forecast, r);
      // Inputs taken one by one: those that act through the same rule (a NIC out of reach) do so once, and those that
      // change NCCL's choice only together (a version and a NIC out of reach) do not at all.
      const bool together = std::string(node) == "gpu: a100-sxm" && forecast.rows[r].bytes == 512 << 10;
      CHECK(here <= 1.5 * exact + 0.01);
      CHECK(exact <= (together ? 4.5 : 1.5) * here + 0.02);
    }
  }
}

TEST_CASE("the efficiency of contended links is open where senders react and it is not stated", "[report]") {
  // Leaves of three nodes with six uplinks: an all-to-all over them is bound by these.
  const auto scenario = [](const std::string& congestion) {
    return parse_scenario(
               "fabricast: 1\nnode: {profile: hgx-h100}\ncluster: {nodes: 8}\nnccl: {version: \"2.27\"}\n"
               "fabric: {kind: fat_tree, switch: {ports: 32}, oversubscription: 4" +
                   congestion +
                   "}\n"
                   "routing: {kind: adaptive}\n"
                   "workload: {collective: alltoall, sizes: [1KiB, 4GiB]}\n",
               "c.yaml")
        .scenario;
  };
  const std::string key = "fabric.congestion.efficiency";
  for (const char* congestion :
       {"", ", congestion: {control: none}", ", congestion: {control: reactive, efficiency: 0.9}"}) {
    const std::vector<std::string> keys = keys_of(scenario(congestion));
    CHECK(std::find(keys.begin(), keys.end(), key) == keys.end());
  }
  const Scenario reacting = scenario(", congestion: {control: reactive}");
  CHECK(keys_of(reacting).back() == key);
  // The effective scenario leaves it open, too.
  CHECK(keys_of(parse_scenario(to_yaml(reacting), "e.yaml").scenario) == keys_of(reacting));
  const World world = build_world(reacting);
  Forecast forecast = run_forecast(world);
  add_unstated(forecast);
  const UnstatedEffect& effect = forecast.unstated.back();
  REQUIRE(effect.input.key == key);
  CHECK(effect.input.assumed == "0.95");
  // Long messages take as much longer as the uplinks carry less, from 0.85 to 1; short ones do not meet it.
  REQUIRE(effect.ratios.size() == 2);
  CHECK(effect.ratios[0][1] == Approx(0.95 / 0.85).epsilon(0.01));
  CHECK(effect.ratios[1][1] == Approx(0.95 / 1).epsilon(0.01));
  for (const std::vector<double>& ratio : effect.ratios) CHECK(ratio[0] == Approx(1).epsilon(0.01));
  // The spread of a normal distribution with this 90 % interval.
  CHECK(spread_of(effect, 1) == Approx(std::log(1 / 0.85) / (2 * 1.645)).epsilon(0.1));
}

TEST_CASE("unstated inputs widen intervals by their spread", "[report]") {
  const Scenario open = scenario_with("gpu: h100-sxm");
  const auto world = build_world(open);
  Forecast forecast = run_forecast(world);
  add_intervals(forecast);
  REQUIRE(forecast.unstated.size() == 4);
  Scenario known = open;
  known.unstated.clear();
  const auto stated = build_world(known);
  Forecast narrow = run_forecast(stated);
  add_intervals(narrow);
  CHECK(narrow.unstated.empty());
  for (std::size_t r = 0; r < forecast.rows.size(); ++r) {
    // Variances add up, each scaled by the errors of forecasts of such systems.
    const double whole = forecast.rows[r].residual->scale, own = narrow.rows[r].residual->scale;
    ResidualRow row;
    row.kind = residual_kind(world), row.bytes = forecast.rows[r].bytes;
    const double apart = std::exp(log_scale(shipped_residuals().scale, row));
    CHECK(whole == Approx(std::hypot(own, apart * unstated_spread(forecast, r))));
    CHECK(forecast.rows[r].time == narrow.rows[r].time);
  }
  CHECK(largest_effect(forecast) != nullptr);
  CHECK(largest_effect(forecast, 100) == nullptr);
}

}  // namespace
}  // namespace fabricast
