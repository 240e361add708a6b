// Spreads learned from errors of several sources, each of which counts once. Pure functions.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "fabricast/calibrate/fit.hpp"

namespace fabricast {

/// The smallest value that a fraction of the weight does not exceed.
/// \param weighted  values and their weights
/// \pre there is at least one
double quantile_of(std::vector<std::pair<double, double>> weighted, double fraction);

/// The spread that 90 % of the rows do not exceed. Its interval follows from the number of sources.
/// \param path    of the parameter that holds the spread
/// \param needed  by source: for each of its rows, the standard deviation whose 90 % interval would just reach it
FittedParameter spread_over_sources(const std::string& path, const Hardware& prior,
                                    const std::map<std::string, std::vector<double>>& needed);

}  // namespace fabricast
