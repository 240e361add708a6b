// The keys that a scenario may have, for `describe`, shell completion and editors. All are derived from the lists of
// fields (core/fields.hpp).
//
// The JSON Schema covers keys, types, words, units, limits of plain numbers, and which keys depend on which word of a
// section (`fabric.kind`, `workload.kind`). It does not cover what only the reader can check: limits of quantities with
// units, whether files exist, and whether sections are consistent.
//
// Safe to call concurrently. Making the schema is slow, because every word of every section is tried.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fabricast/core/field_tree.hpp"

namespace fabricast {

/// The fields of a scenario with their defaults for an H100 node.
/// \param chosen  words to assume, e.g. {"workload.kind", "inference"}
Field scenario_fields(const ChosenWords& chosen = {});

/// The names that the text at a path must be one of: for `node.gpu` all kinds of GPUs. Empty if any text is allowed.
std::vector<std::string> names_for(std::string_view path);

/// A key that `--set` accepts, with its words if they are a closed list.
struct ScenarioKey {
  std::string path;
  std::vector<std::string> words;
};

/// The keys of all kinds of sections in alphabetical order, without keys of list elements.
std::vector<ScenarioKey> scenario_keys();

/// The JSON Schema (draft 7) of a scenario, including `sweep` and `objective`.
/// \param version  version of the program, for the schema's description
std::string scenario_schema(std::string_view version);

}  // namespace fabricast
