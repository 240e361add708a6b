// What the AWS OFI plugin, NCCL's network library on EFA, changes in NCCL: variables that it sets if the user does not,
// the latency that it states for its devices, and the choice of algorithm and protocol, because it is also a tuner
// plugin [OFI-plugin]. Facts are from the plugin's main branch of 2026. Older plugins chose by other regions.
//
// Pure functions; safe to call concurrently.
// Not modelled: channels and chunks that the newest plugin sets for some calls on Blackwell, and its tuner type
// `model`.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fabricast/hardware/node.hpp"
#include "fabricast/planner/nccl.hpp"

namespace fabricast {

/// EC2 instance types that the plugin distinguishes.
enum class OfiPlatform {
  none,     ///< the network is not EFA
  p3dn,     ///< V100
  p4d,      ///< A100; p4de too
  p5,       ///< H100 and H200 with 32 NICs of 100 Gb/s; p5e too
  p5_like,  ///< Hopper with other NICs
  p5en,     ///< H200 with 16 NICs of 200 Gb/s
  p6_b200,  ///< B200 with 8 NICs of 400 Gb/s
  p6_b300,  ///< B300 with 16 NICs of 400 Gb/s
  newer,    ///< other GPUs from Blackwell on
  other     ///< not known to the plugin
};

/// The instance type of a host. A host with only some of an instance's GPUs, and the same fraction or all of its NICs,
/// counts as that instance. \param host  one host
OfiPlatform ofi_platform(const NodeSpec& host, const GpuKind& gpu);

/// Latency in us that the plugin states for its devices.
double ofi_latency_us(OfiPlatform platform);

/// Variables that the plugin sets unless the user does.
std::map<std::string, std::string> ofi_variables(OfiPlatform platform, const NcclVersion& version);

/// First version of NCCL that loads the plugin as a tuner, and first version that does so together with NCCL_ALGO or
/// NCCL_PROTO.
inline constexpr NcclVersion ofi_tuner_since{2, 19, 0}, ofi_tuner_with_lists{2, 22, 0};
/// First version of NCCL for which the plugin does not turn NVLS off.
inline constexpr NcclVersion ofi_nvls_since{2, 18, 5};

/// The tuner's choice for a call, an element of `usable`. Null if it leaves the choice to NCCL.
/// \param settings  variables set by the user and the plugin
/// \param usable    entries of NCCL's table, in any order
const Candidate* ofi_choice(OfiPlatform platform, const NcclSettings& settings, CollectiveOp op, std::int64_t bytes,
                            std::int64_t nodes, std::int64_t ranks, const std::vector<Candidate>& usable);

}  // namespace fabricast
