// Portable seeded random numbers: the same sequence on every platform and standard library.
//
// The generator is xoshiro256** [Blackman2021], seeded by splitmix64 [Steele2014]. The distributions of the standard
// library are not used, because the standard does not specify their results. Integers and uniform numbers come from
// integer arithmetic and are identical everywhere; `normal` depends on the platform's log and cos in the last bits.
//
// Free functions are pure and safe to call concurrently. An Rng has state: give each thread or task its own, with its
// own seed. Not for cryptography.
//
// To draw for many things independently of their order, derive a seed from what each thing is, not from a counter:
//
//   Rng rng(hash_of("links.infiniband-ndr.efficiency", sample));   // the same draw, whatever else is sampled
//
// The sequences are part of the forecasts: a change of the generator, of a distribution or of the number of draws per
// call changes every result that is sampled.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <string_view>
#include <utility>
#include <vector>

namespace fabricast {

/// The increment of splitmix64: 2^64 divided by the golden ratio [Steele2014].
inline constexpr std::uint64_t splitmix64_step = 0x9e3779b97f4a7c15ULL;

/// The output of splitmix64 for a state [Steele2014]. A good 64-bit mixing function on its own: a bijection, so
/// different states have different outputs, and states that differ in one bit have outputs that look unrelated.
constexpr std::uint64_t mix64(std::uint64_t x) {
  x += splitmix64_step;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

/// A 64-bit hash of a text: the same on every machine, and a different function for each seed. O(length), one
/// mix64 per byte. Not a protection against texts that are made to collide.
constexpr std::uint64_t hash_of(std::string_view text, std::uint64_t seed = 0) {
  std::uint64_t hash = mix64(seed);
  for (const char c : text) hash = mix64(hash ^ static_cast<unsigned char>(c));
  return hash;
}

/// A xoshiro256** generator. Equal seeds give equal sequences. Its period is 2^256 - 1 [Blackman2021]. Copies continue
/// independently with the same sequence.
class Rng {
 public:
  /// Every seed is good, including 0 and consecutive numbers: the state is four outputs of splitmix64.
  explicit constexpr Rng(std::uint64_t seed) {
    for (std::uint64_t& word : state_) {
      word = mix64(seed);
      seed += splitmix64_step;
    }
  }

  /// The next 64 random bits.
  constexpr std::uint64_t next() {
    const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
    const std::uint64_t t = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= t;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

  /// Uniform in [0, bound). Unbiased: numbers beyond the largest multiple of `bound` are rejected. So the number of
  /// draws varies: fewer than two on average, and one almost always if `bound` is small against 2^64.
  /// \pre bound > 0
  constexpr std::uint64_t below(std::uint64_t bound) {
    const std::uint64_t limit = bound * (UINT64_MAX / bound);
    std::uint64_t x = next();
    while (x >= limit) x = next();
    return x % bound;
  }

  /// Uniform in [0, 1), with 53 random bits.
  constexpr double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }
  /// Uniform from `low` to `high`. The sum is rounded, so `high` itself can occur, though rarely: from 1 to 2 once in
  /// 2^53.
  constexpr double uniform(double low, double high) { return low + (high - low) * uniform(); }
  /// Standard normal, by the cosine branch of [BoxMuller1958]. Consumes two numbers per call. The largest magnitude is
  /// sqrt(2 x 53 ln 2) = 8.57, because a uniform number has 53 bits.
  double normal() {
    const double radius = std::sqrt(-2 * std::log(1 - uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }

 private:
  std::array<std::uint64_t, 4> state_{};
};

/// A uniformly random permutation of the items in place (Fisher-Yates). O(n); the draws depend on the number of items
/// alone, so equal generators permute lists of equal length alike.
template <class T>
void shuffle(std::vector<T>& items, Rng& rng) {
  for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[rng.below(i)]);
}

}  // namespace fabricast
