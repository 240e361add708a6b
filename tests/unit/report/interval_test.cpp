// Intervals of forecasts: what widens them, what does not, and that they do not depend on the number of threads.
#include "fabricast/report/interval.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "fabricast/report/residual_rows.hpp"

namespace fabricast {
namespace {

using Catch::Detail::Approx;

World world_with(const Hardware& hardware, const std::string& link = "infiniband", int seeds = 1) {
  Scenario s = parse_scenario("fabricast: 1\nnode: {gpu: h100-sxm, nics: {count: 8, rate: 100Gbps, link: " + link +
                                  "}}\ncluster: {nodes: 4}\nrouting: {kind: ecmp, seeds: " + std::to_string(seeds) +
                                  "}\nworkload: {collective: all_reduce, sizes: [1KiB, 1MiB, 1GiB]}\n",
                              "i.yaml")
                   .scenario;
  s.hardware = hardware;
  s.unstated.clear();  // unstated_test.cpp tests what they add
  return build_world(std::move(s));
}

std::vector<double> factors(const World& world, int threads = 2) {
  RunOptions options;
  options.threads = threads;
  Forecast forecast = run_forecast(world, options);
  for (const ForecastRow& row : forecast.rows) CHECK(row.factor == 1);
  add_intervals(forecast, options);
  std::vector<double> list;
  for (const ForecastRow& row : forecast.rows) list.push_back(row.factor);
  return list;
}

/// A model in which everything except the spread is known.
Hardware known_hardware() {
  Hardware h = shipped_hardware();
  for (const auto& [path, ref] : h.all_parameters())
    ref.parameter->low = ref.parameter->high = ref.parameter->value, ref.parameter->samples.clear();
  return h;
}

/// Logarithm of the half width of a row without derivatives and unstated inputs.
double bare(const World& world, const ForecastRow& row) {
  ResidualRow bare;
  bare.kind = residual_kind(world), bare.op = CollectiveOp::all_reduce, bare.bytes = row.bytes;
  bare.nodes = world.scenario().cluster.nodes, bare.forecast = row.time;
  return SiteResiduals(shipped_residuals(), {}, {}).of(bare).half_width();
}

TEST_CASE("an interval is wider than the scatter of rows, and unknown parameters never make it narrower", "[report]") {
  const auto world = world_with(known_hardware());
  Forecast forecast = run_forecast(world);
  add_intervals(forecast);
  for (const ForecastRow& row : forecast.rows) CHECK(std::log(row.factor) > bare(world, row));
  CHECK(factors(world_with(shipped_hardware()))[0] >= factors(world_with(known_hardware()))[0]);
}

TEST_CASE("derivatives are those of the forecast time", "[report]") {
  const auto world = world_with(known_hardware());
  const Forecast forecast = run_forecast(world);
  const std::vector<ResidualRow> rows = residual_rows(forecast);
  Hardware faster = known_hardware();
  faster.find("networks.infiniband.nic_efficiency")->value *= std::exp(-0.1);
  const Forecast slower = run_forecast(world_with(faster));
  const auto group = std::find_if(parameter_groups.begin(), parameter_groups.end(),
                                  [](const ParameterGroup& g) { return g.name == "nic_efficiency"; });
  const auto at = static_cast<std::size_t>(group - parameter_groups.begin());
  for (std::size_t i = 0; i < rows.size(); ++i)
    CHECK(rows[i].effects[at] == Approx(-std::log(slower.rows[i].time / forecast.rows[i].time) / 0.1).margin(1e-9));
  CHECK(rows.back().effects[at] < -0.8);   // the NICs alone determine a gigabyte
  CHECK(rows.front().effects[at] > -0.1);  // they hardly affect a kilobyte
}

TEST_CASE("parameters widen the intervals of rows that depend on them", "[report]") {
  Hardware h = known_hardware();
  const std::vector<double> known = factors(world_with(h));
  Parameter& rate = *h.find("networks.infiniband.nic_efficiency");
  rate.low = rate.value * 0.3, rate.high = rate.value;
  const std::vector<double> wide = factors(world_with(h));
  CHECK(wide[0] == Approx(known[0]).epsilon(0.01));
  CHECK(wide[2] > known[2] * 1.05);
}

TEST_CASE("parameters of protocols that no row uses change nothing", "[report]") {
  Scenario s = world_with(known_hardware()).scenario();
  s.workload.sizes = {Bytes{std::int64_t{1} << 30}};
  const auto world = build_world(s);
  const Forecast forecast = run_forecast(world);
  REQUIRE(forecast.rows[0].protocol == Protocol::simple);
  for (const ParameterGroup& group : parameter_groups) {
    if (group.name != "rate_ll" && group.name != "rate_ll128" && group.name != "hop_ll" && group.name != "hop_ll128" &&
        group.name != "peers")
      continue;
    CAPTURE(group.name);
    Scenario other = s;
    REQUIRE(lower(other.hardware.change(), group, 0.1));
    CHECK(run_plans(build_world(other), {forecast.rows[0].plan}).rows[0].time == forecast.rows[0].time);
  }
}

MeasuredSite site_with(const World& world, const std::vector<std::pair<std::int64_t, double>>& rows) {
  MeasuredSeries series{world.scenario(), {}, "test", {}, {}};
  series.scenario.workload.sizes.clear();
  for (const auto& [bytes, seconds] : rows)
    series.scenario.workload.sizes.push_back(Bytes{bytes}), series.times.push_back({seconds});
  return measured_site(shipped_residuals(), {series});
}

TEST_CASE("measured rows shift forecasts, nearer ones more", "[report]") {
  const auto world = world_with(shipped_hardware());
  Forecast before = run_forecast(world);
  add_intervals(before);
  const double measured = before.rows[2].time.value * 1.2;
  const MeasuredSite site = site_with(world, {{std::int64_t{1} << 30, measured}});
  Forecast after = run_forecast(world);
  add_intervals(after, site);
  CHECK(after.rows[2].time.value == Approx(measured).epsilon(0.02));
  CHECK(after.rows[2].factor - 1 < (before.rows[2].factor - 1) / 2);
  CHECK(after.rows[2].residual->stated > after.rows[0].residual->stated);
  CHECK(after.rows[2].level == Approx(after.rows[2].time / before.rows[2].time));
  CHECK(after.rows[2].time_p95.value == Approx((before.rows[2].time_p95 * after.rows[2].level).value));
  REQUIRE(after.rows[2].near);
  CHECK(after.rows[2].near->bytes == std::int64_t{1} << 30);
  CHECK(after.rows[2].near->same_plan);
  CHECK(after.rows[2].near->octaves == 0);
  // The physical parameters do not change.
  CHECK(after.rows[2].result.makespan.value == before.rows[2].result.makespan.value);
}

TEST_CASE("intervals do not depend on threads, and hardly on samples of the network", "[report]") {
  const auto one = world_with(shipped_hardware());
  CHECK(factors(one, 1) == factors(one, 4));
  const auto many = world_with(shipped_hardware(), "infiniband", 8);
  const std::vector<double> a = factors(one), b = factors(many);
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(a[i] == Approx(b[i]).epsilon(0.05));
}

TEST_CASE("profiles are sampled from the fit or the intervals, the same each time", "[report]") {
  Hardware h = shipped_hardware();
  Parameter& fitted = *h.find("architectures.hopper.launch");
  REQUIRE(fitted.samples.size() == 16);
  Hardware third = sampled_hardware(h, 3), again = sampled_hardware(h, 3), other = sampled_hardware(h, 4);
  CHECK(third.find("architectures.hopper.launch")->value == fitted.samples[3]);
  std::string unfitted;
  for (const auto& [path, ref] : h.all_parameters())
    if (ref.parameter->samples.empty() && ref.parameter->low > 0 && ref.parameter->high > ref.parameter->low)
      unfitted = path;
  REQUIRE(!unfitted.empty());
  CHECK(third.find(unfitted)->value == again.find(unfitted)->value);
  CHECK(third.find(unfitted)->value != other.find(unfitted)->value);
  for (std::size_t d = 0; d < 50; ++d) {
    Hardware sampled = sampled_hardware(h, d);
    for (const auto& [path, ref] : sampled.all_parameters()) {
      const Parameter& p = *h.find(path);
      if (p.samples.empty() && !(p.low <= ref.parameter->value && ref.parameter->value <= p.high)) FAIL(path);
    }
  }
}

}  // namespace
}  // namespace fabricast
