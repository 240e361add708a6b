// How often one channel crosses each resource: a list while it is short, as for a group of a few nodes, then an array
// over all resources.
//
// On a small fabric the array replaces the list early, because sorting the list of an alltoall took twice as long as
// counting it. On a large fabric it does so when the list has as many entries as the array.
#pragma once

#include <utility>
#include <vector>

#include "crossing_list.hpp"

namespace fabricast {

class ChannelCount {
 public:
  ChannelCount(std::uint32_t resources, std::uint32_t channel)
      : resources_(resources), channel_(channel), longest_(resources <= small ? resources / 16 : resources) {}

  void add(std::uint32_t resource, std::uint64_t count) {
    if (!counts_.empty()) {
      counts_[resource] += count;
      return;
    }
    list_.add(resource, channel_, count);
    if (list_.size() > longest_) fill_array();
  }
  bool is_array() const { return !counts_.empty(); }
  /// \pre is_array()
  std::uint64_t at(std::uint32_t resource) const { return counts_[resource]; }
  /// The counts as a list. They are moved out.
  CrossingList list() {
    for (std::uint32_t r = 0; r < counts_.size(); ++r)
      if (counts_[r] > 0) list_.add(r, channel_, counts_[r]);
    counts_.clear();
    return std::move(list_);
  }

 private:
  void fill_array() {
    counts_.resize(resources_);
    for (const Crossing& c : std::exchange(list_, {})) counts_[c.resource()] += c.count();
  }

  // An array of 1 MiB stays in the processor's cache.
  static constexpr std::uint32_t small = 1 << 17;
  std::uint32_t resources_, channel_;
  std::size_t longest_;
  CrossingList list_;
  std::vector<std::uint64_t> counts_;  ///< by resource
};

}  // namespace fabricast
