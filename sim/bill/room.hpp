// Where racks stand, and how long a cable between two of them is (docs/models/bill.md, floor plan).
#pragma once

#include <cstdint>
#include <vector>

#include "fabricast/scenario/site.hpp"

namespace fabricast {

class Room {
 public:
  struct Place {
    double row = 0, x = 0;   ///< m
    std::int64_t rack = -1;  ///< devices of one rack have one number
  };
  /// \param switches  of the tiers above the leaves, all of them
  Room(const SiteSpec& site, std::int64_t nodes, int nodes_per_rack, std::int64_t switches);

  Place node(std::int64_t node) const;
  /// Of a leaf whose nodes have this one in their middle.
  Place leaf(std::int64_t middle_node) const;
  /// Of the spines and then the cores, numbered through.
  Place upper(std::int64_t index) const;
  Place middle() const;
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

/// Cables of one tier by class.
struct CableTally {
  struct Class {
    std::int64_t count = 0;
    double metres = 0;
  };
  std::vector<Class> classes;  ///< by class of the site
  Metres longest{0};
  explicit CableTally(const SiteSpec& site) : classes(site.cables.size() + 1) {}
  /// The last class is of those that no class reaches.
  void add(const SiteSpec& site, Metres length, std::int64_t count);
  std::int64_t unreached() const { return classes.back().count; }
};

}  // namespace fabricast
