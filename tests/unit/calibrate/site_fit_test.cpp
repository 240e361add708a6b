// A fit to a site's own rows: refused if it does not help, accepted if it does; the profile always keeps the rows.
#include "fabricast/calibrate/site_fit.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "fabricast/calibrate/measured.hpp"

namespace fabricast {
namespace {

using Catch::Detail::Approx;

MeasuredCase case_of(const std::string& id, const std::string& collective, int nodes) {
  MeasuredCase c;
  c.id = id, c.system = c.site = "test", c.collective = collective, c.gpu = "h100-sxm", c.intranode = "nvswitch";
  c.link = "infiniband", c.nccl_version = "2.27.3";
  c.nodes = nodes, c.gpus_per_node = 8, c.nics = 8, c.nic_gbps = 400, c.gdr = true;
  for (std::int64_t bytes = 1 << 10; bytes <= std::int64_t{1} << 32; bytes *= 16) c.rows.push_back({bytes, 1});
  return c;
}

/// Cases as measured on the given hardware, with each row multiplied by a factor that depends on its index.
std::vector<MeasuredCase> measured_on(const Hardware& hardware,
                                      double (*factor)(std::size_t case_number, std::size_t row)) {
  std::vector<MeasuredCase> cases = {case_of("a", "all_reduce", 2), case_of("b", "all_gather", 2),
                                     case_of("c", "all_reduce", 4)};
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const ForecastOfCase forecast = CaseRunner(cases[i]).run(hardware);
    for (std::size_t r = 0; r < forecast.rows.size(); ++r)
      cases[i].rows[r].time_us = microseconds(forecast.rows[r].forecast) * factor(i, r);
  }
  return cases;
}

FitOptions quick() {
  FitOptions options;
  options.iterations = 4;
  options.parameters = {"networks.infiniband.nic_efficiency", "architectures.hopper.launch"};
  return options;
}

TEST_CASE("fitted parameters that do not forecast other cases better are refused", "[calibrate]") {
  // Each case has its own error, so what one says about a parameter is wrong for the next.
  const auto cases = measured_on(shipped_hardware(), [](std::size_t i, std::size_t) { return i % 2 == 0 ? 1.4 : 0.7; });
  const SiteFit fit = fit_site(cases, shipped_hardware(), quick());
  CHECK(fit.errors.parts == 3);
  CHECK(fit.refused);
  CHECK(fit.fit.parameters.empty());
  Hardware same = fit.fit.hardware, shipped = shipped_hardware();
  CHECK(same.find("networks.infiniband.nic_efficiency")->value ==
        shipped.find("networks.infiniband.nic_efficiency")->value);
  CHECK(fit.seen.size() == 3);
}

TEST_CASE("a profile keeps its measured rows, and they can be read back", "[calibrate]") {
  const auto cases = measured_on(shipped_hardware(), [](std::size_t, std::size_t) { return 1.2; });
  const SiteFit fit = fit_site(cases, shipped_hardware(), quick());
  const std::string profile = site_profile_json(fit, "test");
  Hardware hardware = shipped_hardware();
  overlay_profile(hardware, profile, "p.json");
  const std::vector<MeasuredCase> seen = cases_in_profile(profile, "p.json");
  REQUIRE(seen.size() == cases.size());
  for (std::size_t i = 0; i < seen.size(); ++i) {
    CHECK(seen[i].nodes == cases[i].nodes);
    REQUIRE(seen[i].rows.size() == cases[i].rows.size());
    CHECK(seen[i].rows[3].time_us == Approx(cases[i].rows[3].time_us));
  }
  // Measured rows are reproduced, whether or not the parameters moved.
  const std::string text = site_fit_text(fit);
  CHECK(text.find("measured rows in this profile: all_gather on 2 nodes (6 rows)") != std::string::npos);
}

TEST_CASE("more nodes than were measured keep a wider interval", "[calibrate]") {
  const auto cases = measured_on(shipped_hardware(), [](std::size_t, std::size_t) { return 1.1; });
  const SiteFit fit = fit_site(cases, shipped_hardware(), quick());
  REQUIRE(fit.larger.size() >= 3);
  for (std::size_t b = 0; b < bands.size(); ++b)
    if (fit.larger.front().half_width[b] > 0) CHECK(fit.larger.back().half_width[b] > fit.larger.front().half_width[b]);
}

TEST_CASE("a parameter beyond its 99 % range is reported, with its row", "[calibrate]") {
  // Small sizes take three times as long.
  const auto cases = measured_on(shipped_hardware(), [](std::size_t, std::size_t r) { return r < 3 ? 3.0 : 1.0; });
  FitOptions options = quick();
  options.parameters = {"architectures.hopper.launch"};
  options.prior_weight = options.sibling_weight = 1e-12;
  options.iterations = 12;
  const SiteFit fit = fit_site(cases, shipped_hardware(), options);
  REQUIRE(fit.doubts.size() == 1);
  CHECK(fit.doubts[0].path == "architectures.hopper.launch");
  CHECK(fit.doubts[0].bytes <= 1 << 18);
  CHECK_FALSE(fit.doubts[0].instead.empty());
}

}  // namespace
}  // namespace fabricast
