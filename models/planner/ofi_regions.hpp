// The regions by which the OFI plugin's tuner chooses [OFI-plugin].
#pragma once

#include <span>
#include <vector>

#include "fabricast/planner/ofi_plugin.hpp"

namespace fabricast {

/// A place in the plane of a region, on a scale of log2.
struct OfiPoint {
  double bytes = 0, ranks = 0;
};

/// Up to this many bytes and ranks regions reach.
inline constexpr double ofi_most_bytes = 100.0 * (1 << 30), ofi_most_ranks = 1 << 20;

/// A corner in bytes and ranks. An extended one lies where the line from `before` through it meets the border of the
/// plane; at_zero is at the same number of ranks, and 0 bytes.
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

struct OfiRegion {
  Algorithm algorithm;
  Protocol protocol;
  std::vector<OfiPoint> border;  ///< closed, corner by corner
  /// On the border is inside.
  bool contains(const OfiPoint& point) const;
};
OfiRegion ofi_region(Algorithm algorithm, Protocol protocol, std::initializer_list<OfiCorner> border);

/// The regions of one operation and number of GPUs in a node; the first that holds a point counts.
struct OfiRegions {
  CollectiveOp op;
  int gpus;
  std::vector<OfiRegion> regions;
};
const std::vector<OfiRegions>& ofi_regions_p5();
const std::vector<OfiRegions>& ofi_regions_p5en();
const std::vector<OfiRegions>& ofi_regions_p6_b200();
const std::vector<OfiRegions>& ofi_regions_p6_b300();

/// Empty where the tuner has none.
std::span<const OfiRegion> ofi_regions(OfiPlatform platform, CollectiveOp op, std::int64_t gpus);

/// What the tables of regions are written in.
namespace ofi_words {
using enum Algorithm;
inline constexpr Protocol ll = Protocol::ll, ll128 = Protocol::ll128, simple = Protocol::simple;
inline constexpr double most_bytes = ofi_most_bytes, most_ranks = ofi_most_ranks;
}  // namespace ofi_words

}  // namespace fabricast
