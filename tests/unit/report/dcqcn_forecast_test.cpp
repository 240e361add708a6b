// `fabric.congestion.control: dcqcn`, and `none` of a collective alone, in whole forecasts.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>

#include "fabricast/report/forecast.hpp"
#include "fabricast/report/what_if.hpp"
#include "fabricast/scenario/lossy.hpp"
#include "support/worlds.hpp"

namespace fabricast {
namespace {

using test::world_of;

/// Hosts of one GPU and one NIC of 400 Gb/s, eight at each leaf, as in the runs of packets: one ring with one channel.
std::string hosts(const std::string& congestion, const std::string& size, int nodes = 64, int spines = 8,
                  const std::string& collective = "all_gather", const std::string& routing = "ecmp, seeds: 20",
                  const std::string& placement = "random") {
  return fmt::format(
      "node: {{gpu: h100-sxm, gpus: 1, nics: {{count: 1, rate: 400Gbps, link: roce}}}}\n"
      "cluster: {{nodes: {}, size: 64, placement: {}}}\n"
      "fabric: {{kind: leaf_spine, leaves: 8, spines: {}, nodes_per_leaf: 8, switch: {{rate: 400Gbps}}{}}}\n"
      "routing: {{kind: {}}}\n"
      "nccl: {{version: \"2.27\", env: {{NCCL_ALGO: Ring, NCCL_PROTO: Simple, NCCL_MAX_NCHANNELS: 1, "
      "NCCL_MIN_NCHANNELS: 1}}}}\n"
      "workload: {{collective: {}, sizes: [{}], harness: {{tool: isolated}}}}\n",
      nodes, placement, spines, congestion.empty() ? "" : ", congestion: {" + congestion + "}", routing, collective,
      size);
}

ForecastRow row_of(const std::string& text) { return run_forecast(world_of(text)).rows.front(); }

/// With a control / ideal, sample by sample, in ascending order.
std::vector<double> times_as_long(const std::string& control, const std::string& size,
                                  const std::string& collective = "all_gather", int nodes = 64, int spines = 8) {
  const ForecastRow ideal = row_of(hosts("", size, nodes, spines, collective)),
                    is = row_of(hosts(control, size, nodes, spines, collective));
  REQUIRE(ideal.sample_times.size() == is.sample_times.size());
  std::vector<double> ratios;
  for (std::size_t i = 0; i < ideal.sample_times.size(); ++i) {
    ratios.push_back(is.sample_times[i] / ideal.sample_times[i]);
    CHECK(ratios.back() >= 1 - 1e-9);
  }
  std::sort(ratios.begin(), ratios.end());
  return ratios;
}

/// The median of the samples.
double slower(const std::string& size, const std::string& settings = "", const std::string& collective = "all_gather",
              int nodes = 64, int spines = 8) {
  const std::string control =
      settings.empty() ? "control: dcqcn" : fmt::format("control: dcqcn, dcqcn: {{{}}}", settings);
  const auto ratios = times_as_long(control, size, collective, nodes, spines);
  return ratios[ratios.size() / 2];
}

TEST_CASE("rings under DCQCN take as much longer as rings of packets", "[dcqcn]") {
  // A connection carries 63/64 of the size, 64 MiB. Rings of packets of 64 hosts took 1.13 to 1.78 times as long as fair
  // shares, 1.45 in the median.
  const double longest = slower("65MiB");
  CHECK(longest > 1.25);
  CHECK(longest < 1.65);
  CHECK(slower("4GiB") < 1.4);
}

TEST_CASE("rings under flow control alone take as much longer as rings of packets", "[dcqcn]") {
  // Rings of packets of 64 hosts took 0.99 to 1.20 times as long as fair shares.
  const auto ratios = times_as_long("control: none", "65MiB");
  CHECK(ratios.front() < 1.02);
  CHECK(ratios[ratios.size() / 2] < 1.15);
  CHECK(ratios.back() > 1.03);
  CHECK(ratios.back() < 1.35);
  // Nothing is random but paths.
  CHECK(run_forecast(world_of(hosts("control: none", "65MiB", 16, 2, "all_gather", "static"))).samples == 1);
}

TEST_CASE("links that are not contended lose nothing under DCQCN", "[dcqcn]") {
  // Hosts below one leaf, and one flow on a cable.
  for (const char* placement : {"[0, 1, 2, 3]", "[0, 8]"}) {
    const int nodes = placement[4] == '1' ? 4 : 2;
    const auto text = [&](const char* congestion) {
      return hosts(congestion, "64MiB", nodes, 8, "all_gather", "static", placement);
    };
    const ForecastRow ideal = row_of(text("")), is = row_of(text("control: dcqcn"));
    CHECK(is.time == ideal.time);
    CHECK(is.time_worst == ideal.time);
  }
}

TEST_CASE("samples of DCQCN are a distribution, and the same with any number of threads", "[dcqcn]") {
  const World world = world_of(hosts("control: dcqcn", "64MiB", 16, 2, "all_gather", "static"));
  RunOptions one, four;
  one.threads = 1, four.threads = 4;
  const Forecast a = run_forecast(world, one), b = run_forecast(world, four);
  CHECK(a.samples == lossy_samples);
  CHECK(a.fingerprint == b.fingerprint);
  const ForecastRow& row = a.rows.front();
  CHECK(row.time_p5 <= row.time);
  CHECK(row.time_p5 < row.time_p95);
  CHECK(row.time_p95 <= row.time_worst);
  CHECK(row.sample_times == b.rows.front().sample_times);
}

TEST_CASE("settings of DCQCN act as they should", "[dcqcn]") {
  // Sixteen hosts on oversubscribed leaves: more of the time is that of links, less that of steps.
  const auto of = [](const std::string& settings) { return slower("16MiB", settings, "all_gather", 16, 1); };
  const double shipped = of("");
  CHECK(shipped > 1.25);
  // Rates that rise sooner and faster, as packets say of 4 MiB.
  CHECK(of("rpg_time_reset: 55us, rpg_ai_rate: 1Gbps, rpg_hai_rate: 10Gbps") < 0.9 * shipped);
  // Nothing is marked, and pauses keep links full.
  CHECK(of("kmin: 1GB, kmax: 2GB") < 1.05);
  // Cuts that leave nine tenths of a rate are gentler than those that leave a half.
  CHECK(of("rpg_min_dec_fac: 0.9") < shipped);
}

TEST_CASE("rates that rise sooner are proposed where DCQCN's rates rise late", "[dcqcn]") {
  const auto proposed = [](const std::string& congestion) {
    const Forecast forecast = run_forecast(world_of(hosts(congestion, "16MiB", 16, 1, "all_gather", "static")));
    const std::vector<WhatIf> helps = what_would_help(forecast, forecast, {});
    return std::any_of(helps.begin(), helps.end(),
                       [](const WhatIf& w) { return w.what.find("sooner") < w.what.size(); });
  };
  CHECK(proposed("control: dcqcn"));
  CHECK_FALSE(proposed("control: dcqcn, dcqcn: {rpg_time_reset: 55us, rpg_ai_rate: 1Gbps}"));
  CHECK_FALSE(proposed("control: none"));
}

TEST_CASE("DCQCN in alltoalls", "[dcqcn]") {
  // Not routed again: links alone. Flows of 1 MiB of packets took 1.23 to 1.59 times as long as fair shares.
  const double alltoall = slower("64MiB", "", "alltoall");
  CHECK(alltoall >= 1);
  CHECK(alltoall < 1.9);
}

}  // namespace
}  // namespace fabricast
