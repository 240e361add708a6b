// The regions by which the OFI plugin's tuner chooses [OFI-plugin]: polygons in the plane of log2(bytes) and
// log2(ranks). Their corners are data (data/ofi_regions.json), read once.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "fabricast/planner/ofi_plugin.hpp"

namespace fabricast {

/// A point of the plane; both coordinates are log2.
struct OfiPoint {
  double bytes = 0, ranks = 0;
};
/// The point of a call. 0 bytes are placed at 1 byte, below every call.
OfiPoint ofi_point(double bytes, double ranks);

/// A polygon and the choice inside it.
struct OfiRegion {
  Algorithm algorithm = Algorithm::ring;
  Protocol protocol = Protocol::simple;
  std::vector<OfiPoint> border;  ///< corners in order; the last connects to the first
  /// Whether a point is inside or on the border.
  bool contains(const OfiPoint& point) const;
};

/// The regions of an instance type, operation and number of GPUs per node, in the order in which the tuner tries them.
/// Empty if it has none. Thread-safe.
std::span<const OfiRegion> ofi_regions(OfiPlatform platform, CollectiveOp op, std::int64_t gpus);

}  // namespace fabricast
