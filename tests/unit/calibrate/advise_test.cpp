// Advice for a fit with a known truth: forecasts serve as measurements.
#include "fabricast/calibrate/advice.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <set>

#include "fabricast/core/rng.hpp"

namespace fabricast {
namespace {

MeasuredCase hopper_case(const std::string& op, int nodes, const std::vector<std::int64_t>& sizes) {
  MeasuredCase c;
  c.id = op, c.system = "hopper", c.collective = op, c.gpu = "h100-sxm", c.intranode = "nvswitch";
  c.nodes = nodes, c.gpus_per_node = 8, c.nics = 8, c.nic_gbps = 400, c.link = "infiniband";
  c.harness = {{"tool", "nccl_tests"}};
  for (const std::int64_t bytes : sizes) c.rows.push_back({bytes, 1});
  return c;
}

/// Forecasts the case on hardware, with a random error in each band.
MeasuredCase measured(MeasuredCase c, const Hardware& truth, const std::function<double()>& error) {
  const ForecastOfCase forecast = CaseRunner(c).run(truth);
  std::map<std::size_t, double> errors;
  for (std::size_t i = 0; i < c.rows.size(); ++i) {
    const auto [it, is_new] = errors.try_emplace(band_of(c.rows[i].bytes), 0);
    if (is_new) it->second = error();
    c.rows[i].time_us = microseconds(forecast.rows[i].forecast) * std::exp(it->second);
  }
  return c;
}

double no_error() { return 0; }

const std::vector<std::string> three = {"architectures.hopper.launch", "architectures.hopper.hop_ll",
                                        "networks.infiniband.hop_ll"};

FitAdvice advice_on(const std::vector<MeasuredCase>& cases, const FitOptions& options) {
  return advise(cases, fit_parameters(cases, prior_hardware(), options), options);
}

/// Whether only calls over several nodes use the parameter.
bool is_of_network(const std::string& path) {
  return path.starts_with("networks.infiniband.") || path.ends_with(".network_hop") || path == "software.nvlstree_hop";
}

TEST_CASE("cases on one node leave the network undetermined", "[calibrate]") {
  const MeasuredCase one = hopper_case("all_reduce", 1, {8, 1 << 14, 1 << 18, 1 << 22, 1 << 28});
  const FitAdvice advice = advice_on({measured(one, prior_hardware(), no_error)}, {});
  int of_network = 0;
  for (const Unstated& u : advice.unstated)
    for (const Uncertain& p : u.parameters)
      if (is_of_network(p.path)) {
        ++of_network;
        CHECK(u.stated == Stated::nothing);
      }
  CHECK(of_network >= 3);
  const auto stated = std::find_if(advice.runs.begin(), advice.runs.end(),
                                   [](const AdvisedRun& run) { return is_of_network(run.narrows.at(0).path); });
  REQUIRE(stated != advice.runs.end());
  CHECK(stated->run.nodes == 2);
  CHECK(stated->command.starts_with("2 nodes, 16 processes: "));
  CHECK(advice_text(advice).find(stated->command) != std::string::npos);
  CHECK(advice_text(advice) == advice_text(advice_on({measured(one, prior_hardware(), no_error)}, {})));
}

TEST_CASE("the smallest size alone cannot separate the launch from the hops", "[calibrate]") {
  const MeasuredCase two = hopper_case("all_reduce", 2, {8});
  FitOptions options;
  options.parameters = three;
  const FitAdvice advice = advice_on({measured(two, prior_hardware(), no_error)}, options);
  REQUIRE(advice.unstated.size() == 1);
  const Unstated& all = advice.unstated[0];
  CHECK(all.stated == Stated::together);
  std::set<std::string> paths;
  for (const Uncertain& p : all.parameters) {
    paths.insert(p.path);
    CHECK(all.error_together < p.error / 2);
  }
  CHECK(paths == std::set<std::string>(three.begin(), three.end()));
  for (const double power : all.powers) CHECK(power > 0);  // a sum of times, not a ratio
}

TEST_CASE("the advised run narrows a parameter as predicted", "[calibrate]") {
  constexpr double noise = 0.03;
  constexpr int samples = 40;
  FitOptions options;
  options.parameters = three;
  const MeasuredCase before = hopper_case("all_reduce", 2, {8});
  // The priors pull like one more row: their intervals contain 90 %.
  const auto pull = [&](double rows) { return noise * noise * 1.645 * 1.645 / rows; };
  options.prior_weight = pull(1);
  const FitAdvice advice = advice_on({measured(before, prior_hardware(), no_error)}, options);
  REQUIRE(!advice.runs.empty());
  REQUIRE(!advice.runs[0].narrows.empty());
  const MeasuredCase& advised = advice.runs[0].run;
  Rng rng(7);
  std::map<std::string, std::pair<double, double>> squares;  // of errors without and with the advised run
  for (int sample = 0; sample < samples; ++sample) {
    Hardware truth = prior_hardware();
    for (const std::string& path : options.parameters) {
      Parameter& p = *truth.find(path);
      p.value *= std::exp(std::log(p.high / p.low) / 2 / 1.645 * rng.normal());
    }
    std::vector<MeasuredCase> cases = {measured(before, truth, [&] { return noise * rng.normal(); })};
    const auto add = [&](double std::pair<double, double>::*sum) {
      Fit fit = fit_parameters(cases, prior_hardware(), options);
      for (const std::string& path : options.parameters)
        squares[path].*sum += std::pow(std::log(fit.hardware.find(path)->value / truth.find(path)->value), 2);
    };
    options.prior_weight = pull(1);
    add(&std::pair<double, double>::first);
    cases.push_back(measured(advised, truth, [&] { return noise * rng.normal(); }));
    cases.back().id = "advised";
    options.prior_weight = pull(1 + static_cast<double>(advised.rows.size()));
    add(&std::pair<double, double>::second);
  }
  for (const Narrowed& n : advice.runs[0].narrows) {
    INFO(n.path);
    const auto [first, second] = squares.at(n.path);
    const double without = std::sqrt(first / samples), with = std::sqrt(second / samples);
    CHECK(without < 2 * n.before);
    CHECK(without > n.before / 2);
    CHECK(with < 2 * n.after);
    CHECK(with > n.after / 2);
    CHECK(with < 0.85 * without);
  }
}

}  // namespace
}  // namespace fabricast
