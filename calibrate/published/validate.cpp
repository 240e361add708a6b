// Forecasts the rows of published tables of training steps. Each row ends in one of the outcomes of RowOutcome; a
// refusal is a result, not an error of the command.
#include "fabricast/calibrate/published_validation.hpp"
#include "fabricast/core/names.hpp"
#include "fabricast/core/parallel.hpp"
#include "fabricast/core/stop.hpp"
#include "repeats.hpp"

namespace fabricast {

namespace {

/// \param key  the key of the refusal; empty: the key that the error names
void refuse(PublishedResult& result, const UserError& error, const std::string& key = {}) {
  const Diagnostic& first = error.diagnostics().front();
  result.outcome = RowOutcome::refused;
  result.key = key.empty() ? first.path : key;
  result.why = first.message;
}

void forecast(PublishedResult& result, const Hardware& hardware) try {
  const MappedRow& m = result.mapped;
  StepCase step;
  step.id = m.id;
  step.source = m.row.source;
  step.measured = m.time;
  step.scenario = m.scenario;
  StepRunner runner(step);
  // The memory estimate is checked apart, so that reports distinguish "does not fit" from "cannot be split like this".
  try {
    runner.check_memory();
  } catch (const UserError& error) { return refuse(result, error, "memory"); }
  result.step = step_row(step, runner, hardware);
} catch (const UserError& error) { refuse(result, error); }

}  // namespace

std::vector<PublishedResult> validate_published(const std::vector<MappedRow>& rows, const std::vector<StepCase>& known,
                                                const Hardware& hardware, const std::function<void(double)>& progress) {
  std::vector<PublishedResult> results;
  // In the order of the table and before the parallel part, because which of two equal rows counts depends on the
  // order.
  published::Repeats repeats(known);
  for (const MappedRow& row : rows) {
    PublishedResult& r = results.emplace_back();
    r.mapped = row;
    if (row.scenario.empty()) {
      r.outcome = RowOutcome::unsayable;
      r.why = row.missing;
      r.key = row.missing.substr(0, row.missing.find(':'));
    } else if (std::string other = repeats.of(row); !other.empty()) {
      r.outcome = RowOutcome::repeated;
      r.key = std::move(other);
    }
  }
  TaskProgress tasks(progress, results.size());
  in_parallel(results.size(), thread_count(0), [&](std::size_t i) {
    stop_if_requested();
    if (results[i].outcome == RowOutcome::forecast) forecast(results[i], hardware);
    tasks.one_done();
  });
  return results;
}

}  // namespace fabricast
