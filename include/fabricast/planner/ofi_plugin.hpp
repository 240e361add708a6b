// What the AWS OFI plugin, NCCL's network library on EFA, changes in NCCL: variables that it sets if the user does not,
// the latency that it states for its devices, and the choice of algorithm and protocol, because it is also a tuner
// plugin [OFI-plugin]. The plugin's release is taken to be as old as NCCL's: nobody states it in a scenario, and both
// come in one image. The regions are those of its main branch of 2026. Older plugins chose by other regions.
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

/// Latency in us that the plugin of NCCL's age states for its devices.
double ofi_latency_us(OfiPlatform platform, const NcclVersion& version);

/// Variables that the plugin of NCCL's age sets unless the user does.
std::map<std::string, std::string> ofi_variables(OfiPlatform platform, const NcclVersion& version);

/// First version of NCCL as old as a release of the plugin: 1.2 (March 2022) states a latency, 1.7 (July 2023) knows
/// instances, 1.8 (February 2024) sets the chunk of NVLSTree, 1.10 (August 2024) that of NVLS, and 1.16 (June 2025)
/// buffers and chunks.
inline constexpr NcclVersion ofi_latency_since{2, 12, 0}, ofi_instances_since{2, 18, 0}, ofi_tree_chunk_since{2, 20, 0},
    ofi_nvls_chunk_since{2, 23, 0}, ofi_buffers_since{2, 27, 0};
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
