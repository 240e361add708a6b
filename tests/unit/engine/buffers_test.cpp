// Registered buffers, symmetric memory, and trees for short messages in the engines.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "fabricast/protocol/costs.hpp"
#include "fabricast/report/forecast.hpp"
#include "fabricast/report/report.hpp"

namespace fabricast {
namespace {

using Words = std::vector<std::string>;

World world_of(Words set) {
  const std::string text =
      "fabricast: 1\nnode: {gpu: h100-sxm, gpus: 8}\ncluster: {nodes: 1}\nnccl: {version: \"2.30\"}\n"
      "workload: {collective: all_reduce, sizes: [4KiB, 4MiB, 256MiB], harness: {tool: isolated}}\n";
  return build_world(parse_scenario(text, "buffers.yaml", set).scenario);
}
std::vector<ForecastRow> rows(Words set) { return run_forecast(world_of(std::move(set))).rows; }
Words with(Words set, const std::string& word) {
  set.push_back(word);
  return set;
}

TEST_CASE("a kernel for symmetric memory takes the time that NCCL estimates", "[engine]") {
  for (const char* op : {"all_reduce", "all_gather", "reduce_scatter"}) {
    const Words set{"workload.buffers=symmetric", fmt::format("workload.collective={}", op)};
    const auto flow = rows(set), bound = rows(with(set, "network.engine=bound"));
    for (std::size_t i = 0; i < 2; ++i) {  // links are fast enough for the small ones
      CAPTURE(op, i);
      CHECK(flow[i].algorithm == Algorithm::symmetric);
      CHECK(microseconds(flow[i].time) == Approx(flow[i].plan.kernels.front().estimate_us));
      CHECK(flow[i].result.launch.value == 0);
      const CollectiveResult& r = flow[i].result;
      CHECK((r.latency + r.fill + r.transfer).value == Approx(r.makespan.value));
    }
    for (std::size_t i = 0; i < flow.size(); ++i) CHECK(bound[i].time <= flow[i].time);
  }
}

TEST_CASE("no kernel is faster than the links that it loads", "[engine]") {
  // Every GPU's link carries the buffer and an eighth of it each way, at a tenth of its rate for one of them.
  const Words slow{"workload.buffers=symmetric", "faults=[{link: node0.gpu3-nvswitch, rate: 10%}]"};
  const auto world = world_of(slow);
  const NodeGraph& graph = world.planner().comm.node.graph;
  const auto way = graph.path(graph.gpu(3), graph.find(NodeVertexKind::nvswitch, 0), true);
  const double rate = graph.links[way.front()].link_class.rate.value;
  const ForecastRow row = run_forecast(world).rows[2];
  CHECK(row.time.value == Approx(1.125 * (256 << 20) / (0.1 * rate)));
  CHECK(row.result.bottleneck.name.find("gpu3") != std::string::npos);
  CHECK(row.result.affected_by == Words{"node0.gpu3-nvswitch"});
  // LL stores twice the bytes to each of seven peers.
  const ForecastRow ll = rows(with(slow, "nccl.env.NCCL_SYM_KERNEL=AllReduce_AGxLL_R"))[1];
  CHECK(ll.time.value == Approx(2 * 7 * (4 << 20) / (0.1 * rate)));
}

TEST_CASE("copy engines take the time of their barriers and of the links", "[engine]") {
  const Words set{"workload.buffers=symmetric", "workload.collective=all_gather", "nccl.env.NCCL_CTA_POLICY=ZERO"};
  const auto world = world_of(set);
  const Architecture& gpu = world.planner().comm.node.architecture;
  const NodeGraph& graph = world.planner().comm.node.graph;
  const auto way = graph.path(graph.gpu(0), graph.find(NodeVertexKind::nvswitch, 0), true);
  const double rate = graph.links[way.front()].link_class.rate.value;
  const double before = (gpu.launch.value + 2 * gpu.copy_barrier.value + 8 * gpu.copy_start.value) * 1e-6;
  for (const char* engine : {"network.engine=flow", "network.engine=bound"})
    for (const ForecastRow& row : rows(with(set, engine))) {
      CAPTURE(engine, row.bytes);
      const double links = 7.0 / 8 * static_cast<double>(row.bytes) / rate;
      CHECK(row.algorithm == Algorithm::copy_engine);
      CHECK(row.time.value >= links);
      CHECK(row.time.value == Approx(before + links));
      CHECK((row.result.latency + row.result.fill + row.result.transfer).value == Approx(row.result.makespan.value));
    }
  CHECK(rows(set).back().result.bottleneck.capacity > BytesPerSecond{0});
  REQUIRE_THROWS_WITH(rows(with(set, "network.engine=chunk")), Catch::Contains("copy engines have no slices"));
}

TEST_CASE("the chunk engine refuses kernels", "[engine]") {
  REQUIRE_THROWS_WITH(rows({"workload.buffers=symmetric", "network.engine=chunk"}),
                      Catch::Contains("kernels for symmetric memory have no slices"));
}

TEST_CASE("a call without a kernel gives a warning and runs as registered", "[engine]") {
  const Words two{"cluster.nodes=2", "nccl.env.NCCL_ALGO=nvlstree"};
  const auto world = world_of(with(two, "workload.buffers=symmetric"));
  REQUIRE(world.warnings().size() == 1);
  CHECK(world.warnings()[0].path == "workload.buffers");
  CHECK(world.warnings()[0].message.find("several NVLink domains") != std::string::npos);
  const Forecast forecast = run_forecast(world);
  const auto registered = rows(with(two, "workload.buffers=registered"));
  for (std::size_t i = 0; i < forecast.rows.size(); ++i) CHECK(forecast.rows[i].time == registered[i].time);
  const std::string text = explain_text({forecast, forecast, {}, {}});
  CHECK(text.find("(no kernel on symmetric memory: the ranks are in several NVLink domains") != std::string::npos);
}

void compare(const Words& set, double most) {
  const auto flow = rows(set), chunk = rows(with(set, "network.engine=chunk")),
             bound = rows(with(set, "network.engine=bound"));
  for (std::size_t i = 0; i < flow.size(); ++i) {
    CAPTURE(set, i, flow[i].time, chunk[i].time, bound[i].time);
    CHECK(flow[i].time.value == Approx(chunk[i].time.value).epsilon(most));
    CHECK(bound[i].time <= flow[i].time * 1.0005);
  }
}

void compare_with_plain(const Words& set) {
  const auto plain = rows(set), registered = rows(with(set, "workload.buffers=registered"));
  for (std::size_t i = 0; i < plain.size(); ++i) {
    CAPTURE(set, i, plain[i].time, registered[i].time);
    CHECK(registered[i].time < plain[i].time);
  }
}

// Copies are the bottleneck of NVLS. Without them its links count, or the handshake of a loop.
TEST_CASE("registered buffers make NVLS faster, equally in both engines", "[engine]") {
  for (const char* op : {"all_reduce", "all_gather", "reduce_scatter"}) {
    const Words nvls{"nccl.env.NCCL_ALGO=nvls", fmt::format("workload.collective={}", op)};
    compare(nvls, 0.02);
    compare(with(nvls, "workload.buffers=registered"), 0.02);
    compare_with_plain(nvls);
  }
  const Words nvlstree{"nccl.env.NCCL_ALGO=nvlstree", "cluster.nodes=2", "routing.kind=adaptive"};
  compare(nvlstree, 0.035);
  compare(with(nvlstree, "workload.buffers=registered"), 0.03);
  compare_with_plain(nvlstree);
}

TEST_CASE("registered buffers save the copies of sends and receives", "[engine]") {
  const Words inside{"workload.collective=alltoall"};
  const Words outside{"workload.collective=sendrecv", "cluster.nodes=2", "nccl.env.NCCL_PXN_DISABLE=1",
                      "routing.kind=adaptive"};
  compare(with(inside, "workload.buffers=registered"), 0.01);
  compare(with(outside, "workload.buffers=registered"), 0.01);
  compare_with_plain(with(inside, "workload.sizes=[4MiB, 256MiB]"));  // below, LL copies as before
  compare_with_plain(outside);
}

TEST_CASE("a NIC of the other socket adds the link between them at both ends of a hop", "[engine]") {
  const auto hop = [](const char* numa, const char* gdr) {
    const auto world = build_world(
        parse_scenario("fabricast: 1\nnode: {gpu: h100-sxm, gpus: 8}\ncluster: {nodes: 2}\n"
                       "workload: {collective: all_reduce, sizes: [8B]}\n",
                       "socket.yaml", {fmt::format("node.nics.numa={}", numa), fmt::format("node.gdr={}", gdr)})
            .scenario);
    const Communicator& comm = world.planner().comm;
    return protocol_costs(comm,
                          plan_collective(world.planner(), CollectiveOp::all_reduce, 8, Algorithm::ring, Protocol::ll))
        .hop_network;
  };
  // 0.12 us each, with GPUDirect RDMA or through host memory.
  for (const char* gdr : {"true", "false"}) CHECK((hop("remote", gdr) - hop("local", gdr)).value == Approx(0.24e-6));
}

TEST_CASE("the ninth piece of a message on a low-latency tree waits for a round trip", "[engine]") {
  // One channel of one NIC: one message of 12 KiB, in twelve pieces, or streaming.
  const char* text =
      "fabricast: 1\nnode: {gpu: h100-sxm, gpus: 1, nics: {count: 1, rate: 400Gbps}}\ncluster: {nodes: 4}\n"
      "nccl: {env: {NCCL_COLLNET_ENABLE: 1, NCCL_ALGO: CollNetChain, NCCL_MAX_NCHANNELS: 1}}\n"
      "workload: {collective: all_reduce, sizes: [8KiB, 12KiB, 24KiB], harness: {tool: isolated}}\n";
  const auto world = [&](const char* from) {
    return build_world(parse_scenario(text, "short.yaml", {fmt::format("sharp.streaming_from={}", from)}).scenario);
  };
  const auto streaming = world("0B"), usual = world("16KiB"), never = world("1MiB");
  const double trip = usual.planner().comm.sharp.trees.front().latency.value;
  CHECK(trip > 0);
  for (const char* engine : {"flow", "chunk"}) {
    CAPTURE(engine);
    const auto times = [&](const World& w) {
      Scenario s = w.scenario();
      s.network.engine = std::string(engine) == "flow" ? EngineKind::flow : EngineKind::chunk;
      std::vector<double> seconds;
      for (const ForecastRow& row : run_forecast(build_world(s)).rows) seconds.push_back(row.time.value);
      return seconds;
    };
    const auto a = times(streaming), b = times(usual), c = times(never);
    CHECK(b[0] == Approx(a[0]).epsilon(1e-9));
    CHECK(b[1] - a[1] == Approx(trip));
    CHECK(b[2] == Approx(a[2]).epsilon(1e-9));
    CHECK(c[2] - a[2] == Approx(2 * trip));  // 24 pieces are three windows
  }
}

}  // namespace
}  // namespace fabricast
