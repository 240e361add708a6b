// Copy engines: when NCCL uses them, their load on links, and that they are never faster than the links.
#include <catch2/catch.hpp>

#include "fabricast/collective/algorithm.hpp"
#include "fabricast/protocol/costs.hpp"
#include "support/clusters.hpp"

namespace fabricast {
namespace {

constexpr std::int64_t MiB = 1 << 20;
constexpr auto all_gather = CollectiveOp::all_gather;

Planner planner_of(const test::Variables& variables, const NodeSpec& spec = test::preset_spec("hgx-h100"),
                   std::uint32_t nodes = 1, NcclVersion version = {2, 30, 7}, Buffers buffers = Buffers::symmetric) {
  Planner planner = test::planner_of(spec, nodes, variables, version);
  planner.buffers = buffers;
  return planner;
}
bool by_copies(const Planner& planner, CollectiveOp op = all_gather) {
  return plan_collective(planner, op, MiB).algorithm == Algorithm::copy_engine;
}

TEST_CASE("every algorithm is at its number in the table", "[collective]") {
  const auto all = collective_algorithms();
  REQUIRE(all.size() == EnumNames<Algorithm>::names.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    CHECK(static_cast<std::size_t>(all[i].algorithm) == i);
    CHECK(all[i].name == EnumNames<Algorithm>::names[i]);
  }
}

TEST_CASE("NCCL uses copy engines if the caller wants no thread blocks", "[collective]") {
  const test::Variables zero = {{"NCCL_CTA_POLICY", "2"}};
  const NodeSpec h100 = test::preset_spec("hgx-h100");
  CHECK(by_copies(planner_of(zero)));
  CHECK(by_copies(planner_of({{"NCCL_CTA_POLICY", "zero|default"}})));
  CHECK(by_copies(planner_of(zero, h100, 1, {2, 28, 3})));

  CHECK_FALSE(by_copies(planner_of({})));
  CHECK_FALSE(by_copies(planner_of({{"NCCL_CTA_POLICY", "EFFICIENCY"}})));
  CHECK_FALSE(
      by_copies(planner_of({{"NCCL_CTA_POLICY", "ZERO"}}, h100, 1, {2, 28, 3})));  // words are accepted since 2.29
  CHECK_FALSE(by_copies(planner_of(zero, h100, 1, {2, 27, 7})));
  CHECK_FALSE(by_copies(planner_of(zero, h100, 1, {2, 30, 7}, Buffers::registered)));
  CHECK_FALSE(by_copies(planner_of(zero, h100, 2)));
  CHECK_FALSE(by_copies(planner_of(zero, test::node_spec("a100-pcie"))));
  CHECK_FALSE(by_copies(planner_of({{"NCCL_CTA_POLICY", "2"}, {"NCCL_WIN_ENABLE", "0"}})));
  for (const auto op : {CollectiveOp::all_reduce, CollectiveOp::reduce_scatter, CollectiveOp::alltoall})
    CHECK_FALSE(by_copies(planner_of(zero), op));
  CHECK_THROWS_AS(planner_of({{"NCCL_CTA_POLICY", "none"}}), UserError);
}

TEST_CASE("copies put every block on the links of its owner once for each other rank", "[collective]") {
  const Planner planner = planner_of({{"NCCL_CTA_POLICY", "2"}});
  const Plan plan = plan_collective(planner, all_gather, MiB);
  const CollectiveAlgorithm& algorithm = *find_by_algorithm(plan.algorithm);
  std::vector<NodeTransfer> transfers;
  algorithm.node_transfers(planner.comm, plan, 0, 0, transfers);
  std::vector<double> out(8), in(8);
  for (const NodeTransfer& t : transfers) {
    REQUIRE(t.kind == NodeTransfer::Kind::gpu_to_gpu);
    out[static_cast<std::size_t>(t.from)] += t.weight, in[static_cast<std::size_t>(t.to)] += t.weight;
  }
  for (std::size_t g = 0; g < 8; ++g) CHECK((out[g] == Approx(7.0 / 8) && in[g] == Approx(7.0 / 8)));
}

TEST_CASE("number of barriers and copies", "[collective]") {
  const auto before = [](const Planner& planner, std::int64_t bytes) {
    const Plan plan = plan_collective(planner, all_gather, bytes);
    return find_by_algorithm(plan.algorithm)->stream(planner.comm, plan, 0).alone.before * 1e6;
  };
  const Planner eight = planner_of({{"NCCL_CTA_POLICY", "2"}});
  const Architecture& gpu = eight.comm.node.architecture;
  const double barrier = gpu.copy_barrier.value, start = gpu.copy_start.value;
  CHECK(before(eight, MiB) == Approx(2 * barrier + 8 * start));
  CHECK(before(eight, 1024 * MiB) == Approx(2 * barrier + 8 * start));
  // Sixteen copies in two batches, with a barrier between them.
  const Planner sixteen = planner_of({{"NCCL_CTA_POLICY", "2"}}, test::with_gpus(test::preset_spec("hgx-h100"), 16));
  CHECK(before(sixteen, 511 * MiB) == Approx(2 * barrier + 16 * start));
  CHECK(before(sixteen, 512 * MiB) == Approx(3 * barrier + 16 * start));
  // No thread blocks are launched.
  const Plan plan = plan_collective(eight, all_gather, MiB);
  CHECK(plan.threads == 0);
  CHECK(microseconds(protocol_costs(eight.comm, plan).launch) == Approx(gpu.launch.value));
}

}  // namespace
}  // namespace fabricast
