// The tuner of the AWS OFI plugin: which polygon of the plane of bytes and ranks contains a call [OFI-plugin].
//
// A region is the area in which one algorithm and protocol is the plugin's choice; straight lines on log2 scales
// connect its corners. Corners are data of an instance type (ofi_regions_*.cpp). Where no region applies, NCCL's own
// estimate decides.
#include <algorithm>
#include <cmath>

#include "ofi_regions.hpp"

namespace fabricast {

namespace {

// Corners at 0 bytes are placed at 1 byte, below every call.
double log2_of(double value) { return value > 0 ? std::log2(value) : 0; }

/// Tolerance of rounding errors between two computations of one point.
constexpr double same_place = 1e-10;

// Whether a point lies on the segment from a to b: its distance to the nearest point of the segment is zero up to
// rounding. Points on an edge count as inside, so neighbouring regions overlap there and their order decides.
bool on_edge(const OfiPoint& p, const OfiPoint& a, const OfiPoint& b) {
  const double dx = b.bytes - a.bytes, dy = b.ranks - a.ranks, squared = dx * dx + dy * dy;
  if (squared == 0) return false;
  const double along = std::clamp(((p.bytes - a.bytes) * dx + (p.ranks - a.ranks) * dy) / squared, 0.0, 1.0);
  return std::hypot(a.bytes + along * dx - p.bytes, a.ranks + along * dy - p.ranks) < same_place;
}

}  // namespace

OfiPoint OfiCorner::point() const {
  const OfiPoint here{log2_of(bytes), log2_of(ranks)};
  if (kind == Kind::plain) return here;
  const OfiPoint from{log2_of(bytes_before), log2_of(ranks_before)};
  // The line leaves the plane either at its right border or at its top, whichever it meets first. A vertical line has
  // no slope and meets the top.
  const double right = std::log2(ofi_most_bytes), top = std::log2(ofi_most_ranks);
  const double dx = here.bytes - from.bytes, dy = here.ranks - from.ranks;
  OfiPoint end{here.bytes, top};
  if (dx != 0) {
    const double ranks_at_right = here.ranks + dy / dx * (right - here.bytes);
    end = ranks_at_right < top ? OfiPoint{right, ranks_at_right}
                               : OfiPoint{here.bytes + dx / dy * (top - here.ranks), top};
  }
  if (kind == Kind::extended_at_zero) end.bytes = 0;
  return end;
}

OfiRegion ofi_region(Algorithm algorithm, Protocol protocol, std::initializer_list<OfiCorner> border) {
  OfiRegion region{algorithm, protocol, {}};
  for (const OfiCorner& corner : border) region.border.push_back(corner.point());
  return region;
}

bool OfiRegion::contains(const OfiPoint& p) const {
  // A ray to the right of an inner point crosses the border an odd number of times.
  bool inside = false;
  for (std::size_t i = 0; i < border.size(); ++i) {
    const OfiPoint &a = border[i], &b = border[(i + 1) % border.size()];
    if (on_edge(p, a, b)) return true;
    // Half-open in ranks: a corner at the height of the ray belongs to one of its two edges only, so it is counted
    // once.
    if ((a.ranks > p.ranks) == (b.ranks > p.ranks)) continue;
    const double crossing = a.bytes + (p.ranks - a.ranks) / (b.ranks - a.ranks) * (b.bytes - a.bytes);
    if (crossing > p.bytes) inside = !inside;
  }
  return inside;
}

std::span<const OfiRegion> ofi_regions(OfiPlatform platform, CollectiveOp op, std::int64_t gpus) {
  const std::vector<OfiRegions>* all = nullptr;
  if (platform == OfiPlatform::p5) all = &ofi_regions_p5();
  if (platform == OfiPlatform::p5en) all = &ofi_regions_p5en();
  if (platform == OfiPlatform::p6_b200) all = &ofi_regions_p6_b200();
  if (platform == OfiPlatform::p6_b300) all = &ofi_regions_p6_b300();
  if (!all) return {};
  for (const OfiRegions& table : *all)
    if (table.op == op && table.gpus == gpus) return table.regions;
  return {};
}

const Candidate* ofi_choice(OfiPlatform platform, const NcclSettings& settings, CollectiveOp op, std::int64_t bytes,
                            std::int64_t nodes, std::int64_t ranks, const std::vector<Candidate>& usable) {
  constexpr std::int64_t nodes_without = 2;  // regions only cover more nodes
  const bool listed = settings.algorithms_given || settings.protocols_given;
  if (!settings.ofi_tuner || settings.version < ofi_tuner_since || nodes <= nodes_without ||
      (listed && settings.version < ofi_tuner_with_lists))
    return nullptr;
  const OfiPoint here{log2_of(static_cast<double>(bytes)), log2_of(static_cast<double>(ranks))};
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
