// A forecast's rows as the distribution of errors sees them (residual/residual.hpp).
#pragma once

#include "fabricast/report/forecast.hpp"
#include "fabricast/residual/residual.hpp"

namespace fabricast {

ResidualKind residual_kind(const World& world);

/// A number that rows of one sweep over sizes have in common: the same collective on as many nodes and GPUs, with the same
/// NCCL and variables.
std::size_t series_of(const World& world);

/// Each row with its derivatives by the groups of parameters, and what is not stated.
/// \pre add_unstated was called. The same for any number of threads.
std::vector<ResidualRow> residual_rows(const World& world, const Forecast& forecast, const RunOptions& options = {});

}  // namespace fabricast
