// The files of data/, built in.
#pragma once

#include <string_view>

namespace fabricast {

/// \pre there is such a file
std::string_view embedded_serve(std::string_view file);

}  // namespace fabricast
