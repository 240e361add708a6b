// The prover finds faults of schedules.
#include <catch2/catch.hpp>
#include <memory>

#include "fabricast/collective/algorithm.hpp"
#include "fabricast/collective/prove.hpp"
#include "support/reducing.hpp"

namespace fabricast {
namespace {

using Catch::Contains;
using test::node_of;
constexpr auto all_reduce = CollectiveOp::all_reduce;

/// A program of another algorithm with some wrong steps.
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

std::string fault_with(Spoilt::Change change, Algorithm base, CollectiveOp op, const Planner& planner) {
  static Spoilt::Change spoil;
  static Algorithm spoilt;
  spoil = change, spoilt = base;
  const Plan plan = plan_collective(planner, op, 4096, base, Protocol::simple);
  CollectiveAlgorithm algorithm = *find_by_algorithm(base);
  REQUIRE(can_run(algorithm, planner.comm, op, Protocol::simple));
  algorithm.program = [](const Communicator& comm, const Plan& p, int channel) -> std::unique_ptr<ChannelProgram> {
    return std::make_unique<Spoilt>(find_by_algorithm(spoilt)->program(comm, p, channel), spoil);
  };
  return schedule_fault(algorithm, planner.comm, plan).value_or("right");
}

const test::Variables one_channel = {{"NCCL_MAX_NCHANNELS", "1"}};

std::string fault_with(Spoilt::Change change, Algorithm base) {
  return fault_with(change, base, all_reduce, test::planner_of(node_of(2, 2), 2, one_channel));
}

void leave(std::int32_t, std::int64_t, Step&) {}

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
             Contains("waits forever") || Contains("expects"));
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
             Contains("waits forever"));
}

// Worker 16 r + 2 i sends what rank r sends in round i, the next one receives.
TEST_CASE("broken sends and receives", "[collective]") {
  const auto with = [](Spoilt::Change change) {
    return fault_with(change, Algorithm::p2p, CollectiveOp::alltoall, test::planner_of(node_of(2, 2), 2, one_channel));
  };
  CHECK(with(leave) == "right");
  CHECK_THAT(with([](std::int32_t w, std::int64_t, Step& s) { s.own &= w != 2; }), Contains("0 times"));
  CHECK_THAT(with([](std::int32_t w, std::int64_t, Step& s) { s.own |= w == 3; }), Contains("expected 0"));
  CHECK_THAT(with([](std::int32_t w, std::int64_t, Step& s) { s.result &= w != 3; }),
             Contains("rank 0 has nothing at byte"));
  CHECK_THAT(with([](std::int32_t w, std::int64_t, Step& s) { s.result &= w != 0; }),
             Contains("rank 0 has nothing at byte 0"));
  CHECK_THAT(with([](std::int32_t w, std::int64_t, Step& s) {
               if (w == 2) s.to.clear();
             }),
             Contains("waits forever"));
  CHECK_THAT(with([](std::int32_t w, std::int64_t, Step& s) {
               if (w == 2) s.to.push_back(s.to.front() + 2);
             }),
             Contains("never received"));
  CHECK_THAT(with([](std::int32_t w, std::int64_t, Step& s) {
               if (w == 2) s.ranges.front().begin += 1024;
             }),
             Contains("expects"));
}

// Worker 2r sends for rank r, worker 2r + 1 receives.
TEST_CASE("broken trees of PAT", "[collective]") {
  const auto with = [](CollectiveOp op, Spoilt::Change change) {
    return fault_with(change, Algorithm::pat, op, test::planner_of(node_of(1, 1), 4, one_channel));
  };
  constexpr auto gather = CollectiveOp::all_gather, scatter = CollectiveOp::reduce_scatter;
  CHECK(with(gather, leave) == "right");
  CHECK(with(scatter, leave) == "right");
  CHECK_THAT(with(gather, [](std::int32_t w, std::int64_t i, Step& s) { s.result &= w != 0 || i != 0; }),
             Contains("has kept nothing"));
  CHECK_THAT(with(gather, [](std::int32_t w, std::int64_t, Step& s) { s.own |= w == 1; }), Contains("expected 0"));
  CHECK_THAT(with(gather,
                  [](std::int32_t w, std::int64_t, Step& s) {
                    if (w == 0) s.from.clear();
                  }),
             Contains("never received") || Contains("has kept nothing"));
  CHECK_THAT(with(scatter, [](std::int32_t w, std::int64_t i, Step& s) { s.own |= w == 1 && i == 1; }),
             Contains("2 times"));
  CHECK_THAT(with(scatter, [](std::int32_t w, std::int64_t i, Step& s) { s.own &= w != 0 || i != 0; }),
             Contains("0 times"));
  CHECK_THAT(with(scatter, [](std::int32_t w, std::int64_t, Step& s) { s.keep &= w != 1; }),
             Contains("has kept nothing"));
  CHECK_THAT(with(scatter, [](std::int32_t w, std::int64_t, Step& s) { s.result &= w != 1; }),
             Contains("rank 0 has nothing"));
}

