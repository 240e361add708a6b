// The line of a node in its document, from 1; nodes without a position are in line 1.
#pragma once

#include <yaml-cpp/yaml.h>

namespace fabricast {

inline int line_of(const YAML::Node& node) { return node.Mark().is_null() ? 1 : node.Mark().line + 1; }

}  // namespace fabricast
