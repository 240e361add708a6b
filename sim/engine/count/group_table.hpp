// Groups of links by kind and by what crosses them.
//
//   group of l = group of k   if   kind(l) = kind(k)  and  row(l) = row(k)          rows: channel_planes.hpp
//
// Open addressing in one array. An entry holds everything that a search compares, so a search waits for memory once,
// and the entry can be prefetched. Finding links that are alike takes a large share of the time of counting for a
// million GPUs (docs/benchmarks.md).
#pragma once

#include <utility>
#include <vector>

#include "channel_planes.hpp"
#include "loads.hpp"
#include "row_numbers.hpp"

namespace fabricast {

/// \tparam W  words of a row of counts
template <std::size_t W>
class GroupTable {
 public:
  struct Entry {
    CountRow<W> counts{};
    std::uint64_t kind = 0;
    std::uint32_t group = no_group, members = 0;
  };
  GroupTable() : entries_(1024) {}

  static std::uint64_t hash_of(const CountRow<W>& counts, std::uint64_t kind) {
    std::uint64_t hash = kind;
    for (const std::uint64_t word : counts) hash = hash_on(hash, word);
    return hash_end(hash);
  }
  /// Prefetches the entry that a search for this hash reads first.
  void expect(std::uint64_t hash) const { __builtin_prefetch(&entries_[hash & (entries_.size() - 1)]); }
  /// The entry of such links. A new one has no group. Valid until the next search.
  Entry& find_or_add(std::uint64_t hash, const CountRow<W>& counts, std::uint64_t kind) {
    Entry* entry = &find(hash, counts, kind);
    if (entry->group == no_group && 2 * ++used_ > entries_.size()) {
      grow();
      entry = &find(hash, counts, kind);
    }
    entry->counts = counts;
    entry->kind = kind;
    return *entry;
  }
  /// Calls use(entry) for all entries, in unspecified order.
  template <class Use>
  void for_each(Use use) const {
    for (const Entry& entry : entries_)
      if (entry.group != no_group) use(entry);
  }

 private:
  Entry& find(std::uint64_t hash, const CountRow<W>& counts, std::uint64_t kind) {
    std::size_t i = hash & (entries_.size() - 1);
    while (entries_[i].group != no_group && (entries_[i].kind != kind || entries_[i].counts != counts))
      i = (i + 1) & (entries_.size() - 1);
    return entries_[i];
  }
  void grow() {
    const std::vector<Entry> old = std::exchange(entries_, std::vector<Entry>(4 * entries_.size()));
    for (const Entry& entry : old)
      if (entry.group != no_group) find(hash_of(entry.counts, entry.kind), entry.counts, entry.kind) = entry;
  }

  std::vector<Entry> entries_;  ///< open addressing, at most half full; those without a group are free
  std::size_t used_ = 0;
};

}  // namespace fabricast
