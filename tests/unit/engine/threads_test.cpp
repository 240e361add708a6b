// What the threads of a block move: by their number, and by the fraction that goes up or down a tree.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "fabricast/protocol/costs.hpp"
#include "fabricast/report/forecast.hpp"
#include "fabricast/scenario/world.hpp"

namespace fabricast {
namespace {

World world_of(const std::string& choice, const std::string& sizes = "1MiB",
               const std::string& set = "network.engine=flow", int nodes = 4) {
  return build_world(
      parse_scenario(fmt::format("fabricast: 1\nnode: {{gpu: a100-sxm, gpus: 8}}\ncluster: {{nodes: {}}}\n"
                                 "nccl: {{version: \"2.21\", env: {{{}}}}}\nworkload: {{collective: all_reduce, "
                                 "sizes: [{}], harness: {{tool: isolated}}}}\n",
                                 nodes, choice, sizes),
                     "threads.yaml", {set})
          .scenario);
}

ProtocolCosts costs_of(const World& world, Plan plan, int threads) {
  plan.threads = threads;
  return protocol_costs(world.planner().comm, plan);
}

TEST_CASE("the rate of LL and LL128 is proportional to the warps of a block", "[engine]") {
  for (const std::string protocol : {"LL", "LL128", "Simple"}) {
    CAPTURE(protocol);
    const auto world = world_of("NCCL_ALGO: Ring, NCCL_PROTO: " + protocol);
    const Plan plan = plan_collective(world.planner(), CollectiveOp::all_reduce, 1 << 20);
    const int most = protocol == "LL" ? 512 : 640;  // [NCCL-protocols]
    const double whole = costs_of(world, plan, most).copy_rate.value;
    const double part = protocol == "Simple" ? 1 : 0.25;
    CHECK(costs_of(world, plan, most / 4).copy_rate.value == Approx(part * whole));
  }
}

TEST_CASE("seven tenths of a tree's warps go up, the others down", "[engine]") {
  const auto parts = [](const std::string& protocol, int threads) {
    const auto world = world_of("NCCL_ALGO: Tree, NCCL_PROTO: " + protocol);
    return costs_of(world, plan_collective(world.planner(), CollectiveOp::all_reduce, 1 << 20), threads);
  };
  const ProtocolCosts ll128 = parts("LL128", 640), ll = parts("LL", 512), small = parts("LL", 64);
  CHECK(ll128.up == Approx(14.0 / 20));
  CHECK(ll128.down == Approx(6.0 / 20));
  CHECK(ll.up == Approx(11.0 / 16));  // whole warps
  CHECK(ll.down == Approx(5.0 / 16));
  CHECK(small.up == Approx(0.5));
  CHECK(small.down == Approx(0.5));
  CHECK(ll128.both_directions == 2);
  CHECK(parts("Simple", 512).up == 1);
}

TEST_CASE("in both engines the threads that go down bound a tree in LL128", "[engine]") {
  // In the chain inside each of two nodes, every GPU forwards downward data at 0.3 of the block's rate.
  for (const char* engine : {"flow", "chunk"}) {
    CAPTURE(engine);
    const auto world =
        world_of("NCCL_ALGO: Tree, NCCL_PROTO: LL128", "32MiB", fmt::format("network.engine={}", engine), 2);
    const ForecastRow row = run_forecast(world).rows.front();
    const Architecture& gpu = world.planner().comm.node.architecture;
    const double rate = gpu.rate[static_cast<std::size_t>(Protocol::ll128)].gbps().value;
    const double least = static_cast<double>(row.plan.bytes) / row.plan.channels / (0.3 * rate);
    CHECK(row.result.makespan.value >= least);
    CHECK(row.result.makespan.value < 1.6 * least);
  }
}

TEST_CASE("a loop of NVLS takes two copies of all heads' chunks and the work of a head on its own chunk", "[engine]") {
  // A second size with the same number of loops cancels everything except copies. One channel leaves the links idle.
  for (const char* engine : {"flow", "chunk"}) {
    CAPTURE(engine);
    const auto world = build_world(parse_scenario("fabricast: 1\nnode: {gpu: h100-sxm, gpus: 8}\ncluster: {nodes: 1}\n"
                                                  "nccl: {version: \"2.26\", env: {NCCL_ALGO: NVLS, "
                                                  "NCCL_MAX_NCHANNELS: \"1\"}}\nworkload: {collective: all_reduce, "
                                                  "sizes: [32KiB, 64KiB], harness: {tool: isolated}}\n",
                                                  "heads.yaml", {fmt::format("network.engine={}", engine)})
                                       .scenario);
    const std::vector<ForecastRow> rows = run_forecast(world).rows;
    for (const ForecastRow& row : rows) REQUIRE(row.plan.chunk * 8 * row.plan.channels == row.plan.bytes);  // one loop
    const Architecture& gpu = world.planner().comm.node.architecture;
    const double more = static_cast<double>(rows[1].plan.chunk - rows[0].plan.chunk);
    const double copied = (8 + 1 + 8) * more / gpu.nvls_rate.gbps().value;
    CHECK((rows[1].result.makespan - rows[0].result.makespan).value == Approx(copied).epsilon(0.02));
  }
}

}  // namespace
}  // namespace fabricast
