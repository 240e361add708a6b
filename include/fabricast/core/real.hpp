/// Counts as numbers to calculate with. Thread safe.
///
/// The conversion loses digits above 2^53, which no count of bytes, tokens or parameters reaches; the warnings that the
/// project builds with ask for it to be written out.
#pragma once

#include <cstdint>

namespace fabricast {

/// \param n  below 2^53 in size: exact
constexpr double real(std::int64_t n) { return static_cast<double>(n); }

}  // namespace fabricast
