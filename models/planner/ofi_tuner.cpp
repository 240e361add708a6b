// The tuner of the AWS OFI plugin: which polygon of the plane of bytes and ranks contains a call [OFI-plugin].
//
// A region is the area in which one algorithm and protocol is the plugin's choice; straight lines on log2 scales
// connect its corners (ofi_regions.hpp). Where no region applies, NCCL's own estimate decides.
#include <algorithm>

#include "ofi_regions.hpp"

namespace fabricast {

const Candidate* ofi_choice(OfiPlatform platform, const NcclSettings& settings, CollectiveOp op, std::int64_t bytes,
                            std::int64_t nodes, std::int64_t ranks, const std::vector<Candidate>& usable) {
  constexpr std::int64_t nodes_without = 2;  // regions only cover more nodes
  const bool listed = settings.algorithms_given || settings.protocols_given;
  if (!settings.ofi_tuner || settings.version < ofi_tuner_since || nodes <= nodes_without ||
      (listed && settings.version < ofi_tuner_with_lists))
    return nullptr;
  const OfiPoint here = ofi_point(static_cast<double>(bytes), static_cast<double>(ranks));
  for (const OfiRegion& region : ofi_regions(platform, op, ranks / nodes)) {
    // The plugin lowers the cost of an entry of NCCL's table. If NCCL has disabled the entry, the next region that
    // contains the call applies.
    const auto row = std::find_if(usable.begin(), usable.end(), [&](const Candidate& c) {
      return c.algorithm == region.algorithm && c.protocol == region.protocol;
    });
    if (row != usable.end() && region.contains(here)) return &*row;
  }
  return nullptr;
}

}  // namespace fabricast
