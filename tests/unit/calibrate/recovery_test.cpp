// Fits to forecasts with hidden parameters and noise: the 90 % intervals must contain the hidden values.
#include <catch2/catch.hpp>
#include <cmath>

#include "fabricast/calibrate/fit.hpp"
#include "fabricast/core/rng.hpp"

namespace fabricast {
namespace {

/// Two nodes of eight H100 and one of them, as a user would measure them.
std::vector<MeasuredCase> plan_of_cases() {
  std::vector<MeasuredCase> cases;
  for (const int nodes : {1, 2})
    for (const char* op : {"all_reduce", "all_gather"}) {
      MeasuredCase c;
      c.system = "hidden", c.collective = op, c.gpu = "h100-sxm", c.intranode = "nvswitch";
      c.id = std::string(op) + "-" + std::to_string(nodes);
      c.nodes = nodes, c.gpus_per_node = 8, c.nics = 8, c.nic_gbps = 400, c.link = "infiniband";
      c.nccl_version = "2.27", c.harness = {{"tool", "nccl_tests"}};
      for (std::int64_t bytes = 1 << 10; bytes <= std::int64_t{1} << 30; bytes *= 4) c.rows.push_back({bytes, 1});
      cases.push_back(std::move(c));
    }
  return cases;
}

/// Hardware with parameters sampled from their intervals. Each has a generator of its own, so that a new parameter does
/// not change the others.
Hardware hidden_hardware(const Hardware& prior, std::uint64_t sample) {
  Hardware truth = prior;
  for (const auto& [path, ref] : truth.all_parameters()) {
    Parameter& p = *ref.parameter;
    Rng rng(hash_of(path, sample));
    if (p.low > 0 && p.high > p.low) p.value *= std::exp(std::log(p.high / p.low) / (2 * 1.645) * rng.normal());
  }
  return truth;
}

void expect_recovery(int samples) {
  constexpr double noise = 0.03;
  int held = 0, parameters = 0, stated = 0, stated_held = 0;
  for (int sample = 0; sample < samples; ++sample) {
    Hardware truth = hidden_hardware(prior_hardware(), static_cast<std::uint64_t>(sample));
    std::vector<MeasuredCase> cases = plan_of_cases();
    Rng rng(static_cast<std::uint64_t>(sample));
    for (MeasuredCase& c : cases) {
      const ForecastOfCase forecast = CaseRunner(c).run(truth);
      for (std::size_t i = 0; i < c.rows.size(); ++i)
        c.rows[i].time_us = microseconds(forecast.rows[i].forecast) * std::exp(noise * rng.normal());
    }
    FitOptions options;
    options.iterations = 30;
    const Fit fit = fit_parameters(cases, prior_hardware(), options);
    for (const FittedParameter& p : fit.parameters) {
      const double hidden = truth.find(p.path)->value;
      const bool holds = p.after.low <= hidden && hidden <= p.after.high;
      held += holds, ++parameters;
      // Parameters that the data determine better than the prior.
      if (p.error > 0.5 * std::log(p.before.high / p.before.low) / (2 * 1.645)) continue;
      stated_held += holds, ++stated;
    }
  }
  CAPTURE(held, parameters, stated_held, stated);
  CHECK(parameters > 10 * samples);
  CHECK(stated > 5 * samples);
  // Half of such samples have a share below the true 90 %, so two standard errors are allowed.
  const auto least = [](int of) { return 0.9 * of - 2 * std::sqrt(0.9 * 0.1 * of); };
  CHECK(held >= least(parameters));
  CHECK(stated_held >= least(stated));
  WARN(stated_held << " of " << stated << " that the data determine, " << held << " of " << parameters << " in all");
}

TEST_CASE("90 % intervals contain the hidden parameters in 90 % of 60 samples", "[calibrate]") { expect_recovery(60); }
TEST_CASE("90 % intervals contain the hidden parameters in 90 % of 200 samples", "[.all]") { expect_recovery(200); }

}  // namespace
}  // namespace fabricast
