// Where racks stand and how long cables are (docs/models/bill.md, floor plan). All of it is a stated guess, with a key
// of the site for every number; only classes of lengths matter for the bill, not single metres.
#include "room.hpp"

#include <algorithm>
#include <cmath>

#include "fabricast/core/units.hpp"

namespace fabricast {

Room::Room(const SiteSpec& site, std::int64_t nodes, int nodes_per_rack, std::int64_t switches)
    : site_(site), nodes_per_rack_(nodes_per_rack) {
  node_racks_ = ceil_div(nodes, nodes_per_rack);
  upper_racks_ = ceil_div(switches, site.switches_per_rack);
  const double racks = static_cast<double>(node_racks_ + upper_racks_);
  // About square: n racks at pitch x in rows at pitch y take sqrt(n y / x) racks per row.
  per_row_ =
      site.racks_per_row > 0
          ? site.racks_per_row
          : std::max<std::int64_t>(1, std::llround(std::sqrt(racks * site.row_pitch.value / site.rack_pitch.value)));
  node_rows_ = ceil_div(node_racks_, per_row_);
  upper_rows_ = ceil_div(upper_racks_, per_row_);
}

/// Rows of spines and cores stand between the two halves of the rows of nodes.
double Room::row_at(std::int64_t node_row) const {
  const std::int64_t row = node_row < node_rows_ / 2 ? node_row : node_row + upper_rows_;
  return static_cast<double>(row) * site_.row_pitch.value;
}

Room::Place Room::node(std::int64_t node) const {
  const std::int64_t rack = node / nodes_per_rack_;
  return {row_at(rack / per_row_), (static_cast<double>(rack % per_row_) + 0.5) * site_.rack_pitch.value, rack};
}

// The middle host of a leaf keeps the longest of its cables short.
Room::Place Room::leaf(std::int64_t middle_node) const {
  Place place = node(middle_node);
  if (site_.leaves == LeafPlace::node_rack) return place;
  const double row = static_cast<double>(per_row_) * site_.rack_pitch.value;
  place.x = site_.leaves == LeafPlace::row_end ? row : row / 2;
  // Each row has a separate rack for leaves, numbered after the racks of nodes and upper switches.
  place.rack = node_racks_ + upper_racks_ + middle_node / nodes_per_rack_ / per_row_;
  return place;
}

Room::Place Room::upper(std::int64_t index) const {
  const std::int64_t rack = index / site_.switches_per_rack, row = rack / per_row_;
  // A row that is not full is centred.
  const std::int64_t in_row = std::min(per_row_, upper_racks_ - row * per_row_);
  const double from = static_cast<double>(per_row_ - in_row) / 2 + static_cast<double>(rack % per_row_) + 0.5;
  const std::int64_t middle_row = node_rows_ / 2 + row;
  return {static_cast<double>(middle_row) * site_.row_pitch.value, from * site_.rack_pitch.value, node_racks_ + rack};
}

Room::Place Room::middle() const {
  const double row = std::max(0.0, static_cast<double>(rows() - 1) / 2);
  return {row * site_.row_pitch.value, static_cast<double>(per_row_) * site_.rack_pitch.value / 2, -1};
}

Metres Room::length(const Place& a, const Place& b) const {
  // Over the tray, along the row and across rows: never diagonally. Two places without a rack number are never in one
  // rack.
  const double plain = a.rack == b.rack && a.rack >= 0
                           ? site_.in_rack.value
                           : 2 * site_.riser.value + std::abs(a.row - b.row) + std::abs(a.x - b.x);
  return {plain * (1 + site_.slack.value)};
}

// Classes are sorted by length, and a cable takes the first that reaches; beyond all of them is the last counter.
void CableTally::add(const SiteSpec& site, Metres length, std::int64_t count) {
  std::size_t c = 0;
  while (c < site.cables.size() && length > site.cables[c].up_to) ++c;
  classes[c].count += count;
  classes[c].metres += static_cast<double>(count) * length.value;
  longest = std::max(longest, length);
}

}  // namespace fabricast
