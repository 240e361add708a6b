// What the JSON of every answer shares.
#pragma once

#include <nlohmann/json.hpp>

#include "fabricast/core/quantity.hpp"

namespace fabricast {

using Json = nlohmann::ordered_json;

/// Ten digits: what a forecast can mean.
inline double digits(double value) { return rounded(value, 10); }

}  // namespace fabricast
