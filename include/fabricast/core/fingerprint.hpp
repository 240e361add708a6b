// Fingerprint of a text: 64-bit FNV-1a [FNV-1a], written as 16 hexadecimal digits in lower case.
//
// It tells versions of a file apart, and shows accidental changes. It does not protect against intent. The writer of a
// tuner profile (sim/cli/export.cpp) and its reader (models/planner/tuner_profile.cpp, for the plugin) both use it: the
// name of the file carries the fingerprint of its content. So the function must not change while such files are in use.
//
// Two of n different texts share a fingerprint by chance with a probability of about n^2 / 2^65.
//
// Pure functions; safe to call concurrently.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace fabricast {

/// FNV-1a of the bytes: multiplications modulo 2^64, so the same on every machine. That of no bytes is the offset
/// basis. O(length).
constexpr std::uint64_t fnv1a(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : bytes) {
    hash ^= static_cast<unsigned char>(byte);
    hash *= 0x100000001b3;
  }
  return hash;
}

/// 16 digits, with leading zeros: "cbf29ce484222325" for an empty text.
inline std::string fingerprint(std::string_view text) {
  constexpr std::string_view digits = "0123456789abcdef";
  const std::uint64_t hash = fnv1a(text);
  std::string out;
  for (int shift = 60; shift >= 0; shift -= 4) out += digits[hash >> shift & 0xf];
  return out;
}

}  // namespace fabricast
