// NCCL's environment variables: one table from which reading, `list variables`, `describe`, the page
// docs/nccl-variables.md and the suggestions for unknown names come [NCCL-env].
#pragma once

#include <span>
#include <string_view>

#include "fabricast/planner/nccl.hpp"

namespace fabricast {

class VariableValue;

struct NcclVariable {
  std::string_view name;
  std::string_view unset;    ///< what NCCL does without it
  std::string_view accepts;  ///< values
  std::string_view summary;  ///< what it is for
  std::string_view effect;   ///< what it changes in a forecast; empty: accepted, no effect on time
  void (*read)(VariableValue&, NcclSettings&) = nullptr;  ///< null where any text goes
};

/// All that are known, in order of name.
std::span<const NcclVariable> nccl_variables();

}  // namespace fabricast
