// The 90 % interval of a training step (docs/models/intervals.md).
//
// A measured step lies between forecast / factor and forecast x factor with a probability of 90 %:
//
//   factor = exp(1.645 sqrt(s_parameters^2 + s_model^2))
//
//   s_parameters  root mean square of ln(step / forecast) over 16 posterior samples of the parameters of GPU and
//                 software, on 4 samples of the parameters of the network
//   s_model       what the fit leaves unexplained in steps of that software generation; wider where nothing like the
//                 step was measured
//
// ECMP hashes, slow hosts and jitter are not part of it. The percentiles over samples show them.
//
// Safe to call concurrently.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "fabricast/report/step.hpp"

namespace fabricast {

/// Number of posterior samples of the parameters of GPU and software.
inline constexpr std::size_t step_samples = 16;

/// The step of a scenario with other parameters of GPU and software.
TrainingStep step_with(const Scenario& scenario, const Hardware& hardware);

/// The factor of the 90 % interval.
/// \param seconds  the step with each sample of the parameters; not empty
/// \param spread   s_model
double interval_factor(Seconds forecast, const std::vector<Seconds>& samples, double spread);

/// s_model of a step: what the fit of its software leaves, but at least the deviation of forecasts that no fit informed.
/// Where nothing like it was measured (report/validated.hpp), StepSpread::unvalidated times that.
/// \param hardware  with the spreads
/// \pre the workload is a training step
double spread_of_steps(const World& world, const Hardware& hardware);

/// Sets `factor` of the forecast. Runs the step once per parameter sample, on the first sample of the network and
/// without slow hosts or jitter.
/// \pre the workload is a training step, and the forecast is that of run_step
/// \throws Interrupted on Ctrl-C
void add_interval(StepForecast& forecast, const RunOptions& options = {});

}  // namespace fabricast
