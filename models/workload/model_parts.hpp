// Functions that the readers of models share.
#pragma once

#include <vector>

#include "fabricast/workload/model_spec.hpp"

namespace fabricast {

/// Fills in dimensions that follow from others.
/// \returns what is missing or inconsistent; paths are names of fields
std::vector<Diagnostic> complete(Transformer& model, Gated gated);

/// Visits the dimensions that specs and presets share, in the order of the keys.
void visit_dimensions(FieldVisitor& visit, Transformer& model, Gated& gated);

}  // namespace fabricast
