// What a scenario may hold, for editors, for completion, and for those who ask: all from the lists of fields.
//
// The schema knows keys, types, words, units and numbers' limits, and which keys come with which word of a section
// (`fabric.kind`, `workload.kind`). It does not know what only the reader can check: limits of quantities, whether
// files exist, and whether sections fit together.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fabricast/core/field_tree.hpp"

namespace fabricast {

/// The fields of a scenario with the defaults that an H100 node gives them.
/// \param chosen  words to assume, e.g. {"workload.kind", "inference"}
Field scenario_fields(const ChosenWords& chosen = {});

/// The names that a text of a scenario is one of: of `node.gpu` all kinds of GPUs. Empty: any text.
std::vector<std::string> names_for(std::string_view path);

/// A key that `--set` takes, and the words that it may be, if that is a closed list.
struct ScenarioKey {
  std::string path;
  std::vector<std::string> words;
};
/// The keys of all kinds of sections, without those of elements of lists.
std::vector<ScenarioKey> scenario_keys();

/// JSON Schema (draft 7) of a scenario.
/// \param version  of the program, for its description
std::string scenario_schema(std::string_view version);

}  // namespace fabricast
