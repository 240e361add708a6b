// Files that pages are made of, compiled in.
#pragma once

#include <string_view>

namespace fabricast {

/// \pre the name is one of `data/`, or of uPlot's where that is built in
std::string_view embedded_page(std::string_view name);

}  // namespace fabricast
