// Slots for the resources that somebody uses: an array over all of them, or a hash table where few are used.
//
// A fabric for a million GPUs has millions of links. A group of some nodes crosses thousands: arrays over all links
// would cost it more than what it does with them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace fabricast {

class ResourceSlots {
 public:
  /// \param expected  about how many will be used
  ResourceSlots(std::uint32_t resources, std::uint64_t expected) : dense_(expected >= resources / 16) {
    if (dense_)
      size_ = resources;
    else
      table_.assign(1024, {});
  }
  bool dense() const { return dense_; }
  /// All of them if dense; else those that have been asked for.
  std::uint32_t size() const { return size_; }

  std::uint32_t find_or_add(std::uint32_t resource) {
    if (dense_) return resource;
    for (std::size_t i = home(resource);; i = (i + 1) & (table_.size() - 1)) {
      Entry& e = table_[i];
      if (e.slot != none && e.resource == resource) return e.slot;
      if (e.slot != none) continue;
      e = {resource, size_++};
      resources_.push_back(resource);
      if (2 * std::size_t{size_} > table_.size()) grow();
      return size_ - 1;
    }
  }
  std::uint32_t find(std::uint32_t resource) const {
    if (dense_) return resource;
    for (std::size_t i = home(resource);; i = (i + 1) & (table_.size() - 1)) {
      const Entry& e = table_[i];
      if (e.slot == none || e.resource == resource) return e.slot;
    }
  }
  /// Calls use(slot, resource) by rising resource.
  template <class Use>
  void for_each(Use use) const {
    if (dense_) {
      for (std::uint32_t r = 0; r < size_; ++r) use(r, r);
      return;
    }
    std::vector<std::uint64_t> order;
    for (std::uint32_t slot = 0; slot < size_; ++slot) order.push_back(std::uint64_t{resources_[slot]} << 32 | slot);
    std::sort(order.begin(), order.end());
    for (const std::uint64_t o : order) use(static_cast<std::uint32_t>(o), static_cast<std::uint32_t>(o >> 32));
  }

  static constexpr std::uint32_t none = 0xffffffff;

 private:
  struct Entry {
    std::uint32_t resource = 0, slot = none;
  };
  std::size_t home(std::uint32_t resource) const {
    return static_cast<std::size_t>((resource * 0x9e3779b97f4a7c15ULL) >> 32) & (table_.size() - 1);
  }
  void grow() {
    table_.assign(4 * table_.size(), {});
    for (std::uint32_t slot = 0; slot < size_; ++slot) {
      std::size_t i = home(resources_[slot]);
      while (table_[i].slot != none) i = (i + 1) & (table_.size() - 1);
      table_[i] = {resources_[slot], slot};
    }
  }

  bool dense_;
  std::uint32_t size_ = 0;
  std::vector<Entry> table_;              ///< open addressing; at most half full
  std::vector<std::uint32_t> resources_;  ///< by slot
};

}  // namespace fabricast
