// From a forecast to rows with floors: what floors and verdicts share.
#pragma once

#include <vector>

#include "fabricast/gate/gate.hpp"
#include "fabricast/residual/tails.hpp"

namespace fabricast {

/// \throws UserError if the engine is not the flow engine
Forecast forecast_with_residuals(const World& world, const MeasuredSite& site, const RunOptions& options);
std::vector<GateRow> gate_rows(const World& world, const Forecast& forecast, double probability);

/// "1 in 1000"
std::string chance_text(double probability);
/// A scenario's name for a comment of a script: printable ASCII.
std::string plain_name(const Scenario& scenario);

}  // namespace fabricast
