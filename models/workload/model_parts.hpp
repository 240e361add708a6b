// What the readers of models share.
#pragma once

#include <vector>

#include "fabricast/workload/model_spec.hpp"

namespace fabricast {

/// Fills in what follows from other dimensions.
/// \returns what is missing or does not fit together; paths are names of fields
std::vector<Diagnostic> complete(Transformer& model, Gated gated);

/// The dimensions that a spec, a preset and nothing else has names for, in the order of the keys.
void visit_dimensions(FieldVisitor& visit, Transformer& model, Gated& gated);

}  // namespace fabricast
