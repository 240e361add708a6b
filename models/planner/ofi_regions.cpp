// Reads the regions of the OFI plugin's tuner, and tells which points lie in one.
//
// The data name instance types; each has a list of operations with a number of GPUs per node. A corner is [bytes,
// ranks]. Borders that leave the plane end in one of two other corners:
//
//   {"edge": [A, B]}          where the line from A through B meets the right or upper border of the plane
//   {"edge_at_zero": [A, B]}  at 0 bytes, with the ranks of that point
//
// A region of three corners whose first and last are equal is a segment: it holds for exactly one number of ranks. The
// data file is part of the binary, so an invalid entry is an internal error.
#include "ofi_regions.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>

#include "embedded_planner.hpp"
#include "fabricast/core/error.hpp"

namespace fabricast {

namespace {

using nlohmann::json;

/// Limits of the plane in bytes and ranks.
constexpr double most_bytes = 100.0 * (1 << 30), most_ranks = 1 << 20;

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

// The line leaves the plane either at its right border or at its top, whichever it meets first. A vertical line has no
// slope and meets the top.
OfiPoint leaves_plane(const OfiPoint& from, const OfiPoint& through) {
  const double right = std::log2(most_bytes), top = std::log2(most_ranks);
  const double dx = through.bytes - from.bytes, dy = through.ranks - from.ranks;
  if (dx == 0) return {through.bytes, top};
  const double ranks_at_right = through.ranks + dy / dx * (right - through.bytes);
  if (ranks_at_right < top) return {right, ranks_at_right};
  return {through.bytes + dx / dy * (top - through.ranks), top};
}

OfiPoint corner_of(const json& j) {
  if (j.is_array()) return ofi_point(j.at(0), j.at(1));
  const bool at_zero = j.contains("edge_at_zero");
  const json& line = j.at(at_zero ? "edge_at_zero" : "edge");
  const OfiPoint end = leaves_plane(corner_of(line.at(0)), corner_of(line.at(1)));
  return at_zero ? OfiPoint{0, end.ranks} : end;
}

template <class E>
E named(const json& j, const char* key) {
  const auto word = j.at(key).get<std::string>();
  const auto found = enum_from<E>(word);
  if (!found) throw InternalError("ofi_regions.json: unknown " + std::string(key) + " " + word);
  return *found;
}

constexpr std::array platforms{std::pair{"p5", OfiPlatform::p5}, std::pair{"p5en", OfiPlatform::p5en},
                               std::pair{"p6_b200", OfiPlatform::p6_b200}, std::pair{"p6_b300", OfiPlatform::p6_b300}};

using Regions = std::map<std::tuple<OfiPlatform, CollectiveOp, std::int64_t>, std::vector<OfiRegion>>;

Regions read() {
  const json all = json::parse(embedded_planner("ofi_regions.json"));
  Regions regions;
  for (const auto& [name, platform] : platforms)
    for (const json& table : all.at(name)) {
      auto& list = regions[{platform, named<CollectiveOp>(table, "op"), table.at("gpus").get<std::int64_t>()}];
      for (const json& j : table.at("regions")) {
        OfiRegion region{named<Algorithm>(j, "algorithm"), named<Protocol>(j, "protocol"), {}};
        for (const json& corner : j.at("corners")) region.border.push_back(corner_of(corner));
        list.push_back(std::move(region));
      }
    }
  return regions;
}

}  // namespace

OfiPoint ofi_point(double bytes, double ranks) {
  const auto log2_of = [](double value) { return value > 0 ? std::log2(value) : 0; };
  return {log2_of(bytes), log2_of(ranks)};
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
  // Most clusters are not on EFA, and need not wait until the data are read.
  if (std::none_of(platforms.begin(), platforms.end(), [&](const auto& p) { return p.second == platform; })) return {};
  static const Regions regions = read();
  const auto found = regions.find({platform, op, gpus});
  if (found == regions.end()) return {};
  return found->second;
}

}  // namespace fabricast
