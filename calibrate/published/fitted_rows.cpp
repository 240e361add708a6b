// Selects the rows of published tables that the fit of steps uses, and weighs them. Vendors publish whole grids of
// configurations; without a limit one table would outweigh all measured steps.
//
//   noise of a row = 6 % sqrt( max(1, n / 4) )          n rows of one source and kind of model
//
// so that n rows together weigh as much as at most four.
#include <algorithm>
#include <cmath>
#include <map>

#include "fabricast/calibrate/published_validation.hpp"
#include "fabricast/core/error.hpp"
#include "fabricast/core/stop.hpp"
#include "fabricast/core/thin.hpp"
#include "repeats.hpp"

namespace fabricast {

namespace {

/// Per source and kind of model. More rows of one table carry little further information.
constexpr std::size_t most_rows = 8;
/// Typical relative error of forecasts of known software, and the number of independent rows that a source counts as.
constexpr double row_noise = 0.06, rows_worth = 4;

/// Whether the split of the scenario is consistent.
bool has_forecast(const StepCase& c) {
  try {
    StepRunner runner(c);
    return true;
  } catch (const UserError&) { return false; }
}

}  // namespace

std::vector<StepCase> fitted_rows(const std::vector<MappedRow>& rows, const std::vector<StepCase>& known) {
  published::Repeats repeats(known);
  // Dense and MoE models of one source exercise different parameters, so each has its own limit.
  std::map<std::pair<std::string, bool>, std::vector<StepCase>> sources;
  for (const MappedRow& row : rows) {
    if (row.scenario.empty() || !repeats.of(row).empty()) continue;
    StepCase c;
    c.id = row.id;
    c.source = row.row.source;
    c.measured = row.time;
    c.scenario = row.scenario;
    sources[{row.row.source, row.experts}].push_back(std::move(c));
  }
  std::vector<StepCase> chosen;
  for (auto& [source, list] : sources) {
    stop_if_requested();
    std::vector<StepCase> mine;
    // Evenly spaced rows cover the range of a table. A row with an inconsistent split is dropped and not replaced.
    for (const std::size_t i : spread_over(list.size(), most_rows))
      if (has_forecast(list[i])) mine.push_back(std::move(list[i]));
    for (StepCase& c : mine) {
      c.noise = row_noise * std::sqrt(std::max(1.0, static_cast<double>(mine.size()) / rows_worth));
      chosen.push_back(std::move(c));
    }
  }
  return chosen;
}

}  // namespace fabricast
