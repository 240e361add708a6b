// Reads a tuner profile as the plugin does, with located errors (tuner_file.hpp).
//
// In a job a file that the plugin refuses changes nothing. To forecast NCCL's own choice would then be right, but hardly
// what is meant, so it is an error.
#include "tuner_file.hpp"

#include <fmt/format.h>

#include "fabricast/core/error.hpp"
#include "fabricast/planner/tuner_profile.hpp"
#include "fabricast/scenario/scenario.hpp"
#include "named_file.hpp"

namespace fabricast {

std::vector<TunerRules> read_tuner_file(const std::map<std::string, std::string>& env, const std::string& scenario) {
  const auto variable = [&](const char* name) {
    const auto it = env.find(name);
    return it == env.end() ? std::string() : it->second;
  };
  const std::string named = variable("NCCL_TUNER_CONFIG_FILE");
  if (named.empty() || !names_own_tuner(variable("NCCL_TUNER_PLUGIN"))) return {};
  constexpr const char* key = "nccl.env.NCCL_TUNER_CONFIG_FILE";
  const std::string file = beside(scenario, named);
  const std::string text = read_named(key, file, most_tuner_profile_bytes);
  if (const std::string wrong = wrong_tuner_name(file, text); !wrong.empty())
    throw UserError::at(key, fmt::format("'{}': {}", file, wrong), "keep the name that `export profile` gave it");
  auto profile = parse_tuner_profile(text);
  if (const auto* fault = std::get_if<TunerFault>(&profile))
    throw UserError::at(key, fmt::format("'{}': {}", file, fault->text), "write it again with `export profile`");
  return std::get<TunerProfile>(std::move(profile)).tables;
}

}  // namespace fabricast
