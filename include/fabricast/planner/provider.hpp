// Variables that the provider of a network sets for its users: its plugin where they are unset, or its instructions.
#pragma once

#include <map>
#include <string>

#include "fabricast/hardware/node.hpp"
#include "fabricast/planner/nccl.hpp"

namespace fabricast {

struct ProviderEnvironment {
  std::string from;  ///< who sets them
  std::map<std::string, std::string> variables;
};

/// What NCCL finds set on such a host before a user sets anything.
ProviderEnvironment provider_environment(const NodeSpec& host, const GpuKind& gpu, const NcclVersion& version);

}  // namespace fabricast
