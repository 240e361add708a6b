// What the OFI plugin knows of an instance and sets for it [OFI-plugin]. The real plugin asks the machine for its
// product name. A scenario has none, so the instance is derived from GPU and NICs; a cluster of another kind with the
// same devices counts as that instance.
#include "fabricast/planner/ofi_plugin.hpp"

#include <cmath>

namespace fabricast {

namespace {

/// Whether a host has the NICs of an instance with eight GPUs, or the share of them for a part of its GPUs.
bool has_nics(const NodeSpec& host, int count, double gigabits) {
  constexpr int gpus = 8;
  // Rates of scenarios may differ slightly from the nominal one.
  const bool rate = std::abs(host.nics.rate.value * 8e-9 - gigabits) < 0.01 * gigabits;
  return rate && (host.nics.count == count || host.nics.count * gpus == count * host.gpus);
}

}  // namespace

OfiPlatform ofi_platform(const NodeSpec& host, const GpuKind& gpu) {
  if (host.nics.link != LinkKind::efa || host.nics.count == 0) return OfiPlatform::none;
  // Up to Ampere a capability identifies the instance. From Hopper on the same GPU comes with different NICs.
  if (gpu.compute_capability == 70) return OfiPlatform::p3dn;
  if (gpu.compute_capability == 80) return OfiPlatform::p4d;
  if (gpu.compute_capability < 90) return OfiPlatform::other;
  if (gpu.name == "b200" && has_nics(host, 8, 400)) return OfiPlatform::p6_b200;
  if (gpu.name == "b300" && has_nics(host, 16, 400)) return OfiPlatform::p6_b300;
  if (gpu.compute_capability >= 100) return OfiPlatform::newer;
  if (has_nics(host, 32, 100)) return OfiPlatform::p5;
  return gpu.name == "h200-sxm" && has_nics(host, 16, 200) ? OfiPlatform::p5en : OfiPlatform::p5_like;
}

// The values affect NCCL's choice alone: the engines have fitted times for EFA.
double ofi_latency_us(OfiPlatform platform, const NcclVersion& version) {
  if (platform == OfiPlatform::none || version < ofi_latency_since) return 0;
  // One value for all: of several, that with which NCCL chose the faster of tree and ring most often [OFI-plugin].
  if (version < ofi_instances_since) return 150;
  switch (platform) {
    case OfiPlatform::p3dn: return 150;
    case OfiPlatform::p5en:
    case OfiPlatform::p6_b200:
    case OfiPlatform::p6_b300:
    case OfiPlatform::newer: return 35;
    default: return 75;
  }
}

std::map<std::string, std::string> ofi_variables(OfiPlatform platform, const NcclVersion& version) {
  std::map<std::string, std::string> variables;
  if (platform == OfiPlatform::none || version < ofi_instances_since) return variables;
  // Earlier versions fail with NVLS on EFA.
  if (version < ofi_nvls_since) variables["NCCL_NVLS_ENABLE"] = "0";
  // LL and LL128 need data in order within 128 B, which the first generations of EFA do not guarantee.
  const bool older = platform == OfiPlatform::p3dn || platform == OfiPlatform::p4d || platform == OfiPlatform::other;
  if (older) variables["NCCL_PROTO"] = "Simple";
  if (platform == OfiPlatform::p3dn || platform == OfiPlatform::other) return variables;
  if (version >= ofi_buffers_since) {
    variables["NCCL_BUFFSIZE"] = "8388608";
    variables["NCCL_P2P_NET_CHUNKSIZE"] = "524288";
  }
  if (older || version < ofi_tree_chunk_since) return variables;
  variables["NCCL_NVLSTREE_MAX_CHUNKSIZE"] = "524288";
  if (version >= ofi_nvls_chunk_since) variables["NCCL_NVLS_CHUNKSIZE"] = "524288";
  variables["NCCL_NET_FORCE_FLUSH"] = "0";
  return variables;
}

}  // namespace fabricast
