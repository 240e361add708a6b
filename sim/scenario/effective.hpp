// The effective scenario as JSON: every default is filled in, and every quantity has its unit.
#pragma once

#include <mutex>
#include <nlohmann/json.hpp>
#include <string>

#include "fabricast/scenario/scenario.hpp"
#include "fabricast/scenario/world.hpp"

namespace fabricast {

/// The scenario with every key that applies to it, so that reading the result gives the same scenario.
nlohmann::ordered_json effective_json(const Scenario& scenario);

/// The same as text, for scenarios that differ in the listed sizes of a collective only. What comes before and after
/// the list is written once. Safe to use from several threads.
class EffectiveText {
 public:
  /// The text as `dump(1)` writes it for a member of the outermost object.
  std::string of(const Scenario& scenario);

 private:
  std::once_flag written_;
  std::string before_, after_;
};

/// `j.dump(1)` with the effective scenario of a world in the place of its member `scenario`.
/// \pre the member is null, and no other member of that name is
std::string dump_with_scenario(const nlohmann::ordered_json& j, const World& world);

}  // namespace fabricast
