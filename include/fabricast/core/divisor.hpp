// Division by a number that is divided by again and again: two multiplications [Lemire2019].
#pragma once

#include <cstdint>

namespace fabricast {

/// A 32-bit number that others are divided by; else it is that number.
class Divisor {
 public:
  constexpr Divisor(std::uint32_t d) : d_(d), inverse_(d > 1 ? ~std::uint64_t{0} / d + 1 : 0) {}
  constexpr operator std::uint32_t() const { return d_; }

  /// \pre  it is not 0
  friend constexpr std::uint32_t operator/(std::uint32_t n, Divisor by) {
    if (by.d_ == 1) return n;
    const std::uint64_t high = (by.inverse_ >> 32) * n, low = (by.inverse_ & 0xFFFFFFFFU) * n;
    return static_cast<std::uint32_t>((high + (low >> 32)) >> 32);
  }
  friend constexpr std::uint32_t operator%(std::uint32_t n, Divisor by) { return n - n / by * by.d_; }

 private:
  std::uint32_t d_;
  std::uint64_t inverse_;  ///< 2^64 / d, rounded up
};

}  // namespace fabricast
