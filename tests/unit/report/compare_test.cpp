#include "fabricast/report/compare.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "fabricast/core/error.hpp"

namespace fabricast {
namespace {

std::string rows(double small, double large, const char* algorithm = "ring", const char* scenario = "{\"a\": 1}") {
  return fmt::format(R"({{"fabricast": "1", "scenario": {}, "fingerprint": "f", "rows": [
    {{"bytes": 1024, "time_us": {}, "algorithm": "tree", "protocol": "ll", "channels": 2, "bottleneck": "latency"}},
    {{"bytes": 1048576, "time_us": {}, "algorithm": "{}", "protocol": "simple", "channels": 8, "bottleneck": "x"}}]}})",
                     scenario, small, large, algorithm);
}

ForecastComparison compare(const std::string& before, const std::string& after) {
  return compare_forecasts(before, "old.json", after, "new.json");
}

std::string message_of(const std::string& before, const std::string& after) {
  try {
    compare(before, after);
  } catch (const UserError& e) { return e.diagnostics().front().where.file + ": " + e.diagnostics().front().message; }
  return "";
}

TEST_CASE("a forecast compared with itself is the same") {
  const ForecastComparison c = compare(rows(10, 100), rows(10, 100));
  CHECK(c.same);
  CHECK(c.passes(0));
  CHECK(c.figures.size() == 2);
  CHECK(comparison_text(c, 0).ends_with("# the same forecast\n"));
}

TEST_CASE("longer times are worse, and a loss equal to the tolerance passes") {
  const ForecastComparison c = compare(rows(10, 100), rows(9, 125, "tree", "{\"a\": 2, \"b\": {\"c\": 3}}"));
  CHECK_FALSE(c.same);
  CHECK(c.figures[0].what == "1KiB");
  CHECK(c.figures[0].loss() == Approx(-0.1));
  CHECK(c.figures[1].loss() == Approx(0.25));
  CHECK(c.figures[1].changed == std::vector<std::string>{"ring/simple -> tree/simple"});
  CHECK(c.changed == std::vector<std::string>{"a: 1 -> 2", "b: (none) -> {\"c\":3}"});
  CHECK(c.passes(0.25));
  CHECK_FALSE(c.passes(0.24));
  CHECK(c.worse(0.1) == 1);
  const std::string text = comparison_text(c, 0.05);
  CHECK(text.find("+25.00%  worse") != std::string::npos);
  CHECK(text.find("-10.00%  better") != std::string::npos);
  CHECK(text.ends_with("# 1 of 2 figures are worse by more than 5 %\n"));
  CHECK(nlohmann::json::parse(comparison_json(c, 0.05))["passes"] == false);
}

TEST_CASE("fewer tokens per second are worse") {
  const auto step = [](double seconds, double tokens) {
    return fmt::format(R"({{"fabricast": "1", "scenario": {{}}, "step_s": {}, "tokens_per_s": {}}})", seconds, tokens);
  };
  const ForecastComparison c = compare(step(2, 1000), step(1, 900));
  REQUIRE(c.figures.size() == 2);
  CHECK(c.figures[0].loss() == Approx(-0.5));
  CHECK(c.figures[1].loss() == Approx(0.1));
  CHECK(c.worse(0.05) == 1);
}

TEST_CASE("a missing size fails, a new one does not") {
  const std::string one = R"({"fabricast": "1", "rows": [{"bytes": 1024, "time_us": 10}]})";
  const ForecastComparison gone = compare(rows(10, 100), one), added = compare(one, rows(10, 100));
  CHECK(gone.gone == std::vector<std::string>{"1MiB"});
  CHECK_FALSE(gone.passes(1));
  CHECK(added.added == std::vector<std::string>{"1MiB"});
  CHECK(added.passes(0));
}

TEST_CASE("a file that is not a forecast is refused by name") {
  CHECK(message_of("{}", rows(1, 2)) == "old.json: not a forecast");
  CHECK(message_of(rows(1, 2), "[1]") == "new.json: not a forecast");
  CHECK(message_of(rows(1, 2), R"({"fabricast": "1"})") == "new.json: the forecast has neither rows nor a step");
  CHECK(message_of(rows(1, 2), R"({"fabricast": "1", "step_s": 2})") ==
        "new.json: no figure in common with old.json: that file has 1KiB, this one step");
  CHECK(message_of(rows(1, 2), rows(0, 2)) == "new.json: time_us of 1KiB is not a positive number");
  CHECK(message_of(rows(1, 2), R"({"fabricast": "1", "rows": [{"bytes": "x", "time_us": 1}]})") ==
        "new.json: a row has no `bytes` or no `time_us`");
  CHECK(message_of(rows(1, 2), "{\"fabricast\": ") != "");
}

}  // namespace
}  // namespace fabricast
