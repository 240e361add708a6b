#include "fabricast/core/radix_sort.hpp"

#include <catch2/catch.hpp>
#include <utility>

#include "fabricast/core/rng.hpp"

namespace fabricast {
namespace {

TEST_CASE("radix sort is stable") {
  using Item = std::pair<std::uint32_t, std::uint32_t>;  // key, then where it was
  const auto key = [](const Item& item) { return item.first; };
  Rng rng(1);
  for (const std::uint32_t most : {1U, 2U, 1000U, 2047U, 2048U, 6'300'000U, 0xffffffffU})
    for (const std::uint32_t count : {0U, 1U, 10U, 511U, 512U, 20'000U}) {
      CAPTURE(most, count);
      std::vector<Item> items;
      for (std::uint32_t i = 0; i < count; ++i) items.emplace_back(static_cast<std::uint32_t>(rng.next() % most), i);
      std::vector<Item> expected = items;
      std::sort(expected.begin(), expected.end());
      radix_sort(items, key);
      CHECK(items == expected);
      radix_sort(items, key);
      CHECK(items == expected);
    }
}

}  // namespace
}  // namespace fabricast
