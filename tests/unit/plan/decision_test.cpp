// Conditions, the front, and the best row.
#include <catch2/catch.hpp>

#include "fabricast/core/error.hpp"
#include "fabricast/plan/decision.hpp"
#include "fabricast/plan/metric.hpp"

using namespace fabricast;

namespace {

std::size_t metric(const char* name) { return find_metric(name).value(); }

/// A row of a step's seconds and tokens.
SweepRow row_of(std::size_t number, double seconds, std::optional<double> tokens = std::nullopt) {
  SweepRow row;
  row.row = number, row.state = RowState::done;
  row.values.resize(metrics().size());
  row.values[metric("time_s")] = row.values[metric("step_s")] = seconds, row.values[metric("tokens_per_s")] = tokens;
  return row;
}

Decision decided(const ObjectiveSpec& objective, const std::vector<SweepRow>& rows) {
  Study study;
  study.objective = objective;
  return decide(study, rows);
}

std::string fault_of(const std::string& text) {
  try {
    (void)parse_condition(text, "objective.keep");
  } catch (const UserError& e) { return e.diagnostics().front().message; }
  return "none";
}

}  // namespace

TEST_CASE("conditions compare products of numbers, metrics and best values") {
  const std::vector<SweepRow> rows = {row_of(0, 10, 100), row_of(1, 8, 60), row_of(2, 9)};
  const auto best = best_values(rows);
  const auto holding = [&](const std::string& text) {
    std::string out;
    const Condition c = parse_condition(text, "");
    for (const SweepRow& row : rows) out += holds(c, row, best) ? '1' : '0';
    return out;
  };
  CHECK(holding("step_s <= 1.125 * best") == "011");
  CHECK(holding("step_s<9") == "010");
  CHECK(holding("step_s >= 9") == "101");
  CHECK(holding("9 == step_s") == "001");
  CHECK(holding("tokens_per_s >= 0.6 * best") == "110");  // the third has no tokens
  CHECK(holding("tokens_per_s / step_s > 8") == "100");
  CHECK(holding("best * 2 > step_s / 1") == "111");
  CHECK(holding("step_s / 0 > 1") == "000");  // never by a division by nothing
  const SweepRow refused{3, RowState::refused, "no", {}, {}};
  CHECK_FALSE(holds(parse_condition("step_s > 0", ""), refused, best));
}

TEST_CASE("the key of an objective that needs prices") {
  const auto key = [](const ObjectiveSpec& spec) {
    Study study;
    study.objective = spec;
    return key_of_cost(objective_of(study));
  };
  CHECK(key({"cost", "", {}, {}}) == "objective.minimize");
  CHECK(key({"", "network_cost", {}, {}}) == "objective.maximize");
  CHECK(key({"time_s", "", {"gpus > 1", "cost_per_gpu < 2 * best"}, {}}) == "objective.keep[1]");
  CHECK(key({"", "", {}, {"time_s", "cost"}}) == "objective.pareto[1]");
  CHECK(key({"switches", "", {"gpus > 1"}, {"time_s", "power_w"}}).empty());
}

TEST_CASE("an invalid condition is reported with its position") {
  CHECK(fault_of("step_s <= ") == "'step_s <= ': expected a number, a metric or `best` at character 11");
  CHECK(fault_of("step_s 3").find("<, <=, >, >= or ==") != std::string::npos);
  CHECK(fault_of("step_s < 3 3").find("expected the end at character 12") != std::string::npos);
  CHECK(fault_of("1 < 2").find("names no metric") != std::string::npos);
  CHECK(fault_of("steps < 2") == "unknown metric 'steps'");
  CHECK(fault_of("step_s < mfu * best").find("`best` is ambiguous") != std::string::npos);
  CHECK(fault_of("gpus < best").find("no best value") != std::string::npos);
  CHECK(fault_of("").find("`best` at character 1") != std::string::npos);
}

TEST_CASE("the front has rows that no other row beats without being worse in a metric") {
  ObjectiveSpec objective;
  objective.pareto = {"step_s", "tokens_per_s"};
  // 0 and 1 are on it; 2 is beaten by 0 in both; 3 equals 1; 4 ties 0 in time with fewer tokens; 5 has no tokens.
  const Decision d = decided(objective, {row_of(0, 8, 60), row_of(1, 10, 100), row_of(2, 9, 50), row_of(3, 10, 100),
                                         row_of(4, 8, 59), row_of(5, 1)});
  CHECK(d.on_front == std::vector<bool>{true, true, false, true, false, false});
}

TEST_CASE("the best row is a kept one, and rows are ordered by the objective") {
  ObjectiveSpec objective;
  objective.maximize = "tokens_per_s", objective.keep = {"step_s <= 1.05 * best"};
  const Decision d = decided(objective, {row_of(0, 10, 1000), row_of(1, 8, 60), row_of(2, 8.4, 70), row_of(3, 8)});
  CHECK(d.kept == std::vector<bool>{false, true, true, true});
  REQUIRE(d.best);
  CHECK(*d.best == 2);
  CHECK(d.order == std::vector<std::size_t>{2, 1, 3, 0});
  CHECK(*d.fastest == 1);
  objective.keep = {"step_s < 1"};
  CHECK_FALSE(decided(objective, {row_of(0, 10)}).best);
}

TEST_CASE("configurations within a tenth of a per cent are a tie, and the cheapest of them is named") {
  std::vector<SweepRow> rows = {row_of(0, 20.74), row_of(1, 20.75), row_of(2, 20.742), row_of(3, 21.5)};
  rows[0].values[metric("cost")] = 3e6, rows[1].values[metric("cost")] = 2e6, rows[2].values[metric("cost")] = 4e6;
  const Decision d = decided({}, rows);
  CHECK(d.ties == std::vector<std::size_t>{0, 2, 1});
  CHECK(d.best == 1);
  CHECK(d.order == std::vector<std::size_t>{1, 0, 2, 3});
  CHECK(d.fastest == 0);
  // Beyond the width it is no tie, however cheap.
  rows[1].values[metric("time_s")] = rows[1].values[metric("step_s")] = 20.77;
  CHECK(decided({}, rows).best == 0);
}

TEST_CASE("an interrupted study names no best row") {
  std::vector<SweepRow> rows = {row_of(0, 2), row_of(1, 1)};
  rows.push_back({});
  rows.back().row = 2;
  const Decision d = decided({}, rows);
  CHECK(d.not_run == 1);
  CHECK_FALSE(d.best);
  CHECK(d.ties == std::vector<std::size_t>{1});
}
