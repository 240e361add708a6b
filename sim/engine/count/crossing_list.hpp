// How often channels cross resources, as a list: for groups that cross few of a large fabric's links, and for counts
// that do not fit in bytes. For a group of a few nodes on a fabric for a million GPUs, arrays over all links would cost
// more than all other work. Hash tables by link took more memory than a list with radix sort, and twice its time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "fabricast/core/error.hpp"
#include "fabricast/core/radix_sort.hpp"

namespace fabricast {

/// How often a channel (or another numbered object) crosses a resource. Eight bytes, since there are hundreds of
/// millions of entries: the channel has 8 bits and the count 24. A larger count is split over several entries.
class Crossing {
 public:
  static constexpr std::uint32_t most_channels = 256, most = (1U << 24) - 1;
  Crossing() = default;
  Crossing(std::uint32_t resource, std::uint32_t channel, std::uint32_t count)
      : resource_(resource), rest_(channel << 24 | count) {}
  std::uint32_t resource() const { return resource_; }
  std::uint32_t channel() const { return rest_ >> 24; }
  std::uint32_t count() const { return rest_ & most; }

 private:
  std::uint32_t resource_ = 0, rest_ = 0;
};

class CrossingList {
 public:
  /// Large counts take several entries. \pre channels are added one after the other, in ascending order
  void add(std::uint32_t resource, std::uint32_t channel, std::uint64_t count) {
    FABRICAST_CHECK(channel < Crossing::most_channels, "the number of a channel has 8 bits");
    for (; count > Crossing::most; count -= Crossing::most) list_.emplace_back(resource, channel, Crossing::most);
    list_.emplace_back(resource, channel, static_cast<std::uint32_t>(count));
    if (list_.size() >= merge_at_) merge();
  }
  /// Appends the entries of a later channel.
  void append(const CrossingList& later) { list_.insert(list_.end(), later.list_.begin(), later.list_.end()); }
  void sort() {
    radix_sort(list_, [](const Crossing& c) { return c.resource(); });
  }
  std::size_t size() const { return list_.size(); }
  auto begin() const { return list_.begin(); }
  auto end() const { return list_.end(); }

  /// Calls use(resource, counts by channel) for all resources, in ascending order. \pre sorted
  template <class Use>
  void for_each(std::size_t channels, Use use) const {
    std::vector<std::uint64_t> counts(channels);
    for (std::size_t i = 0; i < list_.size();) {
      const std::uint32_t resource = list_[i].resource();
      std::fill(counts.begin(), counts.end(), 0);
      for (; i < list_.size() && list_[i].resource() == resource; ++i) counts[list_[i].channel()] += list_[i].count();
      use(resource, std::span<const std::uint64_t>(counts));
    }
  }

 private:
  /// Merges entries of the same resource and channel, so that a list stays about as long as what its channels cross.
  void merge() {
    sort();
    std::size_t kept = 0;
    for (std::size_t i = 1; i < list_.size(); ++i) {
      Crossing& to = list_[kept];
      const Crossing& from = list_[i];
      if (to.resource() == from.resource() && to.channel() == from.channel() &&
          to.count() + from.count() <= Crossing::most)
        to = {to.resource(), to.channel(), to.count() + from.count()};
      else
        list_[++kept] = from;
    }
    list_.resize(kept + 1);
    // Twice the remaining length, so that a list that does not shrink is sorted less and less often.
    merge_at_ = std::max(merge_at_, 2 * list_.size());
  }

  std::vector<Crossing> list_;
  std::size_t merge_at_ = std::size_t{1} << 22;
};

}  // namespace fabricast
