#include "repeats.hpp"

#include <fmt/format.h>

#include <cmath>

#include "fabricast/core/names.hpp"
#include "fabricast/scenario/scenario.hpp"
#include "parts.hpp"

namespace fabricast::published {

namespace {

/// The software and the split that a row states.
std::string split_of(const PublishedRow& r) {
  return fmt::format("{} {} {} {} {} {} {} {} {}", note_of(r).software, r.micro_batch, r.tensor, r.pipeline, r.context,
                     r.interleave, r.expert, r.fsdp, r.recompute);
}

}  // namespace

/// One, or none where the scenario cannot be read.
std::vector<Repeats::Identity> Repeats::identities_of(const std::string& id, const std::string& scenario,
                                                      double seconds) try {
  const Scenario s = parse_scenario(scenario, id).scenario;
  const TrainingSpec& t = s.workload.training;
  const Transformer model = resolve(t.model);
  return {{fmt::format("{} {} {} {} {} {} {}", s.node.spec.gpu, s.cluster.nodes * s.node.spec.gpus, model.layers,
                       model.hidden, model.sequence, t.batch.global, name_of(t.precision)),
           seconds, id}};
} catch (const UserError&) { return {}; }

/// Published digits differ: 78.58 and 78.58034 s are the same.
bool Repeats::same(const Identity& a, const Identity& b) {
  constexpr double digits = 5e-4;
  return a.run == b.run && std::abs(a.seconds / b.seconds - 1) < digits;
}

Repeats::Repeats(const std::vector<StepCase>& known) {
  for (const StepCase& c : known)
    if (!c.scenario.empty())
      for (Identity& identity : identities_of(c.id, c.scenario, c.seconds)) known_.push_back(std::move(identity));
}

std::string Repeats::of(const MappedRow& row) {
  for (const Identity& identity : identities_of(row.id, row.scenario, row.seconds)) {
    for (const Identity& k : known_)
      if (same(k, identity)) return k.id;
    std::vector<Identity>& alike = rows_[identity.run + " " + split_of(row.row)];
    for (const Identity& a : alike)
      if (same(a, identity)) return a.id;
    alike.push_back(identity);
  }
  return {};
}

}  // namespace fabricast::published
