// Verdicts of `check` where the answer is known by construction: times as forecast, twice as slow, slow because of one
// host, compared with an earlier run, and a single number.
#include <catch2/catch.hpp>
#include <cmath>

#include "fabricast/calibrate/cases.hpp"
#include "fabricast/calibrate/check.hpp"
#include "fabricast/calibrate/least_time.hpp"
#include "fabricast/calibrate/measured.hpp"
#include "fabricast/core/error.hpp"
#include "fabricast/scenario/trial.hpp"

namespace fabricast {
namespace {

using Catch::Detail::Approx;

Scenario cluster(const std::string& rest = "") {
  return parse_scenario(
             "fabricast: 1\nnode: {profile: hgx-h100}\ncluster: {nodes: 2}\nnccl: {version: \"2.27\"}\n"
             "workload: {collective: all_reduce, sizes: [1KiB, 64KiB, 4MiB, 256MiB, 4GiB]}\n" +
                 rest,
             "v.yaml")
      .scenario;
}

/// Times of a scenario changed by `set`, multiplied by `factor`, as measurements of the unchanged scenario.
MeasuredSeries measured_as(const Scenario& scenario, double factor, const std::vector<std::string>& set = {}) {
  MeasuredSeries series{scenario, {}, "test.log", {}, {}};
  const Scenario changed_one = set.empty() ? scenario : ScenarioChanges(scenario).with(set);
  for (const ForecastRow& row : run_forecast(build_world(changed_one)).rows) series.times.push_back(row.time * factor);
  return series;
}

double probability_of(const CheckReport& report, Cause cause) {
  for (const Suspect& s : report.suspects)
    if (s.cause == cause && !s.with) return s.probability;
  return 0;
}

TEST_CASE("times as forecast are healthy, and so are faster ones", "[calibrate]") {
  const Scenario s = cluster();
  for (const double factor : {1.0, 0.7, 0.5}) {
    const CheckReport report = check({measured_as(s, factor)}, unmeasured_site());
    CHECK(report.healthy());
    CHECK(report.off == Approx(factor).epsilon(1e-6));
    CHECK(probability_of(report, Cause::healthy) > 0.5);
  }
}

TEST_CASE("probabilities of all suspects add up to one", "[calibrate]") {
  const CheckReport report = check({measured_as(cluster(), 1, {"node.nics.count=2"})}, unmeasured_site());
  double sum = 0;
  for (const Suspect& s : report.suspects) sum += s.probability;
  CHECK(sum == Approx(1));
  CHECK_FALSE(report.healthy());
  CHECK(report.suspects.front().cause == Cause::fewer_nics);
}

TEST_CASE("a slowdown that no cause explains is none of these", "[calibrate]") {
  // Forty times as long at all sizes, latency and bandwidth alike.
  const CheckReport report = check({measured_as(cluster(), 40)}, unmeasured_site());
  CHECK_FALSE(report.healthy());
  CHECK(report.suspects.front().cause == Cause::none_of_these);
  for (const Suspect& s : report.suspects)
    if (s.leaves_too_much) CHECK(s.probability < probability_of(report, Cause::none_of_these) + 1e-9);
}

TEST_CASE("a cluster twice as slow as before is not healthy", "[calibrate]") {
  const Scenario s = cluster();
  // The site is 1.5 times as slow as forecast, as it always was.
  const MeasuredSeries before = measured_as(s, 1.5);
  const MeasuredSite site = measured_site(shipped_residuals(), {before});
  CHECK(check({measured_as(s, 1.5)}, site).healthy());
  CHECK_FALSE(check({measured_as(s, 3)}, site).healthy());
}

TEST_CASE("runs on different hosts show which one is slow", "[calibrate]") {
  const Scenario s = cluster();
  std::vector<MeasuredSeries> runs;
  const std::vector<std::pair<std::string, std::string>> pairs = {{"a", "b"}, {"c", "d"}, {"a", "c"}, {"b", "d"},
                                                                  {"a", "e"}, {"b", "e"}, {"c", "f"}, {"e", "f"}};
  for (const auto& [one, other] : pairs) {
    const bool slow = one == "e" || other == "e";
    runs.push_back(measured_as(s, (slow ? 1.6 : 1.0) * (1 + 0.002 * static_cast<double>(runs.size() % 3))));
    runs.back().hosts = {one, other};
  }
  const CheckReport report = check(runs, unmeasured_site());
  REQUIRE(report.places.size() == 1);
  CHECK(report.places[0].kind == "host");
  CHECK(report.places[0].name == "e");
  CHECK(report.places[0].with == 3);
  CHECK(report.places[0].ratio == Approx(1.6).epsilon(0.01));
  // Rows are those of the median of all runs.
  CHECK(report.rows.size() == s.sizes().size());
}

TEST_CASE("no host stands out if runs only scatter", "[calibrate]") {
  std::vector<MeasuredSeries> runs;
  for (int i = 0; i < 6; ++i) {
    runs.push_back(measured_as(cluster(), 1 + 0.03 * (i % 3)));
    runs.back().hosts = {std::string(1, static_cast<char>('a' + i)), "z"};
  }
  CHECK(check(runs, unmeasured_site()).places.empty());
}

TEST_CASE("measured values in the scenario become times", "[calibrate]") {
  const auto world =
      build_world(cluster("measured: {all_reduce: {8B: 31us, 8GiB: 390GB/s}, alltoall: {1GiB: 41ms}}\n"));
  const std::vector<MeasuredSeries> series = series_of_scenario(world);
  REQUIRE(series.size() == 2);
  CHECK(series[0].times[0].value == Approx(31e-6));
  // Bus bandwidth of 16 ranks: 2 x 15/16 of the bytes over the time.
  CHECK(series[0].times[1].value == Approx(8.0 * (1 << 30) * 30 / 16 / 390e9));
  CHECK(series[1].scenario.workload.collective == CollectiveOp::alltoall);
  CHECK(series[1].times == std::vector<Seconds>{Seconds{41e-3}});
}

TEST_CASE("measured values that are not a size, time or rate are rejected", "[calibrate]") {
  for (const char* bad : {"{all_reduce: {8: 31us}}", "{all_reduce: {8B: 31}}", "{all_reduce: {8B: -3us}}",
                          "{all_reduce: {0B: 3us}}", "{all_reduce: {1KiB: 3us, 1024B: 4us}}", "{allreduce: {8B: 3us}}"})
    CHECK_THROWS_AS(cluster(std::string("measured: ") + bad + "\n"), UserError);
}

TEST_CASE("the least time is that of the bytes over the line rates", "[calibrate]") {
  // Two hosts with 8 x 400 Gb/s, that is 400 GB/s: each sends the buffer once, with or without SHARP.
  const double gib = 1 << 30;
  const auto least = [](const Scenario& s, std::int64_t bytes) { return least_time(s, Bytes{bytes}).time.value; };
  CHECK(least(cluster(), 1 << 30) == Approx(gib / 400e9));
  // Small calls: that of a call.
  CHECK(least(cluster(), 8) == Approx(1e-6));
  const ScenarioChanges changes(cluster());
  // Ranks of a host send half of their buffers to the other host.
  CHECK(least(changes.with({"workload.collective=alltoall"}), 1 << 30) == Approx(8 * gib / 2 / 400e9));
  // Four hosts, whose switches do not reduce over RoCE.
  CHECK(least(changes.with({"cluster={nodes: 4}", "node.nics.link=roce"}), 1 << 30) == Approx(1.5 * gib / 400e9));
  // One host with NVSwitches that reduce, and one GPU, which sends nothing.
  CHECK(least(changes.with({"cluster.nodes=1"}), 1 << 30) == Approx(gib / 450e9));
  CHECK(least(changes.with({"cluster.nodes=1", "node={gpu: h100-sxm, gpus: 1}"}), 1 << 30) == 0);
}

TEST_CASE("times in another unit are impossible, and forecasts are not conditioned on them", "[calibrate]") {
  const Scenario s = cluster();
  CHECK(impossible_rows({measured_as(s, 1)}).empty());
  CHECK_NOTHROW(refuse_impossible({measured_as(s, 1)}, s));
  MeasuredSeries in_ms = measured_as(s, 1e-3);
  in_ms.lines = {2, 3, 4, 5, 6};
  const std::vector<ImpossibleRow> rows = impossible_rows({in_ms});
  REQUIRE(rows.size() == 5);
  CHECK(rows[4].bytes == std::int64_t{4} << 30);
  CHECK(rows[4].line == 6);
  CHECK(impossible_advice(rows).find("ms, not us") != std::string::npos);
  CHECK_THROWS_AS(refuse_impossible({in_ms}, s), UserError);
  const std::string text = impossible_text(s, rows);
  CHECK(text.find("no verdict") != std::string::npos);
  CHECK(text.find("test.log:6: ") != std::string::npos);
  CHECK(impossible_json(s, rows).find("\"healthy\": null") != std::string::npos);
  // In telemetry a time begins when the last rank joins.
  in_ms.live = true;
  CHECK(impossible_rows({in_ms}).empty());
}

TEST_CASE("no shipped case is faster than its hardware can be", "[calibrate]") {
  std::size_t judged = 0;
  for (const MeasuredCase& c : read_cases(shipped_cases_path())) {
    const CaseRunner runner(c);
    Scenario scenario = runner.scenario();
    scenario.hardware = Shared<Hardware>(shipped_hardware());
    MeasuredSeries series{std::move(scenario), {}, c.id, {}, {}};
    for (const MeasuredRow& row : c.rows) series.times.push_back({row.time_us * 1e-6});
    judged += c.rows.size();
    INFO(c.id);
    CHECK(impossible_rows({series}).empty());
  }
  CHECK(judged > 1000);
}

Suspect suspect(Cause cause, double probability, std::optional<Cause> with = {}) {
  Suspect s;
  s.cause = cause;
  s.probability = probability;
  s.with = with;
  return s;
}

TEST_CASE("a cause is named only with a clear lead", "[calibrate]") {
  const auto named = [](std::vector<Suspect> suspects) {
    CheckReport report;
    report.suspects = std::move(suspects);
    const Suspect* found = report.named();
    return found ? std::optional(found->cause) : std::nullopt;
  };
  const Suspect healthy = suspect(Cause::healthy, 0.29);
  CHECK_FALSE(named({suspect(Cause::acs, 0.11), suspect(Cause::none_of_these, 0.1), healthy}));
  CHECK_FALSE(named({suspect(Cause::sockets, 0.45), suspect(Cause::acs, 0.2), healthy}));
  CHECK(named({suspect(Cause::sockets, 0.5), suspect(Cause::acs, 0.4), healthy}) == Cause::sockets);
  CHECK(named({suspect(Cause::sockets, 0.31), suspect(Cause::acs, 0.1), healthy}) == Cause::sockets);
  // Two causes at once that include the first speak for it too.
  CHECK(named({suspect(Cause::sockets, 0.3), suspect(Cause::sockets, 0.2, Cause::acs), healthy}) == Cause::sockets);
  CHECK_FALSE(named({suspect(Cause::sockets, 0.3), suspect(Cause::acs, 0.2, Cause::no_gdr), healthy}));
  CHECK_FALSE(named({healthy}));
}

TEST_CASE("without a lead the answer lists the candidates", "[calibrate]") {
  CheckReport report;
  report.off = 1.25;
  report.suspects = {suspect(Cause::acs, 0.11), suspect(Cause::none_of_these, 0.1), suspect(Cause::slow_nic, 0.02),
                     suspect(Cause::healthy, 0.29)};
  CheckedRow row;
  row.verdict = Verdict::slow;
  row.measured = Seconds{109e-3};
  report.rows = {row};
  const std::string text = check_text(cluster(), report);
  CHECK(
      text.find(
          "not healthy: measured times are 1.25 times the forecast; no clear cause: acs 11 %, none_of_these 10 %\n") !=
      std::string::npos);
  // An ordinary launch of a hashed network is said to be one.
  report.rows[0].sample_low = Seconds{65e-3};
  report.rows[0].sample_high = Seconds{131e-3};
  CHECK(report.within_samples());
  CHECK(check_text(cluster(), report).find("within the variation of the ECMP hash") != std::string::npos);
  report.rows[0].sample_high = Seconds{100e-3};
  CHECK_FALSE(report.within_samples());
}

TEST_CASE("the slowest size band is stated beside the mean", "[calibrate]") {
  MeasuredSeries series = measured_as(cluster(), 1);
  for (const std::size_t large : {3, 4}) series.times[large] *= 2.5;
  const CheckReport report = check({series}, unmeasured_site());
  REQUIRE(report.slowest);
  CHECK(report.slowest->band == 3);
  CHECK(report.slowest->off == Approx(2.5).epsilon(1e-6));
  CHECK(check_text(series.scenario, report).find("2.50 times for all_reduce of >=64MiB") != std::string::npos);
}

}  // namespace
}  // namespace fabricast
