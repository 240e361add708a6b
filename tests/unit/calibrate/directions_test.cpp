#include "fabricast/calibrate/directions.hpp"

#include <catch2/catch.hpp>

namespace fabricast {
namespace {

using Catch::Detail::Approx;

MeasuredCase case_of(const std::string& id, std::vector<MeasuredRow> rows) {
  MeasuredCase c;
  c.id = id, c.system = "lab", c.collective = "all_reduce", c.gpu = "h100-sxm", c.intranode = "nvswitch";
  c.link = "infiniband", c.nodes = 2, c.gpus_per_node = 8;
  c.harness = {{"tool", "nccl_tests"}, {"ranks_per_process", "1"}, {"iterations", "20"}};
  c.rows = std::move(rows);
  return c;
}

std::vector<ConfigurationPair> pairs_of(const std::vector<MeasuredCase>& cases,
                                        const std::vector<std::vector<double>>& forecasts_us) {
  std::vector<TimedCase> timed;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    timed.push_back({&cases[i], {}});
    for (const double us : forecasts_us[i]) timed.back().forecast.push_back(us * 1e-6);
  }
  return find_pairs(timed);
}

TEST_CASE("sizes count that differ by over 10 %, and the forecast is right if the same one is faster", "[calibrate]") {
  // Ring loses below 4 KiB, is within 10 % there, and wins above.
  MeasuredCase ring = case_of("ring", {{1024, 20}, {2048, 24}, {4096, 30}, {8192, 30}, {16384, 40}});
  MeasuredCase tree = case_of("tree", {{1024, 10}, {2048, 20}, {4096, 31}, {8192, 40}, {16384, 80}});
  ring.env["NCCL_ALGO"] = "Ring", tree.env["NCCL_ALGO"] = "tree";
  const auto pairs = pairs_of({ring, tree}, {{20, 19, 30, 31, 40}, {10, 20, 31, 31, 70}});
  REQUIRE(pairs.size() == 1);
  const ConfigurationPair& p = pairs.front();
  CHECK(p.aspect == "algorithm");
  CHECK((p.a == "ring" && p.b == "tree"));
  CHECK(p.counted() == 4);  // without 4096
  CHECK(p.right() == 2);    // 1024 and 16384; at 2048 the other way round, at 8192 no difference
}

TEST_CASE("a crossing lies between the sizes where the sign changes, on a logarithmic axis", "[calibrate]") {
  // ln(tree / ring) is -ln 2 at 1 KiB and + ln 2 at 4 KiB: zero at 2 KiB, where the two are alike.
  MeasuredCase ring = case_of("ring", {{1024, 20}, {2048, 20}, {4096, 20}, {16384, 20}});
  MeasuredCase tree = case_of("tree", {{1024, 10}, {2048, 20}, {4096, 40}, {16384, 80}});
  ring.env["NCCL_ALGO"] = "ring", tree.env["NCCL_ALGO"] = "tree";
  const auto at = [&](std::vector<double> forecast_of_tree) {
    return pairs_of({ring, tree}, {{20, 20, 20, 20}, forecast_of_tree}).front();
  };
  CHECK(at({10, 20, 40, 80}).crossing_measured().value() == Approx(2048));
  CHECK(at({10, 20, 40, 80}).crossing_forecast().value() == Approx(2048));
  // - ln 2 at 4 KiB, + ln 2 at 16 KiB: crosses at 8 KiB, a factor of four too late.
  const ConfigurationPair late = at({5, 5, 10, 40});
  CHECK(late.crossing_forecast().value() == Approx(8192));
  CHECK_FALSE(late.crossing_right());
  CHECK(at({10, 15, 40, 80}).crossing_right());
  // The wrong way round is no crossing.
  CHECK_FALSE(at({40, 20, 10, 10}).crossing_forecast().has_value());
}

TEST_CASE("pairs differ in one thing that an operator chooses", "[calibrate]") {
  const std::vector<MeasuredRow> rows = {{1024, 10}};
  const std::vector<double> forecast = {10};
  const auto pairs = [&](const std::vector<MeasuredCase>& cases) {
    return pairs_of(cases, std::vector<std::vector<double>>(cases.size(), forecast));
  };
  const MeasuredCase base = case_of("a", rows);
  MeasuredCase other = base;
  CHECK(pairs({base, other}).empty());
  other.env["NCCL_NVLS_ENABLE"] = "0";
  CHECK(pairs({base, other}).front().aspect == "NVLS");
  MeasuredCase two = other;
  two.gdr = false;
  CHECK(pairs({base, two}).empty());
  // Channels and QPs are one thing, however many variables set them.
  other = base, other.env = {{"NCCL_MIN_CTAS", "24"}, {"NCCL_IB_QPS_PER_CONNECTION", "2"}};
  CHECK(pairs({base, other}).front().aspect == "channels and QPs");
  other = base, other.gpu = "h200-sxm";
  CHECK(pairs({base, other}).empty());
  // A single node has no network.
  other = base, other.nodes = 1, other.link = "";
  CHECK(pairs({base, other}).front().aspect == "nodes");
  // Fewer GPUs take fewer NICs.
  other = base, other.gpus_per_node = 1, other.nics = 1, other.intranode = "none";
  CHECK(pairs({base, other}).front().aspect == "GPUs per node");
  // 1, 2 and 4 nodes make two pairs of neighbours.
  MeasuredCase one = base, four = base;
  one.nodes = 1, one.link = "", four.nodes = 4;
  const auto steps = pairs({four, one, base});
  REQUIRE(steps.size() == 2);
  CHECK((steps[0].a == "1" && steps[0].b == "2" && steps[1].a == "2" && steps[1].b == "4"));
}

TEST_CASE("repeats count by their median, and sizes a rounding apart are the same", "[calibrate]") {
  MeasuredCase few = case_of("few", {{1000000, 10}}), again = few, third = few;
  again.rows[0].time_us = 30, third.rows[0].time_us = 20;
  MeasuredCase many = case_of("many", {{1000448, 40}});
  many.nodes = 4;
  const auto pairs = pairs_of({few, again, third, many}, {{1}, {1}, {1}, {2}});
  REQUIRE(pairs.size() == 1);
  REQUIRE(pairs[0].rows.size() == 1);
  CHECK(pairs[0].rows[0].measured == Approx(std::log(40.0 / 20.0)));
}

}  // namespace
}  // namespace fabricast
