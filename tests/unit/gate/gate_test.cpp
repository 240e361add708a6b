// Floors, compared with the documented formula, with the effect that measured rows must have, and with samples of
// clusters.
#include "fabricast/gate/gate.hpp"

#include <yaml-cpp/yaml.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "fabricast/core/error.hpp"
#include "fabricast/core/rng.hpp"

namespace fabricast {
namespace {

using Catch::Detail::Approx;

World world_with(const std::string& more = "workload: {collective: all_reduce, sizes: [1KiB, 1MiB, 1GiB]}\n",
                 const std::string& nodes = "2") {
  return build_world(
      parse_scenario(
          "fabricast: 1\nname: \"it's: a \\u2028 \\x1b[31m ünïcode\"\nnode: {profile: hgx-h100}\ncluster: {nodes: " +
              nodes + "}\nfabric: {kind: rail_optimized}\nnccl: {version: \"2.27\", env: {NCCL_ALGO: Ring}}\n" + more,
          "gate.yaml")
          .scenario);
}

/// A run that was slower than its forecast by the same factor at all sizes.
MeasuredSite site_with(const World& world, std::size_t rows, double off = 1.1) {
  Scenario scenario = world.scenario();
  const Forecast forecast = run_forecast(world);
  scenario.workload.sizes.clear();
  MeasuredSeries series{std::move(scenario), {}, "test", {}, {}};
  for (std::size_t i = 0; i < rows; ++i) {
    series.scenario.workload.sizes.push_back(Bytes{forecast.rows[i].bytes});
    series.times.push_back(forecast.rows[i].time * off);
  }
  return measured_site(shipped_residuals(),
                       rows == 0 ? std::vector<MeasuredSeries>() : std::vector<MeasuredSeries>{series});
}

Gate gate_with(const World& world, double probability, std::size_t measured = 0) {
  return gate_of(world, {CollectiveOp::all_reduce}, site_with(world, measured), probability);
}

GateRow row_with(std::int64_t asked, double bandwidth = 1, double ratio = 2) {
  GateRow row;
  row.asked = row.bytes = asked;
  row.expected = Seconds{1e-3};
  row.ceiling = ratio * row.expected;
  row.expected_bandwidth = BytesPerSecond{bandwidth};
  row.floor_bandwidth = row.expected_bandwidth / ratio;
  return row;
}

TEST_CASE("ceilings are quantiles of the row's own residual", "[gate]") {
  const auto world = world_with();
  for (const std::size_t measured : {0, 2}) {
    const MeasuredSite site = site_with(world, measured);
    Forecast forecast = run_forecast(world);
    add_intervals(forecast, site);
    const Gate gate = gate_of(world, {CollectiveOp::all_reduce}, site, 0.01);
    REQUIRE(gate.rows.size() == 3);
    for (std::size_t i = 0; i < 3; ++i) {
      const ForecastRow& row = forecast.rows[i];
      const double out = std::exp(row.residual->quantile(0.99) - row.residual->median);
      CHECK(gate.rows[i].expected.value == Approx(row.time.value));
      CHECK(gate.rows[i].ceiling.value == Approx((row.time * out).value));
      // Bus bandwidth of an all-reduce: 2 (n - 1) / n bytes over time.
      CHECK(gate.rows[i].floor_bandwidth.value ==
            Approx(static_cast<double>(row.bytes) * 2 * 15 / 16 / gate.rows[i].ceiling.value));
    }
  }
}

TEST_CASE("rarer floors are lower, and more measured rows raise the floors", "[gate]") {
  const auto world = world_with();
  BytesPerSecond before;
  for (const double p : {1e-6, 1e-3, 1e-2, 0.1, 0.5}) {
    const GateRow row = gate_with(world, p).rows.back();
    CHECK(row.floor_bandwidth > before);
    CHECK(row.floor_bandwidth <= row.expected_bandwidth * (1 + 1e-12));
    before = row.floor_bandwidth;
  }
  std::vector<double> shares;
  for (const std::size_t measured : {0, 1, 2, 3}) {
    const GateRow row = gate_with(world, 1e-3, measured).rows.front();
    shares.push_back(row.expected / row.ceiling);
  }
  for (std::size_t i = 1; i < shares.size(); ++i) CHECK(shares[i] > shares[i - 1]);
  CHECK(shares.front() < 0.5);
  CHECK(shares.back() > 0.7);
}

TEST_CASE("sizes are grouped into runs that nccl-tests can make", "[gate]") {
  std::vector<GateRow> rows;
  for (const std::int64_t bytes : {8, 16, 32, 100, 300, 900, 1000, 1500}) rows.push_back(row_with(bytes));
  rows[0].printed = false;
  const std::vector<GateSweep> sweeps = sweeps_of(rows);
  std::vector<std::vector<std::int64_t>> reached;
  for (const GateSweep& sweep : sweeps) {
    reached.emplace_back();
    // Its loop goes from -b to -e by the factor -f; without -f it steps by 1 MiB, which makes one size here.
    for (std::int64_t size = sweep.from; size <= sweep.to;
         size = sweep.factor > 1 ? size * sweep.factor : size + (1 << 20))
      reached.back().push_back(size);
  }
  CHECK(reached == std::vector<std::vector<std::int64_t>>{{16, 32}, {100, 300, 900}, {1000}, {1500}});
}

TEST_CASE("the mean of a run is below its floor at most with the stated probability, for any correlation", "[gate]") {
  const std::vector<double> bandwidths = {1, 20, 150, 400, 450};
  constexpr double p = 0.01, scale = 0.12, point = 4.541;  // Student's t of 3, one in a hundred
  std::vector<GateRow> rows;
  for (std::size_t i = 0; i < bandwidths.size(); ++i)
    rows.push_back(row_with(std::int64_t{1} << (10 + i), bandwidths[i], std::exp(scale * point)));
  const GateSweep sweep = sweeps_of(rows).at(0);
  CHECK(sweep.expected_average.value == Approx((1 + 20 + 150 + 400 + 450) / 5.0));
  // With one scale for all rows, the floor is the same fraction of the mean as of each row.
  CHECK(sweep.floor_average.value == Approx((sweep.expected_average * std::exp(-scale * point)).value));
  CHECK(minimum_of_tests(sweep) * 0.9 == Approx(gigabytes_per_second(sweep.floor_average)));
  for (const double shared : {0.0, 0.5, 1.0}) {
    Rng rng(7);
    const auto normal = [&] {
      return std::sqrt(-2 * std::log(1 - rng.uniform(0, 1))) * std::cos(2 * M_PI * rng.uniform(0, 1));
    };
    constexpr int clusters = 100000;
    int below = 0;
    for (int i = 0; i < clusters; ++i) {
      double chi = 0;
      for (int k = 0; k < 3; ++k) chi += std::pow(normal(), 2);
      const double common = normal(), wide = std::sqrt(3 / chi);
      double mean = 0;
      for (const double b : bandwidths)
        mean += b * std::exp(-scale * wide * (std::sqrt(shared) * common + std::sqrt(1 - shared) * normal())) / 5;
      below += mean < sweep.floor_average.value;
    }
    CHECK(below < 1.1 * p * clusters);
    if (shared == 1) CHECK(below > 0.9 * p * clusters);
  }
}

TEST_CASE("sizes that nccl-tests skips have no test", "[gate]") {
  const auto world = world_with("workload: {collective: all_gather, sizes: [8B, 256B, 512B]}\n");
  const Gate gate = gate_of(world, {CollectiveOp::all_gather}, unmeasured_site(), 1e-3);
  REQUIRE(gate.rows.size() == 3);
  CHECK_FALSE(gate.rows[0].printed);  // half a byte for each of 16 ranks
  REQUIRE(gate.sweeps.size() == 1);
  CHECK(gate.sweeps[0].from == 256);
}

TEST_CASE("commands run nccl-tests as the scenario does", "[gate]") {
  const auto world = world_with(
      "workload: {collective: all_reduce, from: 1MiB, to: 16MiB, factor: 4, buffers: registered, harness: "
      "{ranks_per_process: 8, "
      "threads: 2, iterations: 7}}\n");
  const Gate gate = gate_with(world, 1e-3);
  REQUIRE(gate.sweeps.size() == 1);
  CHECK(test_arguments(world.scenario(), gate.sweeps[0]) == "-b 1048576 -e 16777216 -f 4 -t 2 -g 4 -w 5 -n 7 -R 1");
  const TestCommand command = test_command(world.scenario(), 16);
  CHECK(command.processes == 2);
  CHECK(command.hosts == 2);
  CHECK(command.environment == std::vector<std::pair<std::string, std::string>>{{"NCCL_ALGO", "Ring"}});
  CHECK(shell_quoted("a'b") == "'a'\\''b'");
  Scenario bad = world.scenario();
  bad.nccl.env["NCCL_X"] = "1\n2";
  CHECK_THROWS_AS(test_command(bad, 16), UserError);
  bad = world.scenario();
  bad.nccl.env["A B"] = "1";
  CHECK_THROWS_AS(test_command(bad, 16), UserError);
  bad = world.scenario();
  bad.workload.harness.tool = Tool::isolated;
  CHECK_THROWS_AS(test_command(bad, 16), UserError);
}

/// The YAML holds the same values as the JSON.
void check_same(const YAML::Node& yaml, const nlohmann::json& json) {
  REQUIRE(yaml.IsMap() == json.is_object());
  REQUIRE(yaml.IsSequence() == json.is_array());
  if (json.is_object()) {
    CHECK(yaml.size() == json.size());
    for (const auto& [key, value] : json.items()) check_same(yaml[key], value);
  } else if (json.is_array()) {
    REQUIRE(yaml.size() == json.size());
    for (std::size_t i = 0; i < json.size(); ++i) check_same(yaml[i], json[i]);
  } else if (json.is_number()) {
    CHECK(yaml.as<double>() == json.get<double>());
  } else if (json.is_boolean()) {
    CHECK(yaml.as<bool>() == json.get<bool>());
  } else if (json.is_null()) {
    CHECK(yaml.IsNull());
  } else {
    CHECK(yaml.as<std::string>() == json.get<std::string>());
  }
}

TEST_CASE("YAML reads back as the JSON does", "[gate]") {
  Scenario scenario = world_with().scenario();
  scenario.name = "it's: \"a\" # - {b} \\ \t ünïcode";
  const Gate gate = gate_with(build_world(std::move(scenario)), 1e-3);
  check_same(YAML::Load(gate_yaml(gate)), nlohmann::json::parse(gate_json(gate)));
  const std::string odd = R"({"a": [], "b": {}, "c": [[1, 2], {"d": null, "e": true}], "f": {"g": [1.5]}})";
  check_same(YAML::Load(yaml_of_json(odd)), nlohmann::json::parse(odd));
}

TEST_CASE("manifests hold the script, and text from the user cannot end a line", "[gate]") {
  for (const char* nodes : {"1", "2"}) {
    const auto world =
        world_with("workload: {collective: all_reduce, sizes: [1KiB, 1MiB], harness: {ranks_per_process: 8}}\n", nodes);
    const Gate gate = gate_with(world, 1e-3);
    const std::string manifest = gate_kubernetes(gate);
    for (const unsigned char c : manifest) CHECK((c == '\n' || (c >= 0x20 && c != 0x7f)));
    const std::vector<YAML::Node> documents = YAML::LoadAll(manifest);
    REQUIRE(documents.size() == 2);
    CHECK(documents[0]["kind"].as<std::string>() == "ConfigMap");
    CHECK(documents[1]["kind"].as<std::string>() == (std::string(nodes) == "1" ? "Job" : "MPIJob"));
    const auto script = documents[0]["data"]["gate.sh"].as<std::string>();
    CHECK(script.starts_with("#!/bin/sh\n"));
    CHECK_THAT(script, Catch::Matchers::Contains("export NCCL_ALGO='Ring'\n"));
    CHECK_THAT(script, !Catch::Matchers::Contains("scontrol"));
    const YAML::Node floors = YAML::Load(documents[0]["data"]["floors.yaml"].as<std::string>());
    CHECK(floors["rows"].size() == 2);
    const YAML::Node spec = documents[1]["spec"];
    if (std::string(nodes) == "2") {
      CHECK(spec["mpiReplicaSpecs"]["Worker"]["replicas"].as<int>() == 2);
      const YAML::Node launcher = spec["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0];
      CHECK(launcher["command"].as<std::vector<std::string>>() ==
            std::vector<std::string>{"sh", "/gate/gate.sh", "mpirun", "-np", "2", "-N", "1", "-x", "NCCL_ALGO"});
    } else {
      const YAML::Node container = spec["template"]["spec"]["containers"][0];
      CHECK(container["command"].as<std::vector<std::string>>() == std::vector<std::string>{"sh", "/gate/gate.sh"});
      CHECK(container["resources"]["limits"]["nvidia.com/gpu"].as<int>() == 8);
    }
  }
}

TEST_CASE("floors for a cluster with faults say so", "[gate]") {
  const std::string sizes = "workload: {collective: all_reduce, sizes: [1GiB]}\n";
  const auto healthy = world_with(sizes), slow = world_with(sizes + "faults: [{link: node0.nic0, rate: 50%}]\n");
  const Gate own = gate_with(healthy, 1e-3), other = gate_with(slow, 1e-3);
  CHECK(other.rows[0].floor_bandwidth < 0.8 * own.rows[0].floor_bandwidth);
  CHECK_THAT(gate_text(other), Catch::Matchers::Contains("the scenario has faults"));
  CHECK_THAT(gate_text(own), !Catch::Matchers::Contains("faults"));
}

TEST_CASE("floors do not depend on the number of threads and need the flow engine", "[gate]") {
  const auto world = world_with();
  RunOptions one, three;
  one.threads = 1, three.threads = 3;
  const std::vector<CollectiveOp> ops = {CollectiveOp::all_reduce, CollectiveOp::alltoall};
  CHECK(gate_json(gate_of(world, ops, unmeasured_site(), 1e-3, one)) ==
        gate_json(gate_of(world, ops, unmeasured_site(), 1e-3, three)));
  const auto bound = world_with("workload: {collective: all_reduce, sizes: [1KiB]}\nnetwork: {engine: bound}\n");
  CHECK_THROWS_AS(gate_with(bound, 1e-3), UserError);
}

}  // namespace
}  // namespace fabricast
