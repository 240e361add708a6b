// NCCL variables that the provider of a network sets: by its plugin if they are unset, or by its instructions.
//
// A pure function; safe to call concurrently.
#pragma once

#include <map>
#include <string>

#include "fabricast/hardware/node.hpp"
#include "fabricast/planner/nccl.hpp"

namespace fabricast {

/// Variables and their origin.
struct ProviderEnvironment {
  std::string from;  ///< what sets them, as shown to users; empty: nothing
  std::map<std::string, std::string> variables;
};

/// The variables that are set on a host before the user sets any.
ProviderEnvironment provider_environment(const NodeSpec& host, const GpuKind& gpu, const NcclVersion& version);

}  // namespace fabricast
