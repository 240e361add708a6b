// Intervals of forecasts: what widens them, what does not, and that they are the same for any number of threads.
#include "fabricast/report/interval.hpp"

#include <catch2/catch.hpp>
#include <cmath>

namespace fabricast {
namespace {

using Catch::Detail::Approx;

std::unique_ptr<World> world_with(const Hardware& hardware, const std::string& link = "infiniband", int seeds = 1) {
  Scenario s = parse_scenario("fabricast: 1\nnode: {gpu: h100-sxm, nics: {count: 8, rate: 100Gbps, link: " + link +
                                  "}}\ncluster: {nodes: 4}\nrouting: {kind: ecmp, seeds: " + std::to_string(seeds) +
                                  "}\nworkload: {collective: all_reduce, sizes: [1KiB, 1MiB, 1GiB]}\n",
                              "i.yaml")
                   .scenario;
  s.hardware = hardware;
  s.unstated.clear();  // unstated_test.cpp has what that adds
  return build_world(std::move(s));
}

std::vector<double> factors(const World& world, int threads = 2) {
  RunOptions options;
  options.threads = threads;
  Forecast forecast = run_forecast(world, options);
  for (const ForecastRow& row : forecast.rows) CHECK(row.factor == 1);
  add_intervals(world, forecast, 16, options);
  std::vector<double> list;
  for (const ForecastRow& row : forecast.rows) list.push_back(row.factor);
  return list;
}

/// Every number known, but for the spread.
Hardware known_hardware() {
  Hardware h = shipped_hardware();
  for (const auto& [path, ref] : h.all_parameters())
    ref.parameter->low = ref.parameter->high = ref.parameter->value, ref.parameter->draws.clear();
  return h;
}

TEST_CASE("with all parameters known the interval is the spread of its size", "[report]") {
  const Hardware h = known_hardware();
  const std::vector<double> got = factors(*world_with(h));
  CHECK(got[0] == Approx(std::exp(1.645 * h.spread.bands[0].value)));
  CHECK(got[1] == Approx(std::exp(1.645 * h.spread.bands[2].value)));
  CHECK(got[2] == Approx(std::exp(1.645 * h.spread.bands[3].value)));
}

TEST_CASE("parameters widen the interval of what depends on them", "[report]") {
  Hardware h = known_hardware();
  const std::vector<double> known = factors(*world_with(h));
  Parameter& rate = *h.find("networks.infiniband.nic_efficiency");
  rate.low = rate.value * 0.3, rate.high = rate.value;
  const std::vector<double> wide = factors(*world_with(h));
  CHECK(wide[0] == Approx(known[0]).epsilon(0.01));
  CHECK(wide[2] > known[2] * 1.05);
}

TEST_CASE("draws of a fit belong together", "[report]") {
  Hardware h = known_hardware();
  const std::vector<double> known = factors(*world_with(h));
  Parameter &launch = *h.find("architectures.hopper.launch"), &start = *h.find("networks.infiniband.start");
  REQUIRE(launch.value > 1);
  // Their sum is known, neither is: one falls as the other rises. Then both move alike.
  const std::vector<double> moves = {-1.0, 1.0, -0.5, 0.5};
  start.value += 1;
  for (const double move : moves)
    launch.draws.push_back(launch.value + move), start.draws.push_back(start.value - move);
  const double together = factors(*world_with(h))[0];
  for (std::size_t i = 0; i < moves.size(); ++i) start.draws[i] = start.value + moves[i];
  const double alike = factors(*world_with(h))[0];
  CHECK(together == Approx(known[0]).epsilon(0.002));
  CHECK(alike > together * 1.001);
}

TEST_CASE("intervals do not hang on threads, and little on the draws of the network", "[report]") {
  const auto one = world_with(shipped_hardware());
  CHECK(factors(*one, 1) == factors(*one, 4));
  const auto many = world_with(shipped_hardware(), "infiniband", 8);
  const std::vector<double> a = factors(*one), b = factors(*many);
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(a[i] == Approx(b[i]).epsilon(0.05));
}

TEST_CASE("profiles are drawn from the fit or the intervals, the same each time", "[report]") {
  Hardware h = shipped_hardware();
  Parameter& fitted = *h.find("architectures.hopper.launch");
  REQUIRE(fitted.draws.size() == 16);
  Hardware third = drawn_hardware(h, 3), again = drawn_hardware(h, 3), other = drawn_hardware(h, 4);
  CHECK(third.find("architectures.hopper.launch")->value == fitted.draws[3]);
  std::string unfitted;
  for (const auto& [path, ref] : h.all_parameters())
    if (ref.parameter->draws.empty() && ref.parameter->low > 0 && ref.parameter->high > ref.parameter->low)
      unfitted = path;
  REQUIRE(!unfitted.empty());
  CHECK(third.find(unfitted)->value == again.find(unfitted)->value);
  CHECK(third.find(unfitted)->value != other.find(unfitted)->value);
  for (std::size_t d = 0; d < 50; ++d) {
    Hardware drawn = drawn_hardware(h, d);
    for (const auto& [path, ref] : drawn.all_parameters()) {
      const Parameter& p = *h.find(path);
      if (p.draws.empty() && !(p.low <= ref.parameter->value && ref.parameter->value <= p.high)) FAIL(path);
    }
  }
}

}  // namespace
}  // namespace fabricast
