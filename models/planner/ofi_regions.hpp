// The regions by which the OFI plugin's tuner chooses [OFI-plugin]: polygons in the plane of log2(bytes) and
// log2(ranks).
#pragma once

#include <span>
#include <vector>

#include "fabricast/planner/ofi_plugin.hpp"

namespace fabricast {

/// A point of the plane; both coordinates are log2.
struct OfiPoint {
  double bytes = 0, ranks = 0;
};

/// Limits of the plane in bytes and ranks.
inline constexpr double ofi_most_bytes = 100.0 * (1 << 30), ofi_most_ranks = 1 << 20;

/// A corner in bytes and ranks. An extended corner lies where the line from the point `before` through the given point
/// meets the border of the plane. An extended_at_zero corner has the number of ranks of that intersection, and 0 bytes.
struct OfiCorner {
  enum class Kind { plain, extended, extended_at_zero };
  constexpr OfiCorner(double b, double r) : bytes(b), ranks(r) {}
  constexpr OfiCorner(OfiCorner from, OfiCorner through, Kind how = Kind::extended)
      : bytes(through.bytes), ranks(through.ranks), bytes_before(from.bytes), ranks_before(from.ranks), kind(how) {}
  OfiPoint point() const;

  double bytes, ranks;
  double bytes_before = 0, ranks_before = 0;
  Kind kind = Kind::plain;
};

/// A polygon and the choice inside it.
struct OfiRegion {
  Algorithm algorithm;
  Protocol protocol;
  std::vector<OfiPoint> border;  ///< corners in order; the last connects to the first
  /// Whether a point is inside or on the border.
  bool contains(const OfiPoint& point) const;
};
/// A region with the given corners.
OfiRegion ofi_region(Algorithm algorithm, Protocol protocol, std::initializer_list<OfiCorner> border);

/// The regions of one operation and number of GPUs per node. The first one that contains a point applies.
struct OfiRegions {
  CollectiveOp op;
  int gpus;
  std::vector<OfiRegion> regions;
};
const std::vector<OfiRegions>& ofi_regions_p5();
const std::vector<OfiRegions>& ofi_regions_p5en();
const std::vector<OfiRegions>& ofi_regions_p6_b200();
const std::vector<OfiRegions>& ofi_regions_p6_b300();

/// The regions of an instance type, operation and number of GPUs per node; empty if the tuner has none.
std::span<const OfiRegion> ofi_regions(OfiPlatform platform, CollectiveOp op, std::int64_t gpus);

/// Short names for the tables of regions.
namespace ofi_words {
using enum Algorithm;
inline constexpr Protocol ll = Protocol::ll, ll128 = Protocol::ll128, simple = Protocol::simple;
inline constexpr double most_bytes = ofi_most_bytes, most_ranks = ofi_most_ranks;
}  // namespace ofi_words

}  // namespace fabricast
