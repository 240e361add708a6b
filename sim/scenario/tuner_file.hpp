// The profile of libnccl-tuner-fabricast.so that a scenario names in its variables of NCCL (planner/tuner_profile.hpp).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "fabricast/planner/tuner_rules.hpp"

namespace fabricast {

/// The rules of NCCL_TUNER_CONFIG_FILE, if NCCL_TUNER_PLUGIN names that plugin. For any other plugin it is another file,
/// which is not read.
/// \param scenario  path of the scenario, from whose folder the file's path starts
/// \throws UserError at the variable if the plugin would refuse the file
std::vector<TunerRules> read_tuner_file(const std::map<std::string, std::string>& env, const std::string& scenario);

}  // namespace fabricast
