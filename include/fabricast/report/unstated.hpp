// How other values of unstated inputs would change a forecast (scenario/unstated.hpp).
//
// The forecast uses the assumed value of each input. It is repeated with every other value, one input at a time, on the
// first five samples of the network at most. The median over five samples reduces the influence of hash collisions.
//
// Ratios are times divided by the time with the assumed values. Spreads are standard deviations of ln(time).
#pragma once

#include <functional>

#include "fabricast/report/forecast.hpp"

namespace fabricast {

/// Effects are medians over at most this many samples of the network, which reduces the influence of random hash
/// collisions.
inline constexpr int unstated_samples = 5;

/// Forecasts the rows of a forecast in another world.
using Rerun = std::function<Forecast(const World& other)>;

/// Sets `unstated` of the forecast. A value with which NCCL would stop has ratio 1. Results do not depend on the number
/// of threads. Safe to call concurrently for different forecasts.
/// \param rerun  for rows that do not follow from the scenario; by default the scenario's forecast, with the choices
///                that NCCL makes there. Called by several threads at once
/// \throws Interrupted on Ctrl-C
void add_unstated(Forecast& forecast, const RunOptions& options = {}, const Rerun& rerun = {});

/// Standard deviation of ln(time) of a row because of one input, around the time with the assumed value. Ratios are
/// weighted with the probabilities of their values.
double spread_of(const UnstatedEffect& effect, std::size_t row);
/// The same for all inputs together, which count as independent.
double unstated_spread(const Forecast& forecast, std::size_t row);

/// The input with the largest spread in any row; null if all spreads are below `least`.
const UnstatedEffect* largest_effect(const Forecast& forecast, double least = 0.02);

/// The assumed values, as in `nccl.version 2.27, node.cpu intel`. Empty if no row depends on them noticeably
/// (largest_effect).
std::string assumed_text(const Forecast& forecast);

}  // namespace fabricast
