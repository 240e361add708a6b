// Errors, halves and coverage counted by hand, and the same numbers in JSON.
#include "fabricast/calibrate/validate.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

namespace fabricast {
namespace {

using Catch::Detail::Approx;

TEST_CASE("errors, intervals and halves are counted by system", "[calibrate]") {
  const double twice = std::log(2.0), tenth = std::log(1.1);
  const std::vector<ErrorRow> rows = {{"a", 0, twice, 0.5},   {"a", 0, -twice, 0.8}, {"a", 1, tenth, 0.2},
                                      {"a", 2, -tenth, 0.05}, {"b", 0, tenth, 0.2},  {"b", 3, -tenth, 0.2}};
  const ErrorTable t = error_table(rows);
  CHECK(t.systems.at("a")[0].error == Approx(1.0));
  CHECK(t.systems.at("b")[0].error == Approx(0.1));
  CHECK(t.median[0] == Approx(0.55));
  CHECK_FALSE(t.median_interval[0].has_value());  // two systems tell none
  // Of a's two rows one is within its interval, of b's one: each system counts once.
  CHECK(t.covered[0] == Approx(0.75));
  CHECK(t.covered[2] == 0);
  CHECK(t.covered[3] == 1);
  CHECK(t.width[1] == Approx(std::expm1(0.2)));
  const auto halves = error_halves(rows);
  CHECK(halves[0] == Approx((1.0 + 0.1) / 2));
  CHECK(halves[1] == Approx(0.1));
}

TEST_CASE("the interval of a median is what binomials say", "[calibrate]") {
  // Of 9 systems a sample's median is the k-th least or less if 5 of 9 are, each with probability k/9: with 3.0 % for k = 2
  // and 14.5 % for k = 3.
  std::vector<ErrorRow> rows;
  for (int system = 1; system <= 9; ++system)
    rows.push_back({std::string(1, char('a' + system)), 0, std::log1p(system / 10.0)});
  const auto interval = error_table(rows).median_interval[0];
  REQUIRE(interval.has_value());
  CHECK(interval->low == Approx(0.3));
  CHECK(interval->high == Approx(0.7));
  CHECK(percent_text(interval) == "30.0 to 70.0");
}

TEST_CASE("our errors stand beside NCCL's on the rows that have both", "[calibrate]") {
  const double twice = std::log(2.0), tenth = std::log(1.1), half = std::log(1.5);
  const std::vector<ErrorRow> rows = {{"a", 0, tenth, 0, twice},  {"a", 0, -tenth, 0, -twice}, {"a", 0, twice, 0, {}},
                                      {"b", 0, -twice, 0, tenth}, {"c", 0, half, 0, -twice},   {"c", 1, half, 0, {}}};
  const BesideNccl b = beside_nccl(rows);
  CHECK(b.cells == std::array{3, 0, 0, 0});
  CHECK(b.nearer[0] == 2);
  CHECK(b.ours[0] == Approx(0.5));  // 10, 50 and 100 %
  CHECK(b.nccl[0] == Approx(1.0));
}

TEST_CASE("a validation in JSON has what the text has", "[calibrate]") {
  MeasuredCase c;
  c.id = "one", c.system = "lab", c.collective = "all_reduce", c.gpu = "h100-sxm", c.intranode = "nvswitch";
  c.gpus_per_node = 8, c.harness = {{"tool", "isolated"}};
  c.rows = {{1 << 10, 20}, {1 << 28, 1500}};
  MeasuredCase wrong = c;
  wrong.id = "two", wrong.gpus_per_node = 1;
  const Validation v = validate_cases({c, wrong}, shipped_hardware());
  REQUIRE(v.cases.size() + v.failed.size() == 2);
  const auto j = nlohmann::json::parse(validation_json(v));
  CHECK(j.at("bands").size() == bands.size());
  CHECK(j.at("errors").at("rows") == v.errors.rows);
  CHECK(j.at("errors").at("systems").at("lab").at(0).at("error") ==
        Approx(v.errors.systems.at("lab")[0].error).epsilon(1e-5));
  CHECK(j.at("errors").at("systems").at("lab").at(1).is_null());
  CHECK(j.at("cases").at(0).at("rows").at(1).at("measured_us") == 1500);
  CHECK(j.at("failed").size() == v.failed.size());
  CHECK(!j.contains("leave_out"));
  CHECK(!j.at("errors").contains("covered"));  // none were asked for
}

TEST_CASE("tables of changes tell of intervals before them where there are some", "[calibrate]") {
  const std::vector<ErrorRow> without = {{"a", 0, std::log(1.2), 0}, {"b", 0, std::log(0.5), 0}};
  const std::vector<ErrorRow> with = {{"a", 0, std::log(1.1), std::log(1.3)}, {"b", 0, std::log(0.9), std::log(1.3)}};
  Validation v;
  v.leave_out = {{LeftOut::site, error_table(with), error_table(with)}};
  v.calibrated = Calibrated{error_table(without), error_table(with), {}, {}, error_table(without), error_table(with)};
  const auto count = [](const std::string& text, const std::string& part) {
    int n = 0;
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
    return n;
  };
  const std::string text = validation_text(v, false), page = validation_markdown(v, prior_hardware());
  CHECK(count(text, "a                    10.0 >  10.0+") == 1);
  CHECK(count(text, "a                    20.0 >  10.0+") == 2);
  CHECK(count(text, "WIDTH                30.0 >  30.0 ") == 1);
  CHECK(count(text, "WIDTH                       30.0 ") == 2);
  CHECK(count(text, "MEAN  ") == 2);  // of the forecasts, and of systems left out
  CHECK(count(page, "| a | 20.0 > 10.0+ |") == 2);
  CHECK(count(page, "| **half width of the interval** | **30.0 > 30.0** |") == 1);
  CHECK(count(page, "| **half width of the interval** | **30.0** |") == 2);
  CHECK(count(page, "| **mean** |") == 2);
}

}  // namespace
}  // namespace fabricast
