#include "fabricast/core/divisor.hpp"

#include <catch2/catch.hpp>

#include "fabricast/core/rng.hpp"

namespace fabricast {
namespace {

TEST_CASE("dividing by multiplying gives the same quotient and remainder") {
  Rng rng(1);
  const auto check = [](std::uint32_t n, std::uint32_t d) {
    const Divisor by = d;
    if (n / by == n / d && n % by == n % d) return true;
    UNSCOPED_INFO(n << " by " << d);
    return false;
  };
  bool right = true;
  for (std::uint32_t d = 1; d < 300; ++d)
    for (std::uint32_t n = 0; n < 1000; ++n) right &= check(n, d);
  for (int i = 0; i < 1'000'000; ++i) {
    const auto n = static_cast<std::uint32_t>(rng.next() >> (rng.next() % 32 + 32));
    const auto d = static_cast<std::uint32_t>(rng.next() >> (rng.next() % 32 + 32));
    if (d == 0) continue;
    right &= check(n, d);
    // Where rounding would show: next to multiples.
    right &= check(n / d * d, d) && check(n / d * d - 1, d) && check(0xffffffffU / d * d, d);
  }
  for (const std::uint32_t d : {1U, 2U, 3U, 0x7fffffffU, 0x80000000U, 0xfffffffeU, 0xffffffffU})
    for (const std::uint32_t n : {0U, 1U, d - 1, d, d + 1, 0xffffffffU}) right &= check(n, d);
  CHECK(right);
  CHECK(Divisor(7) + 1U == 8U);
}

}  // namespace
}  // namespace fabricast
