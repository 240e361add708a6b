// The data files, compiled into the binary. CMake generates the .cpp from models/planner/data.
#pragma once

#include <string_view>

namespace fabricast {

/// The text of a data file. \throws InternalError if there is no such file.
std::string_view embedded_planner(std::string_view name);

}  // namespace fabricast
