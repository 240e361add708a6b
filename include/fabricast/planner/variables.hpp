// NCCL's environment variables. Parsing, `list variables`, `describe`, the page docs/nccl-variables.md and the
// suggestions for unknown names all come from one table [NCCL-env].
#pragma once

#include <span>
#include <string_view>

#include "fabricast/planner/nccl.hpp"

namespace fabricast {

class VariableValue;

/// A variable. All texts are shown to users.
struct NcclVariable {
  std::string_view name;
  std::string_view unset;    ///< default
  std::string_view accepts;  ///< accepted values
  std::string_view summary;  ///< purpose
  std::string_view effect;   ///< effect on a forecast; empty: accepted, but without effect on time
  void (*read)(VariableValue&, NcclSettings&) = nullptr;  ///< parses a value; null if any text is accepted
};

/// All known variables, sorted by name.
std::span<const NcclVariable> nccl_variables();

}  // namespace fabricast
