// The position of a node in its document. Lines and columns count from 1; nodes without a position are at 1:1.
#pragma once

#include <yaml-cpp/yaml.h>

namespace fabricast {

inline int line_of(const YAML::Node& node) { return node.Mark().is_null() ? 1 : node.Mark().line + 1; }
inline int column_of(const YAML::Node& node) { return node.Mark().is_null() ? 1 : node.Mark().column + 1; }

}  // namespace fabricast
