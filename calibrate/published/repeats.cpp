// Finds rows that report a step that is known already. Vendors carry numbers from one release to the next and
// researchers cite them, so a run counted twice would count as two sources.
#include "repeats.hpp"

#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "fabricast/core/names.hpp"
#include "fabricast/scenario/scenario.hpp"
#include "parts.hpp"

namespace fabricast::published {

namespace {

/// Software and split as the row states them.
std::string split_of(const PublishedRow& r) {
  // The same time with another split is a coincidence or another run.
  return fmt::format("{} {} {} {} {} {} {} {} {}", note_of(r).software, r.micro_batch, r.tensor, r.pipeline, r.context,
                     r.interleave, r.expert, r.fsdp, r.recompute);
}

/// Null if the scenario is refused.
std::optional<StepIdentity> identity_of(const std::string& id, const std::string& scenario, Seconds time) try {
  const Scenario s = parse_scenario(scenario, id).scenario;
  const TrainingSpec& t = s.workload.training;
  const Transformer model = resolve(t.model);
  // Dimensions instead of names: one table says LLAMA3_8B and another Llama 3 8B.
  return StepIdentity{fmt::format("{} {} {} {} {} {} {}", s.node.spec.gpu, s.cluster.nodes * s.node.spec.gpus,
                                  model.layers, model.hidden, model.sequence, t.batch.global, name_of(t.precision)),
                      time, id};
} catch (const UserError&) { return std::nullopt; }

/// Tables print different numbers of digits: 78.58 and 78.58034 s are the same time.
bool same(const StepIdentity& a, const StepIdentity& b) {
  constexpr double digits = 5e-4;
  return a.run == b.run && std::abs(a.time / b.time - 1) < digits;
}

}  // namespace

Repeats::Repeats(const std::vector<StepCase>& known) {
  for (const StepCase& c : known)
    if (auto identity = c.scenario.empty() ? std::nullopt : identity_of(c.id, c.scenario, c.measured))
      known_.push_back(std::move(*identity));
}

std::string Repeats::of(const MappedRow& row) {
  const auto identity = identity_of(row.id, row.scenario, row.time);
  if (!identity) return {};
  for (const StepIdentity& k : known_)
    if (same(k, *identity)) return k.id;
  // Compared only with rows of the same split and software. The known steps above are compared by run and time alone,
  // because they may state what the table leaves open.
  std::vector<StepIdentity>& alike = rows_[identity->run + " " + split_of(row.row)];
  for (const StepIdentity& a : alike)
    if (same(a, *identity)) return a.id;
  alike.push_back(*identity);
  return {};
}

}  // namespace fabricast::published
