// Fast division by an invariant 32-bit number: two multiplications instead of a division [Lemire2019].
//
// Routing divides port, leaf and spine numbers by the same few dimensions of a Clos network for every hop of every flow
// (fabric/clos.hpp), where a hardware division would dominate. n / d is the upper half of the 128-bit product of n and
// ceil(2^64 / d), which is exact for every 32-bit n.
//
// A Divisor is an immutable value; safe to use concurrently.
#pragma once

#include <cstdint>

namespace fabricast {

/// A 32-bit divisor with its precomputed reciprocal. It converts to and from its number implicitly, so it can replace
/// a `std::uint32_t` without changes at the place of use.
class Divisor {
 public:
  /// 0 may be stored, as a dimension that does not exist; only dividing by it is wrong.
  constexpr Divisor(std::uint32_t d) : d_(d), inverse_(d > 1 ? ~std::uint64_t{0} / d + 1 : 0) {}
  constexpr operator std::uint32_t() const { return d_; }

  /// The quotient, rounded down.
  /// \pre the divisor is not 0
  friend constexpr std::uint32_t operator/(std::uint32_t n, Divisor by) {
    if (by.d_ == 1) return n;  // 2^64 does not fit in the reciprocal
    const std::uint64_t high = (by.inverse_ >> 32) * n, low = (by.inverse_ & 0xFFFFFFFFU) * n;
    return static_cast<std::uint32_t>((high + (low >> 32)) >> 32);
  }

  /// The remainder.
  /// \pre the divisor is not 0
  friend constexpr std::uint32_t operator%(std::uint32_t n, Divisor by) { return n - n / by * by.d_; }

 private:
  std::uint32_t d_;
  std::uint64_t inverse_;  ///< 2^64 / d, rounded up; 0 for d <= 1
};

}  // namespace fabricast
