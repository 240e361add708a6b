#include "fabricast/workload/recompute.hpp"

#include "fabricast/core/names.hpp"

namespace fabricast {

// As users write it: the kind, and the modules if a list was given.
std::string to_text(const Recomputed& recomputed) {
  std::string text(name_of(recomputed.kind));
  std::string_view before = " (";
  for (const RecomputeModule module : recomputed.modules) {
    text.append(before).append(name_of(module));
    before = ", ";
  }
  return recomputed.modules.empty() ? text : text + ")";
}

}  // namespace fabricast
