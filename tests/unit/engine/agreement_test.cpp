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

/// Chunk takes long for large calls, so that they are compared nightly.
const char* const some = "8KiB, 256KiB, 4MiB";
const char* const all = "8KiB, 256KiB, 4MiB, 64MiB";

std::vector<double> times(const Case& c, const char* sizes, std::string_view engine, std::string_view protocol) {
  const std::string text = fmt::format(
      "fabricast: 1\nnode: {}\ncluster: {}\n{}nccl: {{env: {{NCCL_ALGO: {}, NCCL_PROTO: {}}}}}\n"
      "workload: {{collective: {}, sizes: [{}], harness: {{tool: isolated}}}}\nnetwork: "
      "{{engine: {}}}\n",
      c.node, c.cluster, c.rest, c.algorithm, protocol, c.op, sizes, engine);
  const auto world = build_world(parse_scenario(text, "agreement.yaml").scenario);
  std::vector<double> list;
  for (const ForecastRow& row : run_forecast(world).rows) list.push_back(row.time.value);
  return list;
}

void compare(const Case& c, const char* sizes) {
  for (const std::string_view protocol : {"LL", "LL128", "Simple"}) {
    const std::vector<double> flow = times(c, sizes, "flow", protocol), chunk = times(c, sizes, "chunk", protocol),
                              bound = times(c, sizes, "bound", protocol);
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

void compare_rings(const char* sizes) {
  for (const char* op : {"all_reduce", "all_gather", "reduce_scatter"})
    for (const char* nodes : {"{nodes: 1}", "{nodes: 2}"}) compare({h100, nodes, adaptive, op, "Ring", 0.02}, sizes);
  // At one size, 64 MiB in Simple, the two channels of a NIC fall in step in one engine and not in the other.
  for (const char* op : {"all_reduce", "all_gather", "reduce_scatter"})
    compare({h100, "{nodes: 4}", adaptive, op, "Ring", 0.05}, sizes);
  compare({"{gpu: a100-sxm, gpus: 8}", "{nodes: 2}", adaptive, "all_reduce", "Ring", 0.03}, sizes);
}

void compare_chains(const char* sizes) {
  for (const char* op : {"broadcast", "reduce"}) compare({h100, "{nodes: 2}", adaptive, op, "Ring", 0.035}, sizes);
}

void compare_trees(const char* sizes) {
  compare({h100, "{nodes: 1}", adaptive, "all_reduce", "Tree", 0.08}, sizes);
  compare({h100, "{nodes: 2}", adaptive, "all_reduce", "Tree", 0.035}, sizes);
  compare({h100, "{nodes: 4}", adaptive, "all_reduce", "Tree", 0.07}, sizes);
  compare({"{gpu: a100-sxm, gpus: 8}", "{nodes: 2}", adaptive, "all_reduce", "Tree", 0.05}, sizes);
}

void compare_staged_and_single(const char* sizes) {
  const std::string staged = "{gpu: h100-sxm, gpus: 8, gdr: false}";
  const std::string single = "{gpu: h100-sxm, gpus: 1, intranode: none, nics: {count: 1, rate: 400Gbps}}";
  for (const auto& [op, algorithm] : {std::pair{"all_reduce", "Ring"}, {"all_reduce", "Tree"}, {"broadcast", "Ring"}}) {
    compare({staged, "{nodes: 2}", adaptive, op, algorithm, 0.05}, sizes);
    compare({single, "{nodes: 4}", adaptive, op, algorithm, 0.05}, sizes);
  }
}

// The least certain case: channels meet at some hops and not at others, and flow takes the mean of their hops.
void compare_colliding(const char* sizes, int seed) {
  compare({h100, "{nodes: 4}", ecmp(seed), "all_reduce", "Ring", 0.17}, sizes);
  compare({h100, "{nodes: 4}", ecmp(seed), "all_reduce", "Tree", 0.18}, sizes);
}

}  // namespace

TEST_CASE("rings agree") { compare_rings(some); }
TEST_CASE("rings agree at all sizes", "[.all]") { compare_rings(all); }

TEST_CASE("chains agree") { compare_chains(some); }
TEST_CASE("chains agree at all sizes", "[.all]") { compare_chains(all); }

TEST_CASE("trees agree") { compare_trees(some); }
TEST_CASE("trees agree at all sizes", "[.all]") { compare_trees(all); }

TEST_CASE("staged transfers and nodes of one GPU agree") { compare_staged_and_single(some); }
TEST_CASE("staged transfers and nodes of one GPU agree at all sizes", "[.all]") { compare_staged_and_single(all); }

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

TEST_CASE("colliding flows agree roughly") { compare_colliding(some, 1); }
TEST_CASE("colliding flows agree roughly at all sizes and by other seeds", "[.all]") {
  for (const int seed : {1, 2, 3, 5}) compare_colliding(all, seed);
}
