// Symbolic proofs of the schedules, and that the prover sees what is wrong.
#include <catch2/catch.hpp>
#include <memory>

#include "fabricast/collective/algorithm.hpp"
#include "fabricast/collective/prove.hpp"
#include "support/clusters.hpp"

namespace fabricast {
namespace {

constexpr auto all_reduce = CollectiveOp::all_reduce;

/// A node whose GPUs are joined as a user would.
NodeSpec node_of(int gpus, int nics) {
  NodeSpec spec = test::with_nics(test::with_gpus(test::preset_spec("hgx-h100"), gpus), nics, 400);
  if (gpus == 1) spec.intranode = Intranode::none;
  return spec;
}

void prove(const Planner& planner, CollectiveOp op, Algorithm algorithm, Protocol protocol, std::int64_t bytes) {
  if (!can_run(*find_by_algorithm(algorithm), planner.comm, op, protocol)) return;
  const Plan plan = plan_collective(planner, op, bytes, algorithm, protocol);
  const auto fault = schedule_fault(planner.comm, plan);
  INFO(name_of(op) << " " << name_of(algorithm) << " " << name_of(protocol) << ", " << bytes << " B, "
                   << planner.comm.nodes() << " nodes of " << planner.comm.gpus() << ", " << plan.channels
                   << " channels");
  CHECK(fault.value_or("right") == "right");
}

TEST_CASE("every schedule gives every rank every contribution once", "[collective]") {
  // A small buffer, so that small sizes take several loops, too.
  const test::Variables variables = {{"NCCL_BUFFSIZE", "4096"}};
  for (const int gpus : {1, 2, 3, 5, 8})
    for (const std::uint32_t nodes : {1U, 2U, 3U, 4U, 7U}) {
      if (gpus == 1 && nodes == 1) continue;
      const Planner planner = test::planner_of(node_of(gpus, gpus), nodes, variables);
      for (const CollectiveAlgorithm& algorithm : collective_algorithms())
        for (std::size_t op = 0; op < EnumNames<CollectiveOp>::names.size(); ++op) {
          if (!algorithm.supports(static_cast<CollectiveOp>(op))) continue;
          for (const std::int64_t bytes : {1L, 8L, 1000L, 65537L, 1000003L})
            prove(planner, static_cast<CollectiveOp>(op), algorithm.algorithm, Protocol::simple, bytes);
          for (const auto protocol : {Protocol::ll, Protocol::ll128})
            prove(planner, static_cast<CollectiveOp>(op), algorithm.algorithm, protocol, 1000003);
        }
    }
}

TEST_CASE("schedules on nodes with fewer NICs than GPUs, and on meshes", "[collective]") {
  NodeSpec mesh = test::preset_spec("dgx-v100");
  mesh.intranode = Intranode::nvlink_mesh, mesh.gpus = 4, mesh.nics.count = 2;
  for (const NodeSpec& spec : {node_of(8, 4), node_of(8, 1), node_of(5, 2), mesh, test::node_spec("a100-pcie")})
    for (const std::uint32_t nodes : {1U, 2U, 5U}) {
      const Planner planner = test::planner_of(spec, nodes);
      for (const CollectiveAlgorithm& algorithm : collective_algorithms())
        for (const auto op : {CollectiveOp::broadcast, CollectiveOp::reduce, CollectiveOp::all_gather,
                              CollectiveOp::reduce_scatter, all_reduce})
          if (algorithm.supports(op)) prove(planner, op, algorithm.algorithm, Protocol::simple, 777777);
    }
}

TEST_CASE("schedules on many ranks", "[collective]") {
  const Planner planner = test::planner_of(test::preset_spec("hgx-h100"), 13, {{"NCCL_MAX_NCHANNELS", "4"}});
  prove(planner, all_reduce, Algorithm::ring, Protocol::simple, 4000001);
  prove(planner, all_reduce, Algorithm::tree, Protocol::simple, 4000001);
  const Planner domain = test::planner_of(test::with_gpus(test::preset_spec("gb200-tray"), 72), 1);
  prove(domain, all_reduce, Algorithm::ring, Protocol::ll, 100001);
}

TEST_CASE("large buffers in several loops of full chunks", "[collective]") {
  const Planner planner = test::planner_of(node_of(2, 2), 2, {{"NCCL_MAX_NCHANNELS", "2"}});
  for (const auto op : {all_reduce, CollectiveOp::all_gather, CollectiveOp::broadcast})
    prove(planner, op, Algorithm::ring, Protocol::simple, (std::int64_t{1} << 30) + 12345);
  prove(planner, all_reduce, Algorithm::tree, Protocol::ll128, (std::int64_t{1} << 28) + 77);
}

/// A program of another algorithm with some steps spoilt.
class Spoilt final : public ChannelProgram {
 public:
  using Change = void (*)(std::int32_t worker, std::int64_t index, Step& step);
  Spoilt(std::unique_ptr<ChannelProgram> right, Change change) : right_(std::move(right)), change_(change) {}
  std::int32_t workers() const override { return right_->workers(); }
  Rank rank_of(std::int32_t worker) const override { return right_->rank_of(worker); }
  std::int64_t steps(std::int32_t worker) const override { return right_->steps(worker); }
  Step step(std::int32_t worker, std::int64_t index) const override {
    Step step = right_->step(worker, index);
    change_(worker, index, step);
    return step;
  }

