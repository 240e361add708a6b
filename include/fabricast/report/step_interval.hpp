// How far off the forecast of a step may be: what its parameters could as well be, and what remains when all are known.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "fabricast/report/step.hpp"

namespace fabricast {

/// Values of GPU and software that are drawn.
inline constexpr std::size_t step_samples = 16;

/// The step of a scenario with other parameters of GPU and software.
TrainingStep step_with(const Scenario& scenario, const Hardware& hardware);

/// f such that with 90 % the measured step lies between forecast / f and forecast x f. \param seconds  by drawn values
/// \param spread  standard deviation of the logarithm of what remains
double interval_factor(double forecast, const std::vector<double>& seconds, double spread);

/// What remains of steps of a software generation: at least what forecasts were off by where no fit has been.
double spread_of_steps(const Hardware& hardware, const std::string& stack, bool experts);

/// Sets the forecast's factor. In the first draw of the network, without slow hosts: they tell of themselves.
void add_interval(const World& world, StepForecast& forecast, const RunOptions& options = {});

}  // namespace fabricast
