// Shared by all writers of JSON.
#pragma once

#include <nlohmann/json.hpp>

#include "fabricast/core/quantity.hpp"

namespace fabricast {

using Json = nlohmann::ordered_json;

/// A number rounded to ten digits, which is more than any forecast is accurate to.
inline double digits(double value) { return rounded(value, 10); }
inline double digits(Seconds t) { return digits(t.value); }
inline double digits(BytesPerSecond r) { return digits(r.value); }

}  // namespace fabricast
