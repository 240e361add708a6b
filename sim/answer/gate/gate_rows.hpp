// From a forecast to rows with floors: shared by floors (gate.cpp) and verdicts (judge.cpp).
#pragma once

#include <vector>

#include "fabricast/gate/gate.hpp"
#include "fabricast/residual/tails.hpp"

namespace fabricast {

/// A forecast whose rows have a `residual`.
/// \throws UserError if the engine is not the flow engine
Forecast forecast_with_residuals(const World& world, const MeasuredSite& site, const RunOptions& options);
/// The limits for each row of such a forecast.
std::vector<GateRow> gate_rows(const World& world, const Forecast& forecast, double probability);

/// "1 in 1000"
std::string chance_text(double probability);
/// The scenario's name for a comment in a script: printable ASCII on one line.
std::string plain_name(const Scenario& scenario);

}  // namespace fabricast
