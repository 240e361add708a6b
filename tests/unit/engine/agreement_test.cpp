// The three engines on the same scenarios: flow within a few percent of chunk, bound below both.
//
// Chunk simulates every slice on SimGrid and shares no timing code with flow. Calls are isolated: chunk does not know
// what the tool that times a call adds.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cmath>

#include "fabricast/report/forecast.hpp"

using namespace fabricast;

namespace {

struct Case {
  std::string node, cluster, rest, op, algorithm;
  double most;  ///< largest difference of flow from chunk
};

std::vector<double> times(const Case& c, std::string_view engine, std::string_view protocol) {
  const std::string text = fmt::format(
      "fabricast: 1\nnode: {}\ncluster: {}\n{}nccl: {{env: {{NCCL_ALGO: {}, NCCL_PROTO: {}}}}}\n"
      "workload: {{collective: {}, sizes: [8KiB, 256KiB, 4MiB, 64MiB], harness: {{tool: isolated}}}}\nnetwork: "
      "{{engine: {}}}\n",
      c.node, c.cluster, c.rest, c.algorithm, protocol, c.op, engine);
  const auto world = build_world(parse_scenario(text, "agreement.yaml").scenario);
  std::vector<double> list;
  for (const ForecastRow& row : run_forecast(world).rows) list.push_back(row.time.value);
  return list;
}

void compare(const Case& c) {
  for (const std::string_view protocol : {"LL", "LL128", "Simple"}) {
    const std::vector<double> flow = times(c, "flow", protocol), chunk = times(c, "chunk", protocol),
                              bound = times(c, "bound", protocol);
    for (std::size_t i = 0; i < flow.size(); ++i) {
      CAPTURE(c.node, c.cluster, c.rest, c.op, c.algorithm, protocol, i, flow[i], chunk[i], bound[i]);
      CHECK(std::abs(flow[i] / chunk[i] - 1) <= c.most);
      CHECK(bound[i] <= chunk[i] * 1.0005);
      CHECK(bound[i] <= flow[i] * 1.0005);
    }
  }
}

const std::string h100 = "{gpu: h100-sxm, gpus: 8}";
const std::string adaptive = "routing: {kind: adaptive}\n";
std::string ecmp(int seed) {
  return fmt::format("fabric: {{kind: fat_tree, switch: {{ports: 16}}}}\nrouting: {{kind: ecmp, seed: {}, seeds: 1}}\n",
                     seed);
}

}  // namespace

TEST_CASE("rings agree") {
  for (const char* op : {"all_reduce", "all_gather", "reduce_scatter"})
    for (const char* nodes : {"{nodes: 1}", "{nodes: 2}"}) compare({h100, nodes, adaptive, op, "Ring", 0.02});
  // At one size, 64 MiB in Simple, the two channels of a NIC fall in step in one engine and not in the other.
  for (const char* op : {"all_reduce", "all_gather", "reduce_scatter"})
    compare({h100, "{nodes: 4}", adaptive, op, "Ring", 0.05});
  compare({"{gpu: a100-sxm, gpus: 8}", "{nodes: 2}", adaptive, "all_reduce", "Ring", 0.03});
}

TEST_CASE("chains agree") {
  for (const char* op : {"broadcast", "reduce"}) compare({h100, "{nodes: 2}", adaptive, op, "Ring", 0.035});
}

TEST_CASE("trees agree") {
  compare({h100, "{nodes: 1}", adaptive, "all_reduce", "Tree", 0.08});
  compare({h100, "{nodes: 2}", adaptive, "all_reduce", "Tree", 0.035});
  compare({h100, "{nodes: 4}", adaptive, "all_reduce", "Tree", 0.07});
  compare({"{gpu: a100-sxm, gpus: 8}", "{nodes: 2}", adaptive, "all_reduce", "Tree", 0.05});
}

TEST_CASE("staged transfers and nodes of one GPU agree") {
  const std::string staged = "{gpu: h100-sxm, gpus: 8, gdr: false}";
  const std::string single = "{gpu: h100-sxm, gpus: 1, intranode: none, nics: {count: 1, rate: 400Gbps}}";
  for (const auto& [op, algorithm] : {std::pair{"all_reduce", "Ring"}, {"all_reduce", "Tree"}, {"broadcast", "Ring"}}) {
    compare({staged, "{nodes: 2}", adaptive, op, algorithm, 0.05});
    compare({single, "{nodes: 4}", adaptive, op, algorithm, 0.05});
  }
}

TEST_CASE("a fault on any host of an NVLink domain affects both engines") {
  const std::string text =
      "fabricast: 1\nnode: {gpu: gb200, gpus: 4}\nnvlink_domain: {nodes: 2}\ncluster: {nodes: 4}\n"
      "nccl: {env: {NCCL_ALGO: Ring}}\nworkload: {collective: all_reduce, sizes: [64MiB], harness: {tool: isolated}}\n";
  const auto row = [&](const std::string& engine, const std::string& faults) {
    const auto world =
        build_world(parse_scenario(text, "domain.yaml", {"network.engine=" + engine, "faults=" + faults}).scenario);
    return run_forecast(world).rows.front();
  };
  const std::string slow = "[{link: node1.gpu0-nvswitch, rate: 0.1}]";
  const ForecastRow flow = row("flow", slow);
  CHECK(flow.time > 1.5 * row("flow", "[]").time);
  CHECK(flow.time.value == Approx(row("chunk", slow).time.value).epsilon(0.03));
  CHECK(flow.result.affected_by == std::vector<std::string>{"node1.gpu0-nvswitch"});
}

// The least certain case: channels meet at some hops and not at others, and flow takes the mean of their hops.
void compare_colliding(int seed) {
  compare({h100, "{nodes: 4}", ecmp(seed), "all_reduce", "Ring", 0.17});
  compare({h100, "{nodes: 4}", ecmp(seed), "all_reduce", "Tree", 0.18});
}
TEST_CASE("colliding flows agree roughly") { compare_colliding(1); }
TEST_CASE("colliding flows agree roughly by other seeds", "[.all]") {
  for (const int seed : {2, 3, 5}) compare_colliding(seed);
}
