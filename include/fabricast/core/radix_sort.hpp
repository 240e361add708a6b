// Radix sort by a 32-bit key, for lists of millions of items with mostly different keys.
//
// Each pass distributes the items by up to 11 bits of the key, least significant first, so n items take at most
// 3 n moves instead of n log n comparisons. Short lists and sorted lists take the comparison sort or return at once.
// A second list of the same length is allocated. The result is that of std::stable_sort, so it does not depend on which
// way was taken.
//
//   radix_sort(uses, [](const LinkUse& u) { return u.link; });
//
// Safe to call concurrently on different lists.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <numeric>
#include <vector>

namespace fabricast {

/// Sorts items by key in ascending order; items with equal keys keep their order.
/// Cost: O(n) for n >= 512, with one read of all keys to find the bits in use and two reads per pass. Keys below 2^11
/// need one pass and keys below 2^22 two.
/// \param key  a function from an item to its key, at most 32 bits, unsigned. It is called several times per item, so
///             it should only read a member
/// \pre items can be default-constructed and copied; equal items have equal keys at every call
template <class Item, class Key>
void radix_sort(std::vector<Item>& items, Key key) {
  const auto less = [&](const Item& a, const Item& b) { return key(a) < key(b); };
  if (std::is_sorted(items.begin(), items.end(), less)) return;
  constexpr std::size_t few = 512;  // clearing the counters of a pass costs more than comparing
  if (items.size() < few) {
    std::stable_sort(items.begin(), items.end(), less);
    return;
  }
  std::uint32_t all = 0;
  for (const Item& item : items) all |= key(item);
  constexpr int most_bits = 11;  // 32 bits in three passes, with counters of 16 KiB
  const int bits = std::bit_width(all);
  const int digits = (bits + most_bits - 1) / most_bits;
  const int width = (bits + digits - 1) / digits;
  std::vector<Item> sorted(items.size());
  std::array<std::size_t, std::size_t{1} << most_bits> next{};
  for (int shift = 0; shift < bits; shift += width) {
    const auto digit = [&](const Item& item) { return key(item) >> shift & ((1U << width) - 1); };
    next.fill(0);
    for (const Item& item : items) ++next[digit(item)];
    std::exclusive_scan(next.begin(), next.end(), next.begin(), std::size_t{0});
    for (const Item& item : items) sorted[next[digit(item)]++] = item;
    items.swap(sorted);
  }
}

}  // namespace fabricast
