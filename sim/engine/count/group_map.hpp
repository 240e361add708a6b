// The group of links that a resource belongs to: an array over all resources of a fabric, or a list of those in a
// group.
//
// An entry of the array has four bytes. An entry of the list has eight, and finding it costs more. But a group of a few
// nodes crosses few links of a large fabric, and each of thousands of such groups would fill an array over all links.
// So the list is used if fewer than a sixteenth of the resources are expected in it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "loads.hpp"

namespace fabricast {

class GroupMap {
 public:
  GroupMap() = default;
  /// \param expected  approximate number of resources that will be in a group
  GroupMap(std::uint32_t resources, std::size_t expected) : resources_(resources) {
    if (fills_array(resources, expected)) all_.assign(resources, no_group);
  }
  /// Whether this many are better in an array over all resources.
  static bool fills_array(std::uint32_t resources, std::size_t expected) { return expected >= resources / 16; }

  /// \pre resources come in ascending order, each once
  void put(std::uint32_t resource, std::uint32_t group) {
    if (!all_.empty())
      all_[resource] = group;
    else
      some_.push_back({resource, group});
  }
  /// Ends the filling. A search then visits a single block, which holds about one resource of the list.
  void close() {
    if (some_.empty()) return;
    while ((resources_ >> shift_) > some_.size()) ++shift_;
    first_.assign((resources_ >> shift_) + 2, static_cast<std::uint32_t>(some_.size()));
    std::uint32_t block = 0;
    for (std::uint32_t i = 0; i < some_.size(); ++i)
      for (; block <= some_[i].resource >> shift_; ++block) first_[block] = i;
  }

  /// The group of a resource; no_group: it has none. \pre closed
  std::uint32_t find(std::uint32_t resource) const {
    if (!all_.empty()) return all_[resource];
    if (some_.empty()) return no_group;
    const std::uint32_t block = resource >> shift_;
    const auto last = some_.begin() + first_[block + 1];
    const auto it = std::lower_bound(some_.begin() + first_[block], last, resource,
                                     [](const Entry& e, std::uint32_t r) { return e.resource < r; });
    return it != last && it->resource == resource ? it->group : no_group;
  }
  /// Calls use(resource, group) for the resources that have a group, in ascending order.
  template <class Use>
  void for_each(Use use) const {
    for (std::uint32_t r = 0; r < all_.size(); ++r)
      if (all_[r] != no_group) use(r, all_[r]);
    for (const Entry& e : some_) use(e.resource, e.group);
  }

 private:
  struct Entry {
    std::uint32_t resource, group;
  };
  std::uint32_t resources_ = 0;
  std::vector<std::uint32_t> all_;    ///< by resource; empty: the list is used
  std::vector<Entry> some_;           ///< in ascending order
  int shift_ = 0;                     ///< blocks of 2^shift resources hold about one entry of the list
  std::vector<std::uint32_t> first_;  ///< first entry of each block in the list; then the end
};

}  // namespace fabricast
