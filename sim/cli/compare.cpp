// `compare`: compares two forecasts in JSON.
// The comparison itself is report/compare.cpp.
#include "fabricast/report/compare.hpp"

#include <fmt/format.h>

#include "commands.hpp"
#include "fabricast/core/file.hpp"
#include "fabricast/core/quantity.hpp"
#include "options.hpp"

namespace fabricast {

namespace {

double tolerance_of(const Options& options) {
  const std::string text = options.text("tolerance");
  const auto tolerance = parse_ratio(text);
  if (!tolerance) throw UserError(fmt::format("--tolerance {}", tolerance.error), tolerance.hint);
  if (tolerance.value < 0 || tolerance.value > 1)
    throw UserError(fmt::format("--tolerance '{}' is out of range", text), "between 0% and 100%");
  return tolerance.value;
}

}  // namespace

int compare_verb(const std::vector<std::string>& arguments) {
  Options options(
      "compare",
      "Compares two forecasts, written by `run --json`, and reports what changed. Exits with 1 if a value of "
      "NEW is worse than in OLD by more than the tolerance.",
      {"OLD", "NEW"});
  options.example("fabricast compare kept.json new.json --tolerance 2%");
  options.add()("tolerance", takes("FRACTION")->default_value("0%"), "fraction by which a value may be worse, e.g. 2%")(
      "json", takes("FILE"), "write JSON to FILE; - prints it instead of text");
  if (!options.parse(arguments)) return 0;
  const std::string json = output_path(options, "json");
  const double tolerance = tolerance_of(options);
  const std::string before = options.text("OLD"), after = options.text("NEW");
  const ForecastComparison comparison = compare_forecasts(read_file(before), before, read_file(after), after);
  if (!json.empty()) emit(json, comparison_json(comparison, tolerance));
  if (json != "-") emit("-", comparison_text(comparison, tolerance));
  return comparison.passes(tolerance) ? 0 : 1;
}

}  // namespace fabricast
