// Effects of the network on steps: three jobs where it matters.
#include <fmt/format.h>
#include <catch2/catch.hpp>

#include <algorithm>
#include <set>

#include "fabricast/traffic/flow_traffic.hpp"
#include "support/step_jobs.hpp"

namespace fabricast {
namespace {

using test::both;
using test::exposed;
using test::Sets;
using test::step;
using test::step_seconds;
using test::step_world;

const std::string adaptive = "routing={kind: adaptive}";

std::string rate(int gbps) { return fmt::format("node.nics.rate={}Gbps", gbps); }
std::string over(int ratio) { return fmt::format("fabric.oversubscription={}", ratio); }

std::string any_job() { return GENERATE(as<std::string>(), "zero3", "strong_scaling", "experts"); }
int rate_of(const std::string& job) { return job == "strong_scaling" ? 200 : 400; }

TEST_CASE("faster NICs make the step shorter, and less so the faster they are") {
  const std::string job = any_job();
  const int gbps = rate_of(job);
  CAPTURE(job);
  const double slow = step_seconds(job, {adaptive, rate(gbps / 2)}), usual = step_seconds(job, {adaptive, rate(gbps)}),
               fast = step_seconds(job, {adaptive, rate(2 * gbps)});
  CHECK(slow > 1.03 * usual);
  CHECK(usual > fast);
  CHECK(slow - usual > usual - fast);
}

TEST_CASE("oversubscription affects traffic that crosses leaves") {
  const std::string job = any_job();
  CAPTURE(job);
  const Sets scattered{adaptive, "cluster.placement=random"};
  const double fair = step_seconds(job, scattered), half = step_seconds(job, both(scattered, {over(2)})),
               quarter = step_seconds(job, both(scattered, {over(4)}));
  CHECK(fair * 1.02 < half);
  CHECK(half * 1.02 < quarter);
}

TEST_CASE("with hosts in order, rings rarely leave their leaf, so 4:1 costs the ZeRO-3 step nothing") {
  CHECK(step_seconds("zero3", {adaptive, over(4)}) == Approx(step_seconds("zero3", {adaptive})).epsilon(0.005));
}

TEST_CASE("samples of ECMP give different step times; a single path gives a single time") {
  const std::string job = any_job();
  CAPTURE(job);
  const StepForecast ecmp = step(job, {"routing.seeds=4"});
  CHECK(ecmp.samples == 4);
  CHECK(ecmp.time_worst.value > 1.01 * ecmp.time_p5.value);
  CHECK(ecmp.time.value >= step_seconds(job, {adaptive}));
  const StepForecast one = step(job, {"routing.seeds=4", "fabric={kind: single_switch}"});
  CHECK(one.samples == 4);
  CHECK(one.time_worst.value == one.time_p5.value);
}

TEST_CASE("a slow link slows the collectives that cross it, and the step") {
  const std::string job = any_job();
  CAPTURE(job);
  constexpr std::uint32_t host = 3, gpus = 8;
  const Sets slow{adaptive, "faults=[{link: node3.nic0, rate: 10%}]"};
  const auto world = step_world(job, {adaptive}), faulty = step_world(job, slow);
  const Program program = training_program(step_of(world));
  const auto before = make_flow_traffic(world, program, 1), after = make_flow_traffic(faulty, program, 1);
  int crossing = 0;
  for (std::uint32_t k = 0; k < program.collectives.size(); ++k) {
    const RankGroups& groups = program.groups[program.collectives[k].groups];
    const bool crosses = std::any_of(groups.begin(), groups.end(), [&](const std::vector<std::uint32_t>& g) {
      const auto there = [&](std::uint32_t rank) { return rank / gpus == host; };
      return std::any_of(g.begin(), g.end(), there) && !std::all_of(g.begin(), g.end(), there);
    });
    const double ratio = after->alone(k).makespan.value / before->alone(k).makespan.value;
    CAPTURE(program.collectives[k].name, program.collectives[k].bytes);
    if (crosses) {
      ++crossing;
      CHECK(ratio > 3);
      CHECK(ratio < 11);
    } else {
      CHECK(ratio == Approx(1).epsilon(1e-9));
    }
  }
  CHECK(crossing > 0);
  CHECK(crossing < static_cast<int>(program.collectives.size()) + (job == "zero3"));
  CHECK(step_seconds(job, slow) > 1.3 * step_seconds(job, {adaptive}));
}

TEST_CASE("placement matters with ECMP, and a bad order with oversubscribed leaves") {
  const std::string job = any_job();
  CAPTURE(job);
  const double in_order = step_seconds(job, {"routing.seeds=4"}),
               scattered = step_seconds(job, {"routing.seeds=4", "cluster.placement=random"});
  // All-to-alls leave their leaf for any placement.
  CHECK(scattered > 1.02 * in_order);
  if (job == "experts") CHECK(scattered < 1.2 * in_order);
  // Neighbours in the job never share a leaf of four hosts: hosts 0, n/4, n/2, ... of the fabric come first.
  const int nodes = job == "strong_scaling" ? 64 : 32;
  std::string order;
  for (int i = 0; i < nodes; ++i) order += fmt::format("{}{}", i ? ", " : "", i % 4 * (nodes / 4) + i / 4);
  const std::string bad = fmt::format("cluster={{nodes: {}, placement: list, order: [{}]}}", nodes, order);
  CHECK(step_seconds(job, {adaptive, over(4), bad}) > 1.02 * step_seconds(job, {adaptive, over(4)}));
}

TEST_CASE("without GPUDirect RDMA the step is longer by the additional exposed time") {
  const std::string job = any_job();
  CAPTURE(job);
  const StepForecast with = step(job, {adaptive}), without = step(job, {adaptive, "node.gdr=false"});
  CHECK(without.time.value > 1.05 * with.time.value);
  CHECK(exposed(without) > 1.2 * exposed(with));
  for (const Part part : {Part::forward, Part::backward, Part::optimizer})
    CHECK(without.mean.busy[static_cast<std::size_t>(part)].value ==
          Approx(with.mean.busy[static_cast<std::size_t>(part)].value).epsilon(1e-9));
}

TEST_CASE("NCCL_ALGO changes the step by as much as it changes the all-reduces") {
  const Sets ddp{adaptive, "workload.parallel.zero=0", "workload.overlap.data=false"};
  const StepForecast ring = step("zero3", both(ddp, {"nccl.env.NCCL_ALGO=Ring"})),
                     tree = step("zero3", both(ddp, {"nccl.env.NCCL_ALGO=Tree"}));
  REQUIRE(ring.collectives.size() == 1);
  REQUIRE(tree.collectives.size() == 1);
  CHECK(ring.collectives[0].alone.algorithm == "ring");
  CHECK(tree.collectives[0].alone.algorithm == "tree");
  CHECK(ring.collectives[0].alone.makespan.value != Approx(tree.collectives[0].alone.makespan.value).epsilon(0.01));
  CHECK(tree.time.value - ring.time.value ==
        Approx(tree.collectives[0].alone.makespan.value - ring.collectives[0].alone.makespan.value).epsilon(1e-6));
}

/// The time of the step, and the total time of its collectives when they run alone.
struct Sum {
  double step = 0, collectives = 0;
};
Sum sum_of(const Sets& set) {
  const StepForecast f = step("zero3", set);
  Sum sum{f.time.value, 0};
  for (const CollectiveUse& use : f.collectives) sum.collectives += use.calls * use.alone.makespan.value;
  return sum;
}

TEST_CASE("a slower collective that nothing hides makes the step longer by the same time") {
  const Sets bare{adaptive, "workload.parallel.zero=" + std::to_string(GENERATE(0, 1, 3)),
                  "workload.overlap.data=false"};
  const Sum usual = sum_of(bare), slow = sum_of(both(bare, {rate(200)}));
  CHECK(slow.collectives > 1.02 * usual.collectives);
  CHECK(slow.step - usual.step == Approx(slow.collectives - usual.collectives).epsilon(1e-6));
}

/// The time that nothing can hide: the first gather and the last reduction. Between forward and backward pass, the last
/// layer's reduction and the following gather may be exposed as well.
struct Ends {
  double least = 0, most = 0;
};
Ends ends_of(const StepForecast& f) {
  Ends ends;
  for (const CollectiveOp op : {CollectiveOp::all_gather, CollectiveOp::reduce_scatter}) {
    double longest = 0;
    for (const CollectiveUse& use : f.collectives)
      if (use.kind.op == op) longest = std::max(longest, use.alone.makespan.value);
    ends.least += longest, ends.most += 2 * longest;
  }
  return ends;
}

TEST_CASE("only the collectives at the ends of passes are exposed if computation hides the others") {
  // Long sequences: each layer computes for longer than it gathers and reduces.
  const Sets hidden{adaptive, "workload.model.sequence=16384", "workload.recompute=full"};
  const StepForecast usual = step("zero3", hidden), slow = step("zero3", both(hidden, {rate(200)}));
  const Ends before = ends_of(usual), after = ends_of(slow);
  CHECK(exposed(usual) > 0.95 * before.least);
  CHECK(exposed(usual) < before.most);
  double sum = 0;
  for (const CollectiveUse& use : usual.collectives) sum += use.calls * use.alone.makespan.value;
  CHECK(exposed(usual) < 0.1 * sum);
  CHECK(after.least > 1.1 * before.least);
  const double interference = (slow.mean.interference - usual.mean.interference).value;
  const double longer = slow.time.value - usual.time.value - interference;
  CHECK(longer == Approx(exposed(slow) - exposed(usual)).margin(1e-6));
  CHECK(longer > 0.95 * (after.least - before.least));
  CHECK(longer < after.most - before.most + 1e-4);
}

}  // namespace
}  // namespace fabricast
