// The floor plan of a site: where racks stand, and how long a cable between two of them is. Rules and sources:
// docs/models/bill.md, floor plan.
#pragma once

#include <cstdint>
#include <vector>

#include "fabricast/scenario/site.hpp"

namespace fabricast {

/// The positions of devices. Refers to the site, which must outlive it.
class Room {
 public:
  struct Place {
    double row = 0, x = 0;   ///< m: across rows, and along a row
    std::int64_t rack = -1;  ///< number of the rack; -1: none
  };
  /// \param nodes     hosts, including standby hosts
  /// \param switches  number of switches above the leaves, of all tiers and planes
  Room(const SiteSpec& site, std::int64_t nodes, int nodes_per_rack, std::int64_t switches);

  /// Place of a host.
  Place node(std::int64_t node) const;
  /// Place of a leaf. \param middle_node  the middle one of its hosts
  Place leaf(std::int64_t middle_node) const;
  /// Place of a switch above the leaves. \param index  counts the spines, then the cores
  Place upper(std::int64_t index) const;
  /// The middle of the room, where management hosts stand.
  Place middle() const;
  /// Length of a cable between two places: over the tray at right angles, with slack.
  Metres length(const Place& a, const Place& b) const;

  std::int64_t node_racks() const { return node_racks_; }
  std::int64_t upper_racks() const { return upper_racks_; }
  std::int64_t racks_per_row() const { return per_row_; }
  std::int64_t rows() const { return node_rows_ + upper_rows_; }

 private:
  double row_at(std::int64_t node_row) const;
  const SiteSpec& site_;
  std::int64_t nodes_per_rack_, node_racks_, upper_racks_, per_row_, node_rows_, upper_rows_;
};

/// Cables of one tier, counted by length class.
struct CableTally {
  struct Class {
    std::int64_t count = 0;
    double metres = 0;
  };
  std::vector<Class> classes;  ///< as the classes of the site; the last one counts cables that are too long for any
  Metres longest{0};
  explicit CableTally(const SiteSpec& site) : classes(site.cables.size() + 1) {}
  /// Adds cables of one length.
  void add(const SiteSpec& site, Metres length, std::int64_t count);
  /// Number of cables that are too long for any class.
  std::int64_t unreached() const { return classes.back().count; }
};

}  // namespace fabricast
