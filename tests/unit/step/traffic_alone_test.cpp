// Collectives that run alone, compared with the flow engine for a job of these ranks.
#include <fmt/format.h>
#include <catch2/catch.hpp>

#include "support/collectives.hpp"
#include "support/worlds.hpp"

namespace fabricast {
namespace {

using test::Collectives;
using test::everyone;
using test::groups_of_ranks;
using test::pairs_of_ranks;

std::string cluster(int nodes, const std::string& node = "gpu: h100-sxm",
                    const std::string& fabric = "kind: rail_optimized") {
  return fmt::format("node: {{{}}}\ncluster: {{nodes: {}}}\nfabric: {{{}}}\nrouting: {{kind: ecmp}}\n", node, nodes,
                     fabric);
}
std::string workload(std::string_view op) {
  return fmt::format("workload: {{kind: collective, collective: {}}}\n", op);
}

/// The result of `run` for the ranks of a world.
CollectiveResult run(const World& world, CollectiveOp op, std::int64_t bytes) {
  return make_flow_engine(world.setup(), 1)->run(plan_collective(world.planner(), op, bytes));
}

TEST_CASE("a collective of all ranks in a step takes the time of `run`") {
  const CollectiveOp op = GENERATE(CollectiveOp::all_reduce, CollectiveOp::all_gather, CollectiveOp::alltoall,
                                   CollectiveOp::sendrecv, CollectiveOp::broadcast);
  const std::int64_t bytes = GENERATE(std::int64_t{64} << 10, std::int64_t{256} << 20);
  CAPTURE(name_of(op), bytes);
  // The workload's own operation decides what NIC ports reach; the step has both kinds on one fabric.
  const auto own = test::world_of(cluster(4) + workload(name_of(op)));
  const auto world = test::world_of(cluster(4) + workload("all_reduce"));
  Collectives x;
  x.add(op, bytes, everyone(32));
  const auto traffic = make_flow_traffic(world, x.program, 1);
  const CollectiveResult result = run(own, op, bytes);
  CHECK(traffic->alone(0).makespan.value == Approx(result.makespan.value).epsilon(1e-9));
  CHECK(traffic->alone(0).launch.value == Approx(result.launch.value).epsilon(1e-9));
  CHECK(make_flow_traffic(own, x.program, 1)->alone(0).makespan.value == Approx(result.makespan.value).epsilon(1e-9));
}

TEST_CASE("tensor groups fill nodes, and take the time of a single node") {
  const auto world = test::world_of(cluster(4) + workload("all_reduce"));
  const auto one = test::world_of(cluster(1) + workload("all_reduce"));
  Collectives x;
  x.add(CollectiveOp::all_reduce, 32 << 20, groups_of_ranks(0, 32, 8, 1));
  const auto traffic = make_flow_traffic(world, x.program, 1);
  CHECK(traffic->alone(0).makespan.value ==
        Approx(run(one, CollectiveOp::all_reduce, 32 << 20).makespan.value).epsilon(1e-9));
  // For a stage on the last two nodes, a link of these nodes is named, although equal groups are timed once.
  x.add(CollectiveOp::all_gather, 1 << 30, groups_of_ranks(0, 16, 8, 1));
  x.add(CollectiveOp::all_gather, 1 << 30, groups_of_ranks(16, 16, 8, 1));
  const auto stages = make_flow_traffic(world, x.program, 1);
  CHECK(stages->alone(1).bottleneck.starts_with("node0."));
  CHECK(stages->alone(2).bottleneck.starts_with("node2."));
  CHECK(stages->alone(2).makespan.value == stages->alone(1).makespan.value);
}

TEST_CASE("data groups with one GPU of each node take the time of nodes with one GPU") {
  const CollectiveOp op = GENERATE(CollectiveOp::all_reduce, CollectiveOp::reduce_scatter, CollectiveOp::alltoall);
  const std::int64_t bytes = GENERATE(std::int64_t{1} << 20, std::int64_t{512} << 20);
  CAPTURE(name_of(op), bytes);
  const auto world = test::world_of(cluster(16) + workload("all_reduce"));
  const auto small = test::world_of(cluster(16,
                                            "gpu: h100-sxm, gpus: 1, intranode: none, pcie_switches: 1, nics: {count: "
                                            "1, rate: 400Gbps, link: infiniband}") +
                                    workload(name_of(op)));
  Collectives x;
  x.add(op, bytes, groups_of_ranks(0, 128, 16, 8));
  const auto traffic = make_flow_traffic(world, x.program, 1);
  CHECK(traffic->alone(0).makespan.value == Approx(run(small, op, bytes).makespan.value).epsilon(0.03));
}

TEST_CASE("hosts that share NVLink are one node, and a group has only the hosts that it needs") {
  const std::string node = "gpu: gb200";
  const auto with_domain = [&](int nodes, int domain) {
    return test::world_of(cluster(nodes, node, "kind: fat_tree") +
                          fmt::format("nvlink_domain: {{nodes: {}}}\n", domain) + workload("all_reduce"));
  };
  const auto world = with_domain(36, 18);
  Collectives x;
  x.add(CollectiveOp::all_reduce, 64 << 20, groups_of_ranks(0, 144, 8, 1), Part::tensor);
  x.add(CollectiveOp::all_gather, 64 << 20, {{0, 72}});
  x.add(CollectiveOp::alltoall, 64 << 20, groups_of_ranks(0, 144, 72, 1), Part::expert);
  const auto traffic = make_flow_traffic(world, x.program, 1);
  CHECK(traffic->alone(0).makespan.value ==
        Approx(run(with_domain(2, 2), CollectiveOp::all_reduce, 64 << 20).makespan.value).epsilon(1e-9));
  // Neither GPUs nor NICs of the other hosts of the domain remain.
  const auto hosts = with_domain(2, 1);
  Collectives pair;
  pair.add(CollectiveOp::all_gather, 64 << 20, {{0, 4}});
  CHECK(traffic->alone(1).makespan.value ==
        Approx(make_flow_traffic(hosts, pair.program, 1)->alone(0).makespan.value).epsilon(0.03));
  Collectives all;
  all.add(CollectiveOp::all_reduce, 64 << 20, everyone(144));
  CHECK(make_flow_traffic(world, all.program, 1)->alone(0).makespan.value ==
        Approx(run(world, CollectiveOp::all_reduce, 64 << 20).makespan.value).epsilon(1e-9));
  CHECK(traffic->alone(2).makespan.value ==
        Approx(run(with_domain(18, 18), CollectiveOp::alltoall, 64 << 20).makespan.value).epsilon(1e-9));
}

TEST_CASE("groups on PCIe share its switches and the path between sockets") {
  const auto world = test::world_of(cluster(1, "gpu: l40s, gpus: 8") + workload("all_reduce"));
  Collectives x;
  x.add(CollectiveOp::all_reduce, 64 << 20, {{0, 1}});
  x.add(CollectiveOp::all_reduce, 64 << 20, {{0, 4}});
  x.add(CollectiveOp::all_reduce, 64 << 20, groups_of_ranks(0, 8, 2, 4));
  const auto traffic = make_flow_traffic(world, x.program, 1);
  CHECK(traffic->alone(0).makespan.value < traffic->alone(1).makespan.value);
  CHECK(traffic->alone(2).makespan.value > 1.5 * traffic->alone(1).makespan.value);
  CHECK(test::paces(*traffic, {1, 1})[0] < 1);
}

TEST_CASE("groups that are uneven for NCCL are refused, and the error names the split to change") {
  const auto world = test::world_of(cluster(3) + workload("all_reduce"));
  Collectives x;
  x.add(CollectiveOp::all_reduce, 1 << 20, groups_of_ranks(0, 24, 12, 1), Part::tensor);
  const auto traffic = make_flow_traffic(world, x.program, 1);
  CHECK_THROWS_WITH(traffic->alone(0), Catch::Contains("tensor groups have 8 GPUs on one node and 4 on another"));
}

}  // namespace
}  // namespace fabricast
