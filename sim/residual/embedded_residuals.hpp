// The data of this layer, compiled into the binary.
#pragma once

#include <string_view>

namespace fabricast {

std::string_view embedded_residuals(std::string_view name);

}  // namespace fabricast
