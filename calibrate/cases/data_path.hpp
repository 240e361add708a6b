// Paths of shipped data.
#pragma once

#include <string>

namespace fabricast {

/// The path of a file of calibrate/data: in the data directory next to an installed binary, else in the source tree.
/// The file need not exist.
std::string shipped_data_path(const std::string& file);

}  // namespace fabricast