// Workers 4r to 4r + 3 of rank r: copy in, up, down, copy out; after all of them the trees of switches.
TEST_CASE("broken heads", "[collective]") {
  const auto nvls = [](Spoilt::Change change) {
    return fault_with(change, Algorithm::nvls, all_reduce, test::planner_of(node_of(4, 4), 1, one_channel));
  };
  CHECK(nvls(leave) == "right");
  CHECK_THAT(nvls([](std::int32_t w, std::int64_t, Step& s) { s.own &= w != 0; }), Contains("0 times"));
  CHECK_THAT(nvls([](std::int32_t w, std::int64_t, Step& s) { s.own |= w == 1; }), Contains("2 times"));
  CHECK_THAT(nvls([](std::int32_t w, std::int64_t, Step& s) { s.result &= w != 3; }), Contains("rank 0 has nothing"));
  CHECK_THAT(nvls([](std::int32_t w, std::int64_t, Step& s) {
               if (w == 0) s.ranges.pop_back();
             }),
             Contains("has 3 ranges for 4 workers"));
  CHECK_THAT(nvls([](std::int32_t w, std::int64_t, Step& s) {
               if (w == 0) std::swap(s.ranges[0], s.ranges[1]);
             }),
             Contains("expects"));
  CHECK_THAT(nvls([](std::int32_t w, std::int64_t, Step& s) {
               if (w == 1) s.from.pop_back();
             }),
             Contains("never received"));

  const auto trees = [](Spoilt::Change change) {
    return fault_with(change, Algorithm::nvlstree, all_reduce, test::planner_of(node_of(2, 2), 3, one_channel));
  };
  CHECK(trees(leave) == "right");
  // A head that sends up has one worker to send to.
  CHECK_THAT(trees([](std::int32_t w, std::int64_t, Step& s) {
               if (w % 4 == 1 && s.to.size() == 1) s.to.clear();
             }),
             Contains("waits forever"));
  CHECK_THAT(trees([](std::int32_t w, std::int64_t, Step& s) { s.own |= w == 1; }), Contains("2 times"));
}

TEST_CASE("broken reductions in the switches", "[collective]") {
  for (const auto& [algorithm, gpus] :
       {std::pair{Algorithm::collnetdirect, 2}, {Algorithm::nvls, 2}, {Algorithm::collnetchain, 3}}) {
    INFO(name_of(algorithm));
    const auto with = [base = algorithm, g = gpus](Spoilt::Change change) {
      return fault_with(change, base, all_reduce, test::reducing_planner(node_of(g, g), 2, one_channel));
    };
    CHECK(with(leave) == "right");
    CHECK_THAT(with([](std::int32_t w, std::int64_t, Step& s) { s.own &= w != 0; }), Contains("0 times"));
    CHECK_THAT(with([](std::int32_t, std::int64_t, Step& s) { s.own |= s.in_switches != nullptr; }),
               Contains("2 times"));
    CHECK_THAT(with([](std::int32_t, std::int64_t, Step& s) {
                 if (s.in_switches) s.from.pop_back();
               }),
               Contains("never received"));
    CHECK_THAT(with([](std::int32_t, std::int64_t, Step& s) {
                 if (s.in_switches) s.to.pop_back();
               }),
               Contains("waits forever"));
  }
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
