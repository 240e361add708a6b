// How rare a row is among healthy ones, by the distribution of residual.hpp.
#pragma once

#include <vector>

#include "fabricast/residual/residual.hpp"

namespace fabricast {

/// Share of rows whose ln(measured / forecast) is above this.
double share_above(const Residual& residual, double log);

/// Share of rows that take longer than `time` where the network may be any of these draws, with one chance each.
/// \param draws  times by draw, s; they have the residual's median in them. \pre there is one
double share_slower(const Residual& residual, const std::vector<double>& samples, double time);

/// The time, s, that such a share of rows is above.
/// \pre 0 < share <= 0.5
double time_exceeded_by(const Residual& residual, const std::vector<double>& samples, double share);

}  // namespace fabricast
