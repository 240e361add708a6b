// What inputs that nobody stated would change in a forecast (scenario/unstated.hpp).
#pragma once

#include "fabricast/report/forecast.hpp"

namespace fabricast {

/// Fills `forecast.unstated`: the forecast again with each other value of each input, in the first five draws of the network.
/// A value with which NCCL would stop changes nothing. The same for any number of threads.
void add_unstated(const World& world, Forecast& forecast, const RunOptions& options = {});

/// Standard deviation of ln(time) of a row, over what one input may be, around the assumed value; of all inputs together.
double spread_of(const UnstatedEffect& effect, std::size_t row);
double unstated_spread(const Forecast& forecast, std::size_t row);

/// The input with the largest spread in any row, or null where all spreads are below `least`.
const UnstatedEffect* largest_effect(const Forecast& forecast, double least = 0.02);

/// `nccl.version 2.27, node.cpu intel`: what is assumed, as nobody stated it; empty where no row feels it.
std::string assumed_text(const Forecast& forecast);

}  // namespace fabricast
