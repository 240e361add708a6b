// NCCL's environment variables. Parsing, `list variables`, `describe`, the page docs/nccl-variables.md and the
// suggestions for unknown names all come from one table [NCCL-env].
//
// A variable without effect on a forecast is in the table, too, so that a known name is not taken for a typing error.
// Such a variable changes setup, logging or error handling, or has an effect on time that is not modelled; the user
// gets a warning in both cases. To add one, add a row to models/planner/variables_*.cpp; nothing else changes.
//
// Constant tables; safe to use concurrently.
#pragma once

#include <span>
#include <string_view>

#include "fabricast/planner/nccl.hpp"

namespace fabricast {

class VariableValue;

/// A variable. All texts are shown to users.
struct NcclVariable {
  std::string_view name;     ///< in capitals, with its prefix NCCL_
  std::string_view unset;    ///< what NCCL does if it is not set: a value, or what decides
  std::string_view accepts;  ///< accepted values with their unit
  std::string_view summary;  ///< purpose
  std::string_view effect;   ///< effect on a forecast; empty: accepted, but without effect on time
  void (*read)(VariableValue&, NcclSettings&) = nullptr;  ///< parses a value; null if any text is accepted
};

/// All known variables, sorted by name. The table is made once and lives as long as the process.
std::span<const NcclVariable> nccl_variables();

}  // namespace fabricast
