// Where shipped data is.
#pragma once

#include <string>

namespace fabricast {

/// Installed, it is beside the binary; in a build tree, in the source.
std::string shipped_data_path(const std::string& file);

}  // namespace fabricast
