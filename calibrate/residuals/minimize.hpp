// The minimum of a smooth function of some tens of variables.
#pragma once

#include <functional>
#include <vector>

namespace fabricast {

/// L-BFGS of NLopt with differences for derivatives, which are shared out over all threads. Deterministic.
/// \param f  called from several threads at once
std::vector<double> minimize(const std::function<double(const std::vector<double>&)>& f, std::vector<double> start,
                             int evaluations);

}  // namespace fabricast
