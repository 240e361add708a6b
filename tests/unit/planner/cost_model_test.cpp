// Latency and bandwidth of NCCL's cost model against its formulas, worked out by hand [NCCL-tuning].
#include <catch2/catch.hpp>

#include "support/clusters.hpp"

namespace fabricast {
namespace {

constexpr auto all_reduce = CollectiveOp::all_reduce, all_gather = CollectiveOp::all_gather;
constexpr auto ring = Algorithm::ring, tree = Algorithm::tree, nvls = Algorithm::nvls, nvlstree = Algorithm::nvlstree;
constexpr auto ll = Protocol::ll, ll128 = Protocol::ll128, simple = Protocol::simple;

AlgorithmCost cost(const Planner& planner, CollectiveOp op, Algorithm a, Protocol p) {
  return planner.costs.of[static_cast<std::size_t>(op)][static_cast<std::size_t>(a)][static_cast<std::size_t>(p)];
}
void check_cost(const AlgorithmCost& found, double latency, double bandwidth) {
  CHECK(found.latency == Approx(latency).epsilon(1e-12));
  CHECK(found.bandwidth == Approx(bandwidth).epsilon(1e-12));
}

TEST_CASE("costs on two H100 nodes", "[planner]") {
  const Planner p = test::planner_of(test::preset_spec("hgx-h100"), 2);
  // Ring: 8 channels of 48 GB/s; 30 steps, 2 of them over the network.
  check_cost(cost(p, all_reduce, ring, ll), 6.6 + 28 * 1.0 + 2 * 2.7, 39.0 * 16 / 30);
  check_cost(cost(p, all_reduce, ring, ll128), 14 + 28 * 1.9 + 2 * 4.0, 8 * 36.7 * 16 / 30);
  check_cost(cost(p, all_reduce, ring, simple), 8.4 + 28 * 3.4 + 2 * 14, 384.0 * 16 / 30);
  // Tree: pattern TREE costs 15 %; one level of nodes.
  check_cost(cost(p, all_reduce, tree, ll), 6.8 + 2 * (7 * .6 + 5.0), 39 * .85 / 2);
  check_cost(cost(p, all_reduce, tree, ll128), 14 + 2 * (7 * 1.25 + 8.5), 8 * 36.7 * .85 / 2);
  check_cost(cost(p, all_reduce, tree, simple), 8.4 + 2 * (7 * 4.0 + 14), 8 * 41.4 * .85 / 2);
  // NVLSTree: the network's two trees of two nodes, below the switch's 40 * .85 * 7 / 8 * 2.
  check_cost(cost(p, all_reduce, nvlstree, simple), 25 + 2 * 20.9, 8 * 57.7 * 16 / 30);
  CHECK(cost(p, all_reduce, nvls, simple).bandwidth == 0);
  check_cost(cost(p, CollectiveOp::broadcast, ring, ll), 6.6 + 16 * 2.7, 39);
}

TEST_CASE("latencies that NCCL logs on H100 nodes", "[planner]") {
  // NCCL 2.27.5's tuning log by nodes of eight GPUs [FABRICS-4].
  const auto planner = [](std::uint32_t nodes) {
    return test::planner_of(test::preset_spec("hgx-h100"), nodes, {}, {2, 27, 5});
  };
  const std::map<std::uint32_t, std::pair<double, double>> all_gather_simple = {
      {2, {70.0, 409.6}}, {4, {145.6, 396.4}}, {8, {296.8, 390.1}}, {16, {599.2, 387.0}}, {32, {1204, 385.5}}};
  for (const auto& [nodes, logged] : all_gather_simple) {
    const AlgorithmCost c = cost(planner(nodes), all_gather, ring, simple);
    CHECK(c.latency == Approx(logged.first).margin(0.05));
    CHECK(c.bandwidth == Approx(logged.second).margin(0.06));
  }
  CHECK(cost(planner(2), all_reduce, ring, ll).latency == Approx(40.0));
  const std::map<std::uint32_t, std::pair<double, double>> nvlstree_logged = {
      {2, {53, 266.7}}, {4, {81, 160}}, {8, {109, 160}}, {16, {137, 160}}, {32, {165, 160}}};
  for (const auto& [nodes, logged] : nvlstree_logged) {
    INFO(nodes << " nodes");
    const AlgorithmCost c = cost(planner(nodes), all_reduce, nvlstree, simple);
    CHECK(c.latency == Approx(logged.first));
    CHECK(c.bandwidth == Approx(logged.second).margin(0.06));
  }
}

TEST_CASE("TCPX disables LL128 if GPUs share NICs", "[planner]") {
  const auto ll128_rate = [](int nics, LinkKind link, const test::Variables& variables = {}) {
    NodeSpec spec = test::with_nics(test::preset_spec("hgx-h100"), nics, 200);
    spec.nics.link = link, spec.pcie_switches = usual_switches(spec, shipped_hardware());
    return cost(test::planner_of(spec, 2, variables), all_gather, ring, ll128).bandwidth;
  };
  CHECK(ll128_rate(4, LinkKind::gpudirect_tcpx) == 0);
  CHECK(ll128_rate(8, LinkKind::gpudirect_tcpx) > 0);
  CHECK(ll128_rate(4, LinkKind::roce) > 0);
  CHECK(ll128_rate(4, LinkKind::gpudirect_tcpx, {{"NCCL_PROTO", "LL128"}}) > 0);
}

TEST_CASE("costs on one H100 node", "[planner]") {
  const Planner p = test::planner_of(test::preset_spec("hgx-h100"), 1);
  check_cost(cost(p, all_reduce, ring, ll), 6.6 + 14 * .6, 141.0 * 8 / 14);
  check_cost(cost(p, all_reduce, ring, ll128), 14 + 14 * 1.9, 360 * .92 * 8 / 14);
  check_cost(cost(p, all_reduce, ring, simple), 8.4 + 14 * 3.4, 360.0 * 8 / 14);
  check_cost(cost(p, all_gather, ring, simple), 8.4 + 7 * 3.4, 360.0 * 8 / 7);
  check_cost(cost(p, all_reduce, tree, simple), 8.4 + 2 * 7 * 4.0, 360 * .92 / 2);
  // min(40 * .85 * 7 / 8 * 2, 60) per channel.
  check_cost(cost(p, all_reduce, nvls, simple), 25, 8 * 40 * .85 * 7 / 8 * 2 * 8 / 14);
  CHECK(cost(p, all_reduce, nvlstree, simple).bandwidth == 0);
  CHECK(cost(p, all_reduce, Algorithm::pat, simple).bandwidth == 0);
}

TEST_CASE("costs on A100 nodes", "[planner]") {
  const Planner p = test::planner_of(test::preset_spec("dgx-a100"), 4);
  const double n = 32;
  check_cost(cost(p, all_reduce, ring, ll), 6.6 + 56 * 2.0 + 6 * 2.7, 19 * n / 62);
  check_cost(cost(p, all_reduce, ring, ll128), 14 + 56 * 2.0 + 6 * 4.0, 8 * 20 * n / 62);
  check_cost(cost(p, all_reduce, ring, simple), 8.4 + 56 * 6.0 + 6 * 14, 8 * 24 * n / 62);
  check_cost(cost(p, all_reduce, tree, ll), 6.8 + 2 * (7 * .6 + 2 * 5.0), 19.0 / 2);
  check_cost(cost(p, all_reduce, tree, ll128), 14 + 2 * (7 * 1.25 + 2 * 8.5), 8 * 17.8 * 120 / 128 / 2);
  check_cost(cost(p, all_reduce, tree, simple), 8.4 + 2 * (7 * 4.0 + 2 * 14), 8 * 17.8 / 2);
  CHECK(cost(p, all_reduce, nvlstree, simple).bandwidth == 0);
}

TEST_CASE("one GPU per node uses PAT, and the tree's network hop", "[planner]") {
  const NodeSpec spec = test::with_nics(test::with_gpus(test::node_spec("h100-sxm"), 1), 1, 400);
  NodeSpec alone = spec;
  alone.intranode = Intranode::none;
  const Planner p = test::planner_of(alone, 16);
  check_cost(cost(p, all_reduce, ring, ll), 6.6 + 30 * 5.0, cost(p, all_reduce, ring, ll).bandwidth);
  CHECK(cost(p, all_gather, Algorithm::pat, simple).latency == Approx(8 + 4 * 14 / 3.5 + 2.8 * 16));
  CHECK(cost(p, all_reduce, Algorithm::pat, simple).bandwidth == 0);
  const Planner old = test::planner_of(alone, 16, {}, {2, 22, 3});
  CHECK(cost(old, all_gather, Algorithm::pat, simple).bandwidth == 0);
}

TEST_CASE("the time of a call: corrections by size", "[planner]") {
  const Planner h100 = test::planner_of(test::preset_spec("hgx-h100"), 2);
  const auto time = [&](Algorithm a, Protocol p, std::int64_t bytes) {
    return h100.costs.time(all_reduce, a, p, bytes);
  };
  const auto uncorrected = [&](Algorithm a, Protocol p, std::int64_t bytes, double factor) {
    const AlgorithmCost c = cost(h100, all_reduce, a, p);
    return c.latency + static_cast<double>(bytes) / (1000 * c.bandwidth * factor);
  };
  CHECK(time(tree, ll, 32) == Approx(uncorrected(tree, ll, 32, 1)));
  CHECK(time(tree, simple, 64) == Approx(uncorrected(tree, simple, 64, .9)));
  CHECK(time(tree, ll, 1 << 20) == Approx(uncorrected(tree, ll, 1 << 20, .5)));        // 2^14 units of 64 B
  CHECK(time(tree, ll128, 1 << 22) == Approx(uncorrected(tree, ll128, 1 << 22, .8)));  // 2^16
  CHECK(time(tree, simple, 1 << 20) == Approx(uncorrected(tree, simple, 1 << 20, .5)));
  CHECK(time(tree, simple, 1 << 29) == Approx(uncorrected(tree, simple, 1 << 29, 1)));  // from 512 MiB on
  // Plateau of the ring: 1.4 times the latency once a channel's chunk has 64 B.
  const double latency = cost(h100, all_reduce, ring, simple).latency;
  const std::int64_t edge = 64 * 16 * 16;
  CHECK(time(ring, simple, edge) == Approx(uncorrected(ring, simple, edge, 1) + .4 * latency));
  CHECK(time(ring, simple, edge - 1) == Approx(uncorrected(ring, simple, edge - 1, 1)));
  CHECK(h100.costs.time(all_gather, tree, simple, 1024) < 0);
  CHECK(h100.costs.time(CollectiveOp::alltoall, ring, simple, 1024) < 0);

  const Planner v100 = test::planner_of(test::preset_spec("dgx-v100"), 2);
  const AlgorithmCost c = cost(v100, all_reduce, ring, simple);
  CHECK(v100.costs.time(all_reduce, ring, simple, 1 << 20) ==
        Approx(1.9 * c.latency + (1 << 20) / (1000 * c.bandwidth)));
}

TEST_CASE("LL128 needs NVLink and a near NIC", "[planner]") {
  NodeSpec pcie = test::node_spec("a100-pcie");
  const Planner without_nvlink = test::planner_of(pcie, 1);
  CHECK(cost(without_nvlink, all_reduce, ring, ll128).bandwidth == 0);
  CHECK(cost(without_nvlink, all_reduce, ring, ll).bandwidth > 0);
  NodeSpec far = test::preset_spec("dgx-a100");
  far.nics.numa = NicNuma::remote;
  CHECK(cost(test::planner_of(far, 2), all_reduce, ring, ll128).bandwidth == 0);
  CHECK(cost(test::planner_of(far, 1), all_reduce, ring, ll128).bandwidth > 0);
  // A list in NCCL_PROTO makes it a hard yes.
  CHECK(cost(test::planner_of(far, 2, {{"NCCL_PROTO", "LL128"}}), all_reduce, ring, ll128).bandwidth > 0);
}

TEST_CASE("the CPU vendor caps LL over the network", "[planner]") {
  NodeSpec spec = test::preset_spec("hgx-h100");
  const auto bus = [&](CpuVendor cpu, std::uint32_t nodes) {
    spec.cpu = cpu;
    const double n = 8 * nodes;
    return cost(test::planner_of(spec, nodes), all_reduce, ring, ll).bandwidth * 2 * (n - 1) / n;
  };
  CHECK(bus(CpuVendor::intel, 2) == Approx(39));
  CHECK(bus(CpuVendor::intel, 64) == Approx(20.4));
  CHECK(bus(CpuVendor::amd, 2) == Approx(22.5));
  CHECK(bus(CpuVendor::amd, 64) == Approx(19));
  CHECK(bus(CpuVendor::amd, 1) == Approx(141));
}

}  // namespace
}  // namespace fabricast
