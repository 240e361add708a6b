// `fabric.congestion` with lost packets, in whole forecasts.
#include "fabricast/scenario/lossy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>

#include "fabricast/planner/planner.hpp"
#include "fabricast/report/forecast.hpp"
#include "fabricast/report/inference.hpp"
#include "fabricast/report/step.hpp"
#include "fabricast/report/step_advice.hpp"
#include "fabricast/report/what_if.hpp"
#include "support/worlds.hpp"

namespace fabricast {
namespace {

using test::world_of;

std::string ring(const std::string& congestion, const std::string& more = "", const std::string& size = "1GiB") {
  return fmt::format(
      "node: {{profile: hgx-h100, nics: {{link: roce}}}}\ncluster: {{nodes: 8}}\n"
      "fabric: {{kind: leaf_spine, leaves: 2, spines: 8, nodes_per_leaf: 4{}}}\n"
      "routing: {{kind: adaptive}}\nnccl: {{version: \"2.27\", env: {{NCCL_ALGO: Ring, NCCL_PROTO: Simple{}}}}}\n"
      "workload: {{collective: all_reduce, sizes: [{}], harness: {{tool: isolated}}}}\n",
      congestion.empty() ? "" : ", congestion: {" + congestion + "}", more, size);
}

double mean_of(const ForecastRow& row) {
  Seconds sum;
  for (const Seconds t : row.sample_times) sum += t;
  return sum.value / static_cast<double>(row.sample_times.size());
}

TEST_CASE("no loss changes nothing", "[lossy]") {
  const Forecast ideal = run_forecast(world_of(ring("")));
  for (const char* none : {"loss: 0", "lossless: false", "retransmission: go_back_n", "buffer: 1MB"}) {
    const Forecast same = run_forecast(world_of(ring(none)));
    CHECK(same.rows.front().time == ideal.rows.front().time);
    CHECK(same.samples == ideal.samples);
    CHECK(same.fingerprint == ideal.fingerprint);
  }
}

TEST_CASE("a ring that the network limits takes 1 / goodput as long", "[lossy]") {
  // A timeout of 8 us leaves only what is sent again.
  const std::string fast = ", NCCL_IB_TIMEOUT: 1";
  // NICs slow enough to be the limit.
  const auto slow = [&](const std::string& congestion) {
    std::string text = ring(congestion, fast, "4GiB");
    return world_of(text.replace(text.find("link: roce"), 10, "link: roce, rate: 100Gbps"));
  };
  const double ideal = run_forecast(slow("")).rows.front().time.value;
  for (const char* how : {"go_back_n", "selective_repeat"}) {
    CAPTURE(how);
    const World world = slow(fmt::format("loss: 1e-3, retransmission: {}", how));
    const double goodput = goodput_of(loss_model(world).value());
    CHECK(loss_model(world)->lost == Approx(1 - std::pow(0.999, 4)));
    CHECK(run_forecast(world).rows.front().time.value == Approx(ideal / goodput).epsilon(0.01));
  }
}

TEST_CASE("timeouts make a tail, then the median", "[lossy]") {
  const double ideal = run_forecast(world_of(ring(""))).rows.front().time.value;
  double last = ideal;
  for (const char* loss : {"1e-6", "1e-5", "1e-4", "1e-3"}) {
    CAPTURE(loss);
    const World world = world_of(ring(fmt::format("loss: {}, retransmission: selective_repeat", loss)));
    const Forecast f = run_forecast(world);
    const ForecastRow& row = f.rows.front();
    REQUIRE(f.samples == lossy_samples);
    CHECK(row.time_p5 <= row.time);
    CHECK(row.time_p95 <= row.time_worst);
    CHECK(mean_of(row) >= last * 0.999);
    last = mean_of(row);
    // Every sample is the call without timeouts and a whole number of them.
    const double timeout = loss_model(world)->timeout.value;
    CHECK(timeout == Approx(4.096e-6 * (1 << 20)));
    for (const Seconds t : row.sample_times) {
      const double whole = (t.value - ideal) / timeout;
      CHECK(std::abs(whole - std::round(whole)) < 0.01);
    }
  }
  // 1e-3 of every cable: 4 cables, 917,504 packets, each lost twice with 2 x (4e-3)^2.
  const World bad = world_of(ring("loss: 1e-3, retransmission: selective_repeat"));
  const Plan plan = plan_collective(bad.planner(), CollectiveOp::all_reduce, std::int64_t{1} << 30, Algorithm::ring,
                                    Protocol::simple);
  const CallPackets packets = packets_of(call_shape(bad.planner().comm, Buffers::plain, plan), Bytes{4096});
  CHECK(packets.packets == Approx(8 * 2 * 63.0 / 64 * (1 << 18)).epsilon(0.01));
  CHECK(timeouts_expected(*loss_model(bad), packets, {}) == Approx(packets.packets * 2 * 1.6e-5).epsilon(0.03));
}

TEST_CASE("forecasts with timeouts do not depend on threads", "[lossy]") {
  const World world = world_of(ring("loss: 1e-4"));
  RunOptions one, four;
  one.threads = 1;
  four.threads = 4;
  CHECK(run_forecast(world, one).rows.front().sample_times == run_forecast(world, four).rows.front().sample_times);
}

TEST_CASE("who sends to one port overloads it", "[lossy]") {
  // Four hosts of one NIC below one leaf: three send to the first.
  const auto overload = [](const char* op) {
    const World world = world_of(fmt::format(
        "node: {{gpu: h100-sxm, gpus: 1, nics: {{count: 1, rate: 400Gbps, link: roce}}}}\ncluster: {{nodes: 4}}\n"
        "fabric: {{kind: leaf_spine, leaves: 1, spines: 1, nodes_per_leaf: 4}}\n"
        "workload: {{collective: {}, sizes: [64MiB]}}\n",
        op));
    return overload_of(world.setup(), plan_collective(world.planner(), world.scenario().workload.collective, 1 << 26),
                       1);
  };
  CHECK(overload("gather").ratio == Approx(3));
  CHECK(overload("gather").ports == 1);
  CHECK(overload("all_reduce").ratio == 1);
  CHECK(overload("sendrecv").ratio == 1);
}

TEST_CASE("oversubscribed leaves drop, unless their memory holds what comes", "[lossy]") {
  const auto text = [](const std::string& congestion) {
    return fmt::format(
        "node: {{profile: hgx-h100, nics: {{link: roce}}}}\ncluster: {{nodes: 16, placement: random}}\n"
        "fabric: {{kind: leaf_spine, leaves: 4, spines: 4, nodes_per_leaf: 4, congestion: {{{}}}}}\n"
        "routing: {{kind: ecmp, seeds: 2}}\nnccl: {{version: \"2.27\"}}\n"
        "workload: {{collective: alltoall, sizes: [1GiB]}}\n",
        congestion);
  };
  const auto mean = [&](const std::string& congestion) {
    return mean_of(run_forecast(world_of(text(congestion))).rows.front());
  };
  const double lossless = mean("control: reactive");
  CHECK(mean("control: reactive, lossless: false, buffer: 100GB") == Approx(lossless).epsilon(0.2));
  CHECK(mean("control: reactive, lossless: false, buffer: 1MB") > lossless + 4);
  CHECK(mean("control: none, lossless: false, buffer: 1MB") > lossless + 4);
}

TEST_CASE("a step waits as well", "[lossy]") {
  const auto text = [](const std::string& congestion) {
    return "node: {profile: hgx-h100, nics: {link: roce}}\ncluster: {nodes: 2}\nnccl: {version: \"2.27\"}\n" +
           (congestion.empty() ? "" : "fabric: {kind: leaf_spine, congestion: {" + congestion + "}}\n") +
           "workload: {kind: training_step, model: {preset: llama3-8b}, batch: {global: 256}, parallel: {tensor: 4}}\n";
  };
  const StepForecast ideal = run_step(world_of(text("")));
  const StepForecast lossy = run_step(world_of(text("loss: 1e-3, retransmission: selective_repeat")));
  REQUIRE(lossy.samples == lossy_samples);
  CHECK(lossy.time > ideal.time);
  CHECK(lossy.time_worst >= lossy.time_p95);
  CHECK(lossy.time_p95 >= lossy.time);
  // Causes still add up to the step.
  const ActorTimes& stage = lossy.stages.front();
  Seconds sum = stage.interference + stage.bubble;
  for (std::size_t p = 0; p < part_count; ++p) sum += stage.busy[p] + stage.exposed[p];
  CHECK(sum.value == Approx(lossy.timeline.time.value).epsilon(1e-6));
}

TEST_CASE("a decode step waits as well", "[lossy]") {
  const auto step = [](const std::string& congestion) {
    return run_inference(
        world_of("node: {profile: hgx-h100, nics: {link: roce}}\ncluster: {nodes: 2}\nnccl: {version: \"2.27\"}\n"
                 "fabric: {kind: leaf_spine" +
                 congestion +
                 "}\nworkload: {kind: inference, model: {preset: llama3-70b}, phase: decode, batch: 64, input: 1024,\n"
                 "  output: 128, parallel: {tensor: 16}}\n"),
        {}, false);
  };
  const InferenceForecast ideal = step("");
  const InferenceForecast lossy = step(", congestion: {loss: 1e-3, retransmission: selective_repeat}");
  REQUIRE(lossy.samples == lossy_samples);
  const double timeout = 4.096e-6 * (1 << 20);
  CHECK(lossy.step_worst.value > ideal.step.time.value + timeout);
  // Whole timeouts, beyond what is sent again.
  const double waited = (lossy.step_worst - ideal.step.time).value / timeout;
  CHECK(waited == Approx(std::round(waited)).margin(0.01));
  Seconds sum = lossy.step.mean.interference + lossy.step.mean.bubble;
  for (std::size_t p = 0; p < part_count; ++p) sum += lossy.step.mean.busy[p] + lossy.step.mean.exposed[p];
  CHECK(sum.value == Approx(lossy.step.time.value).epsilon(1e-6));
}

TEST_CASE("advice on a network that loses packets", "[lossy]") {
  const auto helps = [](const std::string& more, const std::string& word) {
    const Forecast f = run_forecast(world_of(ring("loss: 1e-3, retransmission: go_back_n", more)));
    const std::vector<WhatIf> found = what_would_help(f, run_candidates(f), {});
    return std::any_of(found.begin(), found.end(), [&](const WhatIf& w) { return w.set.front() == word; });
  };
  CHECK(helps("", "fabric.congestion.loss=0"));
  CHECK(helps("", "nccl.env.NCCL_IB_TIMEOUT=14"));
  // Where timeouts are short, what is sent again matters.
  CHECK(helps(", NCCL_IB_TIMEOUT: 1", "fabric.congestion.retransmission=selective_repeat"));
  CHECK_FALSE(helps(", NCCL_IB_TIMEOUT: 1", "nccl.env.NCCL_IB_TIMEOUT=14"));
}

TEST_CASE("advice on a step counts timeouts that its median does not see", "[lossy]") {
  const StepForecast f = run_step(world_of(
      "node: {profile: hgx-h100, nics: {link: roce}}\ncluster: {nodes: 2}\nnccl: {version: \"2.27\"}\n"
      "fabric: {kind: leaf_spine, congestion: {loss: 3e-5, retransmission: selective_repeat}}\n"
      "workload: {kind: training_step, model: {preset: llama3-8b}, batch: {global: 256}, parallel: {tensor: 4}}\n"));
  const Seconds fastest = *std::min_element(f.sample_times.begin(), f.sample_times.end());
  REQUIRE(f.time.value < fastest.value + 0.1);
  REQUIRE(f.time_worst.value > fastest.value + 4);
  const std::vector<StepWhatIf> found = what_would_help_step(f);
  CHECK(std::any_of(found.begin(), found.end(),
                    [](const StepWhatIf& w) { return w.set.front() == "fabric.congestion.loss=0"; }));
}

TEST_CASE("networks whose losses are not known are refused", "[lossy]") {
  const auto with = [](const std::string& link, const std::string& congestion) {
    return world_of("node: {profile: hgx-h100, nics: {link: " + link + "}}\ncluster: {nodes: 2}\n" +
                    "fabric: {kind: leaf_spine, congestion: {" + congestion +
                    "}}\nworkload: {collective: all_reduce, sizes: [1GiB]}\n");
  };
  CHECK_THROWS_AS(with("efa", "loss: 1e-6"), UserError);
  CHECK_THROWS_AS(with("infiniband", "lossless: false, control: reactive"), UserError);
  CHECK_NOTHROW(with("infiniband", "loss: 1e-6"));
}

TEST_CASE("what follows from rates", "[lossy]") {
  const double gigabit = 1e9 / 8;
  CHECK(usual_buffer({100 * gigabit}) == Bytes{16000000});
  CHECK(usual_buffer({200 * gigabit}) == Bytes{42000000});
  CHECK(usual_buffer({400 * gigabit}) == Bytes{64000000});
  CHECK(usual_buffer({800 * gigabit}) == Bytes{160000000});
  CHECK(repeats_selectively(Retransmission::by_nic, LinkKind::roce, {400 * gigabit}));
  CHECK_FALSE(repeats_selectively(Retransmission::by_nic, LinkKind::roce, {100 * gigabit}));
  CHECK_FALSE(repeats_selectively(Retransmission::go_back_n, LinkKind::roce, {400 * gigabit}));
}

}  // namespace
}  // namespace fabricast
