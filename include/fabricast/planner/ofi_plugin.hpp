// What the AWS OFI plugin, NCCL's network library on EFA, changes in NCCL: variables that it sets where the user does not,
// the latency that it states of its devices, and the choice of algorithm and protocol, as it is NCCL's tuner plugin as
// well [OFI-plugin]. Facts are of the plugin's main branch of 2026; older plugins chose by other regions.
//
// Not modelled: channels and chunks that the newest plugin sets for some calls on Blackwell, and its tuner type `model`.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fabricast/hardware/node.hpp"
#include "fabricast/planner/nccl.hpp"

namespace fabricast {

/// Instances of EC2, as far as the plugin tells them apart.
enum class OfiPlatform {
  none,     ///< the network is not EFA
  p3dn,     ///< V100
  p4d,      ///< A100; p4de too
  p5,       ///< H100 and H200 with 32 NICs of 100 Gb/s; p5e too
  p5_like,  ///< Hopper with other NICs
  p5en,     ///< H200 with 16 NICs of 200 Gb/s
  p6_b200,  ///< B200 with 8 NICs of 400 Gb/s
  p6_b300,  ///< B300 with 16 NICs of 400 Gb/s
  newer,
  other  ///< that the plugin does not know by name
};

/// \param host one host; a part of an instance's GPUs with as many of its NICs, or all, is still that instance
OfiPlatform ofi_platform(const NodeSpec& host, const GpuKind& gpu);

/// What NCCL is told that a device takes, us.
double ofi_latency_us(OfiPlatform platform);

/// The variables that the plugin sets if the user has not.
std::map<std::string, std::string> ofi_variables(OfiPlatform platform, const NcclVersion& version);

/// NCCL loads the plugin as its tuner from this version on; its first interfaces do not go with NCCL_ALGO or NCCL_PROTO.
inline constexpr NcclVersion ofi_tuner_since{2, 19, 0}, ofi_tuner_with_lists{2, 22, 0};
/// NVLS is on from this version on.
inline constexpr NcclVersion ofi_nvls_since{2, 18, 5};

/// The tuner's choice for a call; empty where it leaves the choice to NCCL.
/// \param settings  what the user and the plugin set
/// \param usable  what NCCL's table has, in any order
const Candidate* ofi_choice(OfiPlatform platform, const NcclSettings& settings, CollectiveOp op, std::int64_t bytes,
                            std::int64_t nodes, std::int64_t ranks, const std::vector<Candidate>& usable);

}  // namespace fabricast
