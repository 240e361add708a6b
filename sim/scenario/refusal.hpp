// How checks of a scenario report what is wrong to the reader, which knows the place of each key.
#pragma once

#include <functional>
#include <string>

namespace fabricast {

/// Reports an error of a key.
using Refusal = std::function<void(std::string path, std::string message, std::string hint)>;

}  // namespace fabricast
