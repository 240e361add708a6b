// What is learned from errors of several sources, each of which counts once.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "fabricast/calibrate/fit.hpp"

namespace fabricast {

/// The value that a fraction of the weight does not exceed.
/// \param weighted  values and their weights, at least one
double quantile_of(std::vector<std::pair<double, double>> weighted, double fraction);

/// A spread that nine tenths of the rows do not exceed, with an interval by the number of sources.
/// \param needed  by source: the standard deviation that would just reach each of its rows
FittedParameter spread_over_sources(const std::string& path, const Hardware& prior,
                                    const std::map<std::string, std::vector<double>>& needed);

}  // namespace fabricast
