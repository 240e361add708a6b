// NCCL variables that the provider of a network sets: by its plugin if they are unset, or by its instructions.
//
// NCCL's own defaults are what nobody runs on such a network, so a forecast with them would answer the wrong question.
// Covered are EFA (the OFI plugin) and GPUDirect-TCPX with its successor TCPXO [GPUDirect-TCPX] [GPUDirect-TCPXO].
// Variables of single machine types are data of their profiles (NodePreset::env) instead.
//
// A pure function; safe to call concurrently.
#pragma once

#include <map>
#include <string>

#include "fabricast/hardware/node.hpp"
#include "fabricast/planner/nccl.hpp"

namespace fabricast {

/// Variables and their origin. Those of the user's scenario take precedence.
struct ProviderEnvironment {
  std::string from;  ///< what sets them, as shown to users; empty: nothing
  std::map<std::string, std::string> variables;
};

/// The variables that are set on a host before the user sets any; nothing without NICs and on other networks.
/// GPUDirect-TCPX and TCPXO are told apart by the NICs: fewer than GPUs, or one for each.
/// \param version  of NCCL: some variables depend on it on EFA
ProviderEnvironment provider_environment(const NodeSpec& host, const GpuKind& gpu, const NcclVersion& version);

}  // namespace fabricast
