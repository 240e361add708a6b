#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "fabricast/calibrate/published_validation.hpp"
#include "fabricast/core/names.hpp"
#include "fabricast/core/parallel.hpp"
#include "fabricast/core/stop.hpp"
#include "parts.hpp"

namespace fabricast {

namespace {

/// What makes two rows the same step: what ran, on how many GPUs, and what it took. How it was split is left out, as one
/// table may say what the other leaves open.
struct StepIdentity {
  std::string run;
  double seconds = 0;
  std::string id;
};

std::optional<StepIdentity> identity_of(const std::string& id, const std::string& scenario, double seconds) try {
  const Scenario s = parse_scenario(scenario, id).scenario;
  const TrainingSpec& t = s.workload.training;
  const Transformer model = resolve(t.model);
  return StepIdentity{fmt::format("{} {} {} {} {} {} {}", s.node.spec.gpu, s.cluster.nodes * s.node.spec.gpus,
                                  model.layers, model.hidden, model.sequence, t.batch.global, name_of(t.precision)),
                      seconds, id};
} catch (const UserError&) { return std::nullopt; }

/// Published digits differ: 78.58 and 78.58034 s are the same.
bool same(const StepIdentity& a, const StepIdentity& b) {
  constexpr double digits = 5e-4;
  return a.run == b.run && std::abs(a.seconds / b.seconds - 1) < digits;
}

/// The software and the split that a row states, for rows of one table: two of them may take the same time.
std::string split_of(const PublishedRow& r) {
  return fmt::format("{} {} {} {} {} {} {} {} {}", published::note_of(r).software, r.micro_batch, r.tensor, r.pipeline,
                     r.context, r.interleave, r.expert, r.fsdp, r.recompute);
}

/// \param key  what refuses; empty: what the error names
void refuse(PublishedResult& result, const UserError& error, std::string key = {}) {
  const Diagnostic& first = error.diagnostics().front();
  result.outcome = RowOutcome::refused;
  result.key = key.empty() ? first.path : std::move(key);
  result.why = first.message;
}

void forecast(PublishedResult& result, const Hardware& hardware) try {
  const MappedRow& m = result.mapped;
  StepCase step;
  step.id = m.id, step.source = m.row.source, step.seconds = m.seconds, step.scenario = m.scenario;
  StepRunner runner(step);
  try {
    runner.check_memory();
  } catch (const UserError& error) { return refuse(result, error, "memory"); }
  result.step = step_row(step, runner, hardware);
} catch (const UserError& error) { refuse(result, error); }

class Repeats {
 public:
  explicit Repeats(const std::vector<StepCase>& known) {
    for (const StepCase& c : known)
      if (auto identity = c.scenario.empty() ? std::nullopt : identity_of(c.id, c.scenario, c.seconds))
        known_.push_back(std::move(*identity));
  }
  /// The id of the same step, in another list or earlier in this one; empty: none.
  std::string of(const MappedRow& row) {
    const auto identity = identity_of(row.id, row.scenario, row.seconds);
    if (!identity) return {};
    for (const StepIdentity& k : known_)
      if (same(k, *identity)) return k.id;
    std::vector<StepIdentity>& alike = rows_[identity->run + " " + split_of(row.row)];
    for (const StepIdentity& a : alike)
      if (same(a, *identity)) return a.id;
    alike.push_back(*identity);
    return {};
  }

 private:
  std::vector<StepIdentity> known_;
  std::map<std::string, std::vector<StepIdentity>> rows_;
};

}  // namespace

std::vector<PublishedResult> validate_published(const std::vector<MappedRow>& rows, const std::vector<StepCase>& known,
                                                const Hardware& hardware, const std::function<void(double)>& progress) {
  std::vector<PublishedResult> results;
  Repeats repeats(known);
  for (const MappedRow& row : rows) {
    PublishedResult& r = results.emplace_back();
    r.mapped = row;
    if (row.scenario.empty()) {
      r.outcome = RowOutcome::unsayable, r.why = row.missing;
      r.key = row.missing.substr(0, row.missing.find(':'));
    } else if (std::string other = repeats.of(row); !other.empty()) {
      r.outcome = RowOutcome::repeated, r.key = std::move(other);
    }
  }
  TaskProgress told(progress, results.size());
  in_parallel(results.size(), thread_count(0), [&](std::size_t i) {
    stop_if_requested();
    if (results[i].outcome == RowOutcome::forecast) forecast(results[i], hardware);
    told.one_done();
  });
  return results;
}

}  // namespace fabricast
