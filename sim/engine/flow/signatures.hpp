// Signatures: which links look alike to every channel, found without comparing them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "loads.hpp"

namespace fabricast {

/// Resources of the same kind and with the same history of (channel, count) share an id. Counts are whole numbers of
/// some unit, so which resources share one does not depend on the order in which connections were counted.
class Signatures {
 public:
  /// \param kind  resources of different kinds never share an id
  std::uint32_t root(std::uint64_t kind) {
    const auto [it, fresh] = roots_.try_emplace(kind, size());
    if (fresh) entries_.push_back({no_group, 0, 0});
    return it->second;
  }

  /// The signature `parent` after `count` more uses by `channel`. Channels come one after the other.
  std::uint32_t child(std::uint32_t parent, std::uint32_t channel, std::uint64_t count) {
    if (count >= small_counts) return find_or_add(parent, channel, count);
    const std::size_t slot = parent * small_counts + count;
    if (slot >= recent_.size()) recent_.resize(std::max<std::size_t>(1024, 2 * slot), {no_group, no_group});
    if (recent_[slot].channel != channel) {
      const std::uint32_t id = find_or_add(parent, channel, count);
      recent_[slot] = {channel, id};
    }
    return recent_[slot].id;
  }

  /// Calls use(channel, count) for the history of a signature, the last channel first.
  template <class Use>
  void for_each(std::uint32_t id, Use use) const {
    for (; entries_[id].parent != no_group; id = entries_[id].parent) use(entries_[id].channel, entries_[id].count);
  }
  std::uint32_t size() const { return static_cast<std::uint32_t>(entries_.size()); }

 private:
  struct Entry {
    std::uint32_t parent, channel;
    std::uint64_t count;
  };
  struct Key {
    std::uint32_t parent, channel;
    std::uint64_t count;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& k) const {
      return (k.count * 0x9e3779b97f4a7c15ULL) ^ ((std::uint64_t{k.parent} << 8 | k.channel) * 0xbf58476d1ce4e5b9ULL);
    }
  };
  struct Recent {
    std::uint32_t channel, id;
  };
  static constexpr std::uint64_t small_counts = 16;

  std::uint32_t find_or_add(std::uint32_t parent, std::uint32_t channel, std::uint64_t count) {
    const auto [it, fresh] = children_.try_emplace(Key{parent, channel, count}, size());
    if (fresh) entries_.push_back({parent, channel, count});
    return it->second;
  }

  std::vector<Entry> entries_;
  std::unordered_map<std::uint64_t, std::uint32_t> roots_;
  std::unordered_map<Key, std::uint32_t, KeyHash> children_;
  std::vector<Recent> recent_;
};

}  // namespace fabricast
