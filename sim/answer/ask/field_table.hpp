// Tables of a scenario's keys, for `list` and `describe`.
#pragma once

#include <string>

#include "fabricast/core/field_tree.hpp"

namespace fabricast {

/// A line for each key of a section: key, default, meaning, and the words that it accepts.
std::string table_of(const Field& section);

/// A key or a section of a scenario: meaning, default, what it accepts, and the choice elsewhere that it needs
/// (`fabric.kind: clos`).
/// \param name  a whole path (`fabric.switch.rate`, `faults`), or its end (`variation`, `switch.rate`), which may name
///              several keys
/// \returns empty if no key has that name
std::string describe_key(const std::string& name);

}  // namespace fabricast
