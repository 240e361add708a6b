// Fits with a known truth: forecasts with moved parameters serve as measurements.
#include "fabricast/calibrate/fit.hpp"

#include <catch2/catch.hpp>
#include <cmath>

namespace fabricast {
namespace {

using Catch::Detail::Approx;

MeasuredCase case_of(const std::string& system, const std::string& gpu, const std::string& op, const Hardware& truth) {
  MeasuredCase c;
  c.id = system + "-" + op, c.system = system, c.collective = op, c.gpu = gpu, c.intranode = "nvswitch";
  c.gpus_per_node = gpu == "v100-sxm" ? 4 : 8;
  c.harness = {{"tool", "isolated"}};
  for (const std::int64_t bytes : {1 << 10, 1 << 14, 1 << 18, 1 << 22, 1 << 28}) c.rows.push_back({bytes, 1});
  const ForecastOfCase forecast = CaseRunner(c).run(truth);
  for (std::size_t i = 0; i < c.rows.size(); ++i) c.rows[i].time_us = microseconds(forecast.rows[i].forecast);
  return c;
}

Hardware moved_hardware() {
  Hardware truth = prior_hardware();
  truth.find("architectures.hopper.launch")->value *= 1.4;
  truth.find("architectures.hopper.hop_ll")->value *= 0.7;
  truth.find("architectures.hopper.rate_simple")->value *= 0.8;
  truth.find("architectures.volta.launch")->value *= 2;
  truth.find("architectures.volta.hop_ll")->value *= 1.5;
  return truth;
}

FitOptions options_of() {
  FitOptions options;
  options.parameters = {"architectures"};
  options.prior_weight = 1e-9;
  options.iterations = 40;
  return options;
}

TEST_CASE("a fit recovers the parameters behind the measurements", "[calibrate]") {
  const Hardware truth = moved_hardware();
  const std::vector<MeasuredCase> cases = {case_of("one", "h100-sxm", "all_reduce", truth),
                                           case_of("one", "h100-sxm", "all_gather", truth)};
  const Fit fit = fit_parameters(cases, prior_hardware(), options_of());
  CHECK(fit.loss_after < 1e-5 * fit.loss_before);
  Hardware copy = truth;
  for (const char* path : {"architectures.hopper.launch", "architectures.hopper.hop_ll"}) {
    const auto it = std::find_if(fit.parameters.begin(), fit.parameters.end(),
                                 [&](const FittedParameter& p) { return p.path == path; });
    REQUIRE(it != fit.parameters.end());
    CHECK(it->after.value == Approx(copy.find(path)->value).epsilon(0.03));
  }
}

TEST_CASE("a held-out system is forecast from the others, or else from the priors", "[calibrate]") {
  const Hardware truth = moved_hardware();
  const std::vector<MeasuredCase> cases = {case_of("hopper-a", "h100-sxm", "all_reduce", truth),
                                           case_of("hopper-b", "h100-sxm", "all_reduce", truth),
                                           case_of("volta", "v100-sxm", "all_reduce", truth)};
  FitOptions options = options_of();
  options.identified = 10;
  options.sibling_weight = 0;  // which would draw Volta along
  const LeaveOneOut l = leave_out(cases, prior_hardware(), options, LeftOut::system).leave_one_out;
  const ErrorTable unfitted = validate_cases(cases, prior_hardware()).errors;
  for (std::size_t band = 0; band < bands.size(); ++band) {
    for (const char* system : {"hopper-a", "hopper-b", "volta"})
      CHECK(l.in_sample.systems.at(system)[band].error < 0.01);
    // The twin determines the Hopper system. No other system has Volta.
    CHECK(l.left_out.systems.at("hopper-a")[band].error < 0.01);
    CHECK(l.left_out.systems.at("volta")[band].error == Approx(unfitted.systems.at("volta")[band].error).epsilon(1e-9));
  }
  CHECK(unfitted.systems.at("volta")[0].error > 0.2);
  CHECK(unfitted.systems.at("hopper-a")[0].error > 0.05);
}

TEST_CASE("kinds follow the architecture, whatever a GPU is called", "[calibrate]") {
  MeasuredCase typed, plain;
  typed.system = "typed", typed.gpu = "H100-80GB", typed.nodes = 2, typed.link = "roce";
  plain.system = "plain", plain.gpu = "h100-sxm", plain.nodes = 2, plain.link = "roce";
  const auto kinds = left_out_with({typed, plain}, prior_hardware(), LeftOut::kind);
  CHECK(kinds.at("typed") == "hopper roce");
  CHECK(kinds.at("plain") == kinds.at("typed"));
}

TEST_CASE("leaving one system out needs two", "[calibrate]") {
  const std::vector<MeasuredCase> cases = {case_of("one", "h100-sxm", "all_reduce", prior_hardware())};
  CHECK_THROWS_AS(leave_out(cases, prior_hardware(), options_of(), LeftOut::site), UserError);
}

}  // namespace
}  // namespace fabricast
