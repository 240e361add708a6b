// The generators against the reference outputs of their authors.
#include "fabricast/core/rng.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>

namespace fabricast {
namespace {

TEST_CASE("splitmix64 [Steele2014]", "[core]") {
  std::uint64_t state = 1234567;
  for (const std::uint64_t expected : {6457827717110365317ULL, 3203168211198807973ULL, 9817491932198370423ULL,
                                       4593380528125082431ULL, 16408922859458223821ULL}) {
    CHECK(mix64(state) == expected);
    state += splitmix64_step;
  }
}

TEST_CASE("xoshiro256** seeded by splitmix64 [Blackman2021]", "[core]") {
  Rng rng(0);
  for (const std::uint64_t expected : {0x99ec5f36cb75f2b4ULL, 0xbf6e1f784956452aULL, 0x1a5f849d4933e6e0ULL,
                                       0x6aa594f1262d2d2cULL, 0xbba5ad4a1f842e59ULL})
    CHECK(rng.next() == expected);
}

TEST_CASE("numbers below a bound are uniform", "[core]") {
  Rng rng(5);
  std::array<int, 7> count{};
  for (int i = 0; i < 70'000; ++i) ++count[rng.below(7)];
  double chi2 = 0;
  for (const int c : count) chi2 += (c - 1e4) * (c - 1e4) / 1e4;
  CHECK(chi2 < 6 + 5 * 3.5);  // six degrees of freedom, five deviations
  // A bound that cuts the range of 64 bits badly: without rejection the lower half would come up twice as often.
  const std::uint64_t bound = (std::uint64_t{1} << 63) + (std::uint64_t{1} << 62);
  int lower = 0;
  for (int i = 0; i < 30'000; ++i) lower += rng.below(bound) < bound / 3;
  CHECK(lower == Approx(10'000).margin(5 * 82));
  CHECK(rng.below(1) == 0);
}

TEST_CASE("uniform numbers lie in [0, 1)", "[core]") {
  Rng rng(6);
  double sum = 0;
  for (int i = 0; i < 100'000; ++i) {
    const double x = rng.uniform();
    REQUIRE((x >= 0 && x < 1));
    sum += x;
  }
  CHECK(sum / 1e5 == Approx(.5).margin(5 * .2887 / 316));
  for (int i = 0; i < 1000; ++i) {
    const double x = rng.uniform(-3, 5);
    REQUIRE((x >= -3 && x < 5));
  }
}

TEST_CASE("a shuffle is a permutation, and all are equally likely", "[core]") {
  Rng rng(8);
  std::array<std::array<int, 4>, 4> at{};  // how often i ends at j
  for (int round = 0; round < 24'000; ++round) {
    std::vector<int> items{0, 1, 2, 3};
    shuffle(items, rng);
    std::vector<int> sorted = items;
    std::sort(sorted.begin(), sorted.end());
    REQUIRE(sorted == std::vector<int>{0, 1, 2, 3});
    for (std::size_t j = 0; j < 4; ++j) ++at[static_cast<std::size_t>(items[j])][j];
  }
  for (const auto& row : at)
    for (const int count : row) CHECK(count == Approx(6000).margin(5 * 67));
}

}  // namespace
}  // namespace fabricast
