#pragma once

namespace fabricast {

/// If a subtraction leaves less than this fraction of the term that it removes, too many digits have cancelled. The sum
/// must then be computed again.
inline constexpr double cancelled = 1e-3;

}  // namespace fabricast
