// The minimum of a smooth function of some tens of variables.
#pragma once

#include <functional>
#include <vector>

namespace fabricast {

/// A local minimum by NLopt's L-BFGS. Derivatives are forward differences, computed on all threads. Deterministic.
/// \param f            is called from several threads at once
/// \param evaluations  maximum number of gradients
std::vector<double> minimize(const std::function<double(const std::vector<double>&)>& f, std::vector<double> start,
                             int evaluations);

}  // namespace fabricast