 private:
  std::unique_ptr<ChannelProgram> right_;
  Change change_;
};

std::string fault_with(Spoilt::Change change, Algorithm base) {
  static Spoilt::Change spoil;
  static Algorithm spoilt;
  spoil = change, spoilt = base;
  const Planner planner = test::planner_of(node_of(2, 2), 2, {{"NCCL_MAX_NCHANNELS", "1"}});
  const Plan plan = plan_collective(planner, all_reduce, 4096, base, Protocol::simple);
  CollectiveAlgorithm algorithm = *find_by_algorithm(base);
  algorithm.program = [](const Communicator& comm, const Plan& p, int channel) -> std::unique_ptr<ChannelProgram> {
    return std::make_unique<Spoilt>(find_by_algorithm(spoilt)->program(comm, p, channel), spoil);
  };
  return schedule_fault(algorithm, planner.comm, plan).value_or("right");
}

TEST_CASE("the prover rejects broken schedules", "[collective]") {
  using Catch::Contains;
  const auto ring = Algorithm::ring, tree = Algorithm::tree;
  CHECK(fault_with([](std::int32_t, std::int64_t, Step&) {}, ring) == "right");
  CHECK(fault_with([](std::int32_t, std::int64_t, Step&) {}, tree) == "right");

  // A contribution is forgotten, or added twice.
  CHECK_THAT(fault_with([](std::int32_t w, std::int64_t i, Step& s) { s.own &= w != 1 || i != 2; }, ring),
             Contains("0 times"));
  CHECK_THAT(fault_with([](std::int32_t w, std::int64_t i, Step& s) { s.own |= w == 1 && i == 4; }, ring),
             Contains("2 times"));
  CHECK_THAT(fault_with([](std::int32_t w, std::int64_t, Step& s) { s.own |= w == 3; }, tree), Contains("2 times"));
  // A result is not kept, or kept before it is complete.
  CHECK_THAT(fault_with([](std::int32_t w, std::int64_t i, Step& s) { s.result &= w != 2 || i != 6; }, ring),
             Contains("rank 2 has nothing") || Contains("rank 3 has nothing"));
  CHECK_THAT(fault_with([](std::int32_t, std::int64_t i, Step& s) { s.result = i == 0 || s.result; }, ring),
             Contains("twice"));
  // A message is lost, sent to the wrong rank, or of another range.
  CHECK_THAT(fault_with(
                 [](std::int32_t w, std::int64_t i, Step& s) {
                   if (w == 0 && i == 3) s.to.clear();
                 },
                 ring),
             Contains("waits for ever") || Contains("expects"));
  CHECK_THAT(fault_with(
                 [](std::int32_t w, std::int64_t, Step& s) {
                   if (w == 0 && !s.to.empty()) s.to.push_back(2);
                 },
                 ring),
             Contains("never received"));
  CHECK_THAT(fault_with(
                 [](std::int32_t w, std::int64_t i, Step& s) {
                   if (w == 0 && i == 0) s.ranges[0].size -= 16;
                 },
                 ring),
             Contains("expects"));
  CHECK_THAT(fault_with(
                 [](std::int32_t w, std::int64_t, Step& s) {
                   if (w == 0) s.from = {1};
                 },
                 ring),
             Contains("waits for ever"));
}

TEST_CASE("the prover rejects plans whose shares leave a gap or overlap", "[collective]") {
  const Planner planner = test::planner_of(node_of(2, 2), 2);
  Plan plan = plan_collective(planner, all_reduce, 1 << 20, Algorithm::ring, Protocol::simple);
  REQUIRE(plan.channels > 1);
  REQUIRE_FALSE(schedule_fault(planner.comm, plan));
  Plan gap = plan;
  gap.shares[0] -= 16;
  CHECK_THAT(schedule_fault(planner.comm, gap).value_or(""), Catch::Contains("has nothing at byte"));
  Plan overlap = plan;
  overlap.offsets[1] -= 16;
  CHECK_THAT(schedule_fault(planner.comm, overlap).value_or(""), Catch::Contains("twice"));
}

}  // namespace
}  // namespace fabricast
