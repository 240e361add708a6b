// The data files of this layer (sim/residual/data), compiled into the binary.
#pragma once

#include <string_view>

namespace fabricast {

/// The content of a data file by its name, such as `residuals.json`.
std::string_view embedded_residuals(std::string_view name);

}  // namespace fabricast
