#include "fabricast/scenario/trial.hpp"

#include <fmt/format.h>

namespace fabricast {

std::string env_word(std::string_view variable, std::string_view value) {
  return fmt::format("nccl.env.{}={}", variable, value);
}

std::string env_word(std::string_view variable, std::int64_t value) {
  return env_word(variable, std::string_view(fmt::to_string(value)));
}

ScenarioChanges::ScenarioChanges(const Scenario& scenario) : file_(scenario.file), effective_(to_yaml(scenario)) {}

// The effective text states every key. Keys that were only assumed are listed in its `assumed`, so they stay unstated.
Scenario ScenarioChanges::with(const std::vector<std::string>& set) const {
  return parse_scenario(effective_, file_, set).scenario;
}

bool ScenarioChanges::differs(const Scenario& made) const { return to_yaml(made) != effective_; }

void set_sizes(Scenario& scenario, const std::vector<std::int64_t>& bytes) {
  scenario.workload.sizes.clear();
  for (const std::int64_t b : bytes) scenario.workload.sizes.push_back(Bytes{b});
}

}  // namespace fabricast
