// Looks up what a tuner plugin chooses (planner/tuner_rules.hpp). Compiled into the plugin as well, which calls it in
// every collective.
#include "fabricast/planner/tuner_rules.hpp"

#include <algorithm>

namespace fabricast {

const TunerRule* find_rule(std::span<const TunerRule> rules, std::uint64_t bytes) noexcept {
  const auto first = std::partition_point(rules.begin(), rules.end(), [=](const TunerRule& r) { return r.to < bytes; });
  return first != rules.end() && first->from <= bytes ? &*first : nullptr;
}

const TunerRule* find_rule(std::span<const TunerRules> all, CollectiveOp op, TunedShape shape,
                           std::uint64_t bytes) noexcept {
  for (const TunerRules& table : all)
    if (table.op == op && table.shape == shape) return find_rule(table.rules, bytes);
  return nullptr;
}

bool names_own_tuner(std::string_view plugin) noexcept { return plugin.find("fabricast") != std::string_view::npos; }

bool tuner_may_limit(Algorithm algorithm, TunedShape shape) noexcept {
  switch (algorithm) {
    case Algorithm::collnetdirect:
    case Algorithm::collnetchain: return false;
    case Algorithm::nvls: return shape.nodes == 1;
    default: return true;
  }
}

}  // namespace fabricast
