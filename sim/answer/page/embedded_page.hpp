// Files that are embedded in the binary for pages: the script, the style, and uPlot if it is built in.
#pragma once

#include <string_view>

namespace fabricast {

/// The contents of a file. \pre `name` is a file of `data/`, or one of uPlot's if uPlot is built in
std::string_view embedded_page(std::string_view name);

}  // namespace fabricast
