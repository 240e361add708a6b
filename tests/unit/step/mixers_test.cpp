// Mixers other than attention, low-precision recipes and owners of tensors in whole steps, compared with sums done
// here.
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <set>

#include "fabricast/core/error.hpp"
#include "fabricast/workload/layer.hpp"
#include "fabricast/workload/step_memory.hpp"
#include "support/step_jobs.hpp"

namespace fabricast {
namespace {

using test::Sets;
using test::step_world;

Sets hybrid(int mamba, int attention) {
  return {"workload.model.mamba_layers=" + std::to_string(mamba),
          "workload.model.attention_layers=" + std::to_string(attention),
          "workload.model.mamba_heads=128",
          "workload.model.mamba_head_dim=64",
          "workload.model.mamba_groups=8",
          "workload.model.state_dim=128"};
}

TrainingStep step_with(const Sets& set) { return step_of(step_world("zero3", set)); }

/// Without the boost, which is that of the whole step and differs between steps.
TrainingStep unboosted(const Sets& set) {
  TrainingStep step = step_with(set);
  step.kernels.boost = 1;
  return step;
}

TEST_CASE("a layer takes the mean time of its mixers") {
  const int layers = step_with({}).model.layers;
  const auto mixer = [](const Sets& set) { return time_layer(unboosted(set), false).attention; };
  const HalfLayer attention = mixer({}), all = mixer(hybrid(layers, 0)), half = mixer(hybrid(layers / 2, layers / 2));
  CHECK(half.forward.value == Approx((attention.forward + all.forward).value / 2));
  CHECK(half.weight_gradient.value == Approx((attention.weight_gradient + all.weight_gradient).value / 2));
  CHECK(half.parts == Approx(1));
  const HalfLayer more = mixer(hybrid(layers, layers));
  CHECK(more.data_gradient.value == Approx((attention.data_gradient + all.data_gradient).value));
  CHECK(more.parts == Approx(2));
  // Without attention a sequence twice as long takes twice as long, whatever its length.
  Sets longer = hybrid(layers, 0);
  longer.push_back("workload.model.sequence=" + std::to_string(2 * step_with({}).model.sequence));
  CHECK(mixer(longer).forward / all.forward == Approx(2).epsilon(0.05));
}

TEST_CASE("settings of hybrid models that are not modelled are refused") {
  const int layers = step_with({}).model.layers;
  CHECK_THROWS_WITH(step_world("zero3", {"workload.model.attention_layers=1"}), Catch::Contains("needs mamba_layers"));
  CHECK_THROWS_WITH(step_world("zero3", hybrid(1, 1)), Catch::Contains("fewer than the"));
  Sets missing = hybrid(layers, 1);
  missing.pop_back();
  CHECK_THROWS_WITH(step_world("zero3", missing), Catch::Contains("state_dim"));
}

TEST_CASE("casts cost the bytes that their recipe reads and writes") {
  const auto times = [](const std::string& scaling) {
    return time_layer(unboosted({"workload.precision=fp8", "workload.scaling=" + scaling}), false).ffn;
  };
  const HalfLayer delayed = times("delayed"), current = times("current"), mx = times("mxfp8");
  CHECK(current.forward > delayed.forward);
  CHECK((mx.forward - delayed.forward) / (current.forward - delayed.forward) == Approx(2.0 / 32 / 2).epsilon(0.02));
  // 3 B along rows at 2.2 TB/s and 5 along columns at 0.65 take 15/11 + 100/13 = 1295/143; the 6 B of `current`, 2 along
  // rows and 4 in both orders at 1.4, take 10/11 + 20/7 = 290/77.
  CHECK((times("rowwise").forward - delayed.forward) / (current.forward - delayed.forward) ==
        Approx((6 * (1295. / 143) / (290. / 77) - 4) / 2));
  CHECK(times("auto").forward / current.forward == Approx(1));  // of torchtitan
  CHECK(cast_traffic(Scaling::blockwise) == Approx(2 + 1 + 1 + 2 * 4.0 / 128));
  CHECK(cast_traffic(Scaling::nvfp4) == Approx(2 + 2 + 0.5 + 0.5 + 2.0 / 16));
  CHECK_THROWS_WITH(step_world("zero3", {"workload.scaling=current"}), Catch::Contains("does not apply to bf16"));
  CHECK_THROWS_WITH(step_world("zero3", {"workload.precision=fp8", "workload.scaling=nvfp4"}),
                    Catch::Contains("does not apply to fp8"));
}

/// B per call of tensor parallelism, by operation: in layers, not the vocabulary.
std::map<CollectiveOp, std::set<std::int64_t>> tensor_bytes(const TrainingStep& step) {
  std::map<CollectiveOp, std::set<std::int64_t>> found;
  for (const CollectiveKind& kind : training_program(step).collectives)
    if (kind.part == Part::tensor) found[kind.op].insert(kind.bytes);
  return found;
}

TEST_CASE("tensors that are cast before a gather are sent in 8 bits, if their scales allow it") {
  const auto step = [](const std::string& scaling) {
    return step_with({"workload.parallel.tensor=2", "workload.parallel.sequence=true", "workload.precision=fp8",
                      "workload.scaling=" + scaling});
  };
  const TrainingStep one = step("current"), rows = step("rowwise");
  const auto wide = static_cast<std::int64_t>(2 * one.tokens() * static_cast<double>(one.model.hidden));
  CHECK(tensor_bytes(one).at(CollectiveOp::all_gather).contains(wide / 2));
  CHECK(tensor_bytes(rows).at(CollectiveOp::all_gather) == std::set<std::int64_t>{wide});
  for (const TrainingStep& s : {one, rows})
    CHECK(tensor_bytes(s).at(CollectiveOp::reduce_scatter) == std::set<std::int64_t>{wide});
  CHECK_FALSE(gathers_cast(
      step_with({"workload.parallel.tensor=2", "workload.precision=fp8", "workload.parallel.sequence=false"})));
  CHECK_FALSE(gathers_cast(step_with({"workload.precision=fp8"})));
}

/// Bytes of element-wise kernels over their rate.
double streamed(const TrainingStep& step, double bytes) {
  return bytes / (step.kernels.memory_rate.value * step.kernels.model.stream.value);
}

TEST_CASE("copies put parts of sequences in order, unless the collective is split") {
  TrainingStep step = step_with({"workload.parallel.tensor=2", "workload.parallel.sequence=true"});
  const auto forward = [&] { return time_layer(step, false).ffn.forward.value; };
  const double with = forward();
  step.stack.reorders_parts = false;
  // A gathered and a reduced tensor, each read and written at 16 bits.
  const double bytes = 2 * 4 * step.tokens() * static_cast<double>(step.model.hidden);
  CHECK(with - forward() == Approx(streamed(step, bytes)).epsilon(0.01));
  const double without = forward();
  step.stack.reorders_parts = true, step.overlap_tensor = true;
  CHECK(forward() == Approx(without));
}

TEST_CASE("scales of rows cost a pass over what GEMMs of the backward pass return") {
  const auto step = [](const std::string& scaling) {
    return unboosted({"workload.precision=fp8", "workload.scaling=" + scaling});
  };
  const TrainingStep rows = step("rowwise"), one = step("current");
  const HalfLayer with = time_layer(rows, false).ffn, without = time_layer(one, false).ffn;
  const double h = static_cast<double>(rows.model.hidden), f = static_cast<double>(rows.model.ffn);
  // Gradients of three matrices, each read and written at 16 bits.
  CHECK((with.weight_gradient - without.weight_gradient).value == Approx(streamed(rows, 4 * 3 * h * f)).epsilon(0.01));
  // Gradients of the inputs of both GEMMs, and casts, which rowwise pays 14.43/4 and current 6/4 times.
  const double cast = (14.43 - 6) / 4. * rows.stack.cast.value * (2 * f + h);
  CHECK((with.data_gradient - without.data_gradient).value ==
        Approx(streamed(rows, rows.tokens() * (4 * (h + f) + cast))).epsilon(0.01));
}

TEST_CASE("GEMMs of 4 bits have a rate of their own") {
  TrainingStep step = step_with({"node.profile=gb200-nvl72", "workload.precision=fp4"});
  const auto gemms = [&] { return time_layer(step, false).ffn.weight_gradient.value; };
  step.stack.gemm_4.value = 1;
  const double gap = 2 * step.kernels.kernel_gap().value, slow = gemms() - gap;
  step.stack.gemm_4.value = 2;
  CHECK((gemms() - gap) / slow == Approx(0.5));
  step.precision = Precision::fp8;
  const double other = gemms();
  step.stack.gemm_4.value = 1;
  CHECK(gemms() == Approx(other));
}

TEST_CASE("norms of queries and keys read and write them, and one release gathers them") {
  const auto step = [](const Sets& more) {
    Sets set{"workload.model.qk_norm=true", "workload.parallel.tensor=2", "workload.parallel.sequence=true"};
    set.insert(set.end(), more.begin(), more.end());
    return step_with(set);
  };
  TrainingStep normed = step({});
  const Transformer& m = normed.model;
  const double width = static_cast<double>((m.heads + m.kv_heads) * m.head_dim), all = normed.tokens() * width;
  const auto forward = [&] { return time_layer(normed, false).attention.forward.value; };
  const double with = forward();
  normed.model.qk_norm = false;
  CHECK(with - forward() == Approx(streamed(normed, 4 * all / 2)).epsilon(0.01));

  const auto gathers = [&](const TrainingStep& s) {
    double calls = 0;
    const Program program = training_program(s);
    for (const Activity& a : program.activities)
      if (a.is_collective() && program.collectives[a.collective].op == CollectiveOp::all_gather &&
          program.collectives[a.collective].bytes == std::llround(2 * all))
        calls += a.calls;
    return calls;
  };
  const TrainingStep gathered = step({"workload.stack=torchtitan-25.09", "workload.recompute=full"});
  REQUIRE(all != gathered.tokens() * static_cast<double>(m.hidden));
  const double micro_batches = static_cast<double>(gathered.micro_batches());
  CHECK(gathers(gathered) == 2 * m.layers * micro_batches);  // forward and again, not backward
  CHECK(gathers(step({"workload.stack=torchtitan-25.09"})) == m.layers * micro_batches);
  CHECK(gathers(step({"workload.stack=torchtitan-24.12"})) == 0);
  // Heads of the other rank are rotated, and all are copied once.
  normed = gathered;
  const double shared = forward();
  normed.stack.gathers_normed_heads = false;
  CHECK(shared - forward() == Approx(streamed(normed, all * (normed.stack.attention / 2 + 4))).epsilon(0.01));
  CHECK(step_with({}).stack.name == "torchtitan-24.12");  // the newest is superseded
}

/// Bytes and number of all calls of data parallelism, by operation.
std::map<CollectiveOp, std::pair<double, double>> data_collectives(const Program& program) {
  std::map<CollectiveOp, std::pair<double, double>> found;
  for (const Activity& a : program.activities) {
    if (!a.is_collective()) continue;
    const CollectiveKind& kind = program.collectives[a.collective];
    if (kind.part != Part::data) continue;
    found[kind.op].first += static_cast<double>(kind.bytes) * a.calls, found[kind.op].second += a.calls;
  }
  return found;
}

TEST_CASE("owners of whole tensors broadcast them one after the other, and reduce over all") {
  const Sets internevo{"workload.framework=megatron", "workload.stack=internevo-0.2", "workload.parallel.zero=1",
                       "cluster.nodes=4", "workload.batch.global=64"};
  const TrainingStep step = step_with(internevo);
  REQUIRE(step.layout.pipeline == 1);
  const double parameters = static_cast<double>(count_parameters(step.model).total);
  const auto all = data_collectives(training_program(step));
  CHECK_FALSE(all.contains(CollectiveOp::all_gather));
  CHECK_FALSE(all.contains(CollectiveOp::reduce_scatter));
  CHECK(all.at(CollectiveOp::all_reduce).first == Approx(2 * parameters).epsilon(0.001));
  CHECK(all.at(CollectiveOp::broadcast).first == Approx(2 * parameters).epsilon(0.001));
  // One call of each rank that owns any.
  CHECK(all.at(CollectiveOp::broadcast).second == step.layout.data);
  Sets within = internevo;
  within.push_back("workload.parallel.shard=8");
  CHECK(data_collectives(training_program(step_with(within))).at(CollectiveOp::broadcast).second == 8);
  // No more than there are tensors: of 32 layers seven each, and two of the vocabulary.
  Sets many = internevo;
  many[3] = "cluster.nodes=32", many[4] = "workload.batch.global=256";
  CHECK(data_collectives(training_program(step_with(many))).at(CollectiveOp::broadcast).second == 32 * 7 + 2);
  // Slices instead, as all other software has them.
  Sets sliced = internevo;
  sliced[1] = "workload.stack=megatron-2024";
  CHECK_FALSE(data_collectives(training_program(step_with(sliced))).contains(CollectiveOp::broadcast));
}

TEST_CASE("an optimizer that is sharded may all-reduce gradients, and gathers parameters all the same") {
  Sets bloom{"workload.framework=megatron", "workload.stack=megatron-deepspeed-2022", "workload.parallel.zero=1",
             "cluster.nodes=4", "workload.batch.global=64"};
  const TrainingStep step = step_with(bloom);
  const double parameters = static_cast<double>(count_parameters(step.model).total);
  const auto all = data_collectives(training_program(step));
  CHECK(all.size() == 2);
  CHECK(all.at(CollectiveOp::all_reduce).first == Approx(2 * parameters).epsilon(0.001));
  CHECK(all.at(CollectiveOp::all_gather).first == Approx(2 * parameters).epsilon(0.001));
  // A slice within each node: gradients are reduced over all replicas, parameters gathered within the node.
  bloom.push_back("workload.parallel.shard=8");
  const auto within = data_collectives(training_program(step_with(bloom)));
  CHECK(within.at(CollectiveOp::all_reduce).first == Approx(2 * parameters).epsilon(0.001));
  CHECK(within.at(CollectiveOp::all_gather).first == Approx(2 * parameters).epsilon(0.001));
  // Slices whose owners alone get the sums.
  bloom[1] = "workload.stack=megatron-2023";
  CHECK(data_collectives(training_program(step_with(bloom))).contains(CollectiveOp::reduce_scatter));
}

}  // namespace
}  // namespace fabricast
