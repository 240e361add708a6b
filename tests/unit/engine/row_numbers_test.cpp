#include "sim/engine/count/row_numbers.hpp"

#include <catch2/catch.hpp>
#include <map>
#include <vector>

#include "fabricast/core/rng.hpp"

namespace fabricast {
namespace {

TEST_CASE("rows are numbered in the order in which they are first seen", "[engine]") {
  for (const std::size_t words : {1U, 2U, 16U}) {
    CAPTURE(words);
    RowNumbers<double> rows(words);
    std::map<std::vector<double>, std::uint32_t> expected;
    Rng rng(words);
    for (int i = 0; i < 20'000; ++i) {
      std::vector<double> row(words);
      for (double& x : row) x = static_cast<double>(rng.below(4)) / 2;
      const auto [it, added] = expected.try_emplace(row, static_cast<std::uint32_t>(expected.size()));
      const auto [number, fresh] = rows.find_or_add(row);
      REQUIRE(fresh == added);
      REQUIRE(number == it->second);
    }
    REQUIRE(rows.size() == expected.size());
    for (const auto& [row, number] : expected)
      CHECK(std::equal(row.begin(), row.end(), rows.of(number).begin(), rows.of(number).end()));
  }
}

TEST_CASE("small counts, stored as floating-point numbers, do not collide in the hash table", "[engine]") {
  // They differ only in the highest twelve bits.
  RowNumbers<double> rows(16);
  std::vector<std::uint32_t> at(1 << 16);
  std::uint32_t contended = 0;
  for (std::uint32_t i = 0; i < at.size(); ++i) {
    std::vector<double> row(16);
    for (std::uint32_t c = 0; c < 16; ++c) row[c] = i >> c & 1U;
    contended = std::max(contended, ++at[rows.hash_of(row) % at.size()]);
  }
  CHECK(contended < 16);  // the expected maximum of as many random hashes is about 9
}

}  // namespace
}  // namespace fabricast
