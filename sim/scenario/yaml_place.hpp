// Where a node is in its document, from 1 on.
#pragma once

#include <yaml-cpp/yaml.h>

namespace fabricast {

inline int line_of(const YAML::Node& node) { return node.Mark().is_null() ? 1 : node.Mark().line + 1; }
inline int column_of(const YAML::Node& node) { return node.Mark().is_null() ? 1 : node.Mark().column + 1; }

}  // namespace fabricast
