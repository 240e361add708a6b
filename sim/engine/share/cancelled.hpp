#pragma once

namespace fabricast {

/// What is left of a sum after taking all but this part of it away has lost too many digits.
inline constexpr double cancelled = 1e-3;

}  // namespace fabricast
