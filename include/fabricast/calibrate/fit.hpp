// Fits hardware parameters to measured cases.
//
// Robust nonlinear least squares on ln(forecast / measured), in the logarithms of the parameters:
//
//   minimize  sum_i w_i rho(r_i)  +  sum_j prior_weight (d_j / sigma_j)^2  +  sum_j sibling_weight ((d_j - D_j) / 0.3)^2
//
//   d_j = ln p_j - ln prior_j,   D_j  its mean over parameters of this name of all architectures, or networks
//
// Each system counts about once in each size band, however many rows it has; Cauchy's rho keeps outliers from leading
// [Huber1964]; the prior is the shipped value with the width of its interval. Solved by Levenberg-Marquardt with
// differences for derivatives [Marquardt1963]. Deterministic.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "fabricast/calibrate/residuals.hpp"

namespace fabricast {

inline constexpr std::size_t kept_samples = 16;  ///< of a fit, in the profile that it writes

struct FitOptions {
  std::vector<std::string> parameters;  ///< paths, or groups of them (`networks.roce`); empty: all that some case uses
  std::vector<std::string> left_out;    ///< systems not to look at
  int iterations = 12;
  double prior_weight = 2e-5;  ///< of one parameter, as a part of all rows
  /// The same of the pull towards the mean of its siblings: the parameter of the same name of other architectures, or
  /// other networks. A kind of which few cases tell starts from what others showed, not from a guess [Gelman2006].
  double sibling_weight = 1e-4;
  double scale = 0.12;  ///< of Cauchy's loss: beyond the repeatability of idle systems
  /// If > 0: fit once more, with all parameters left at their start that the data alone do not tell to within this
  /// factor, at 90 %.
  double identified = 0;
  std::uint64_t seed = 1;  ///< of the bootstrap
  std::function<void(int iteration, double loss)> progress;

  /// Whether `parameters` name this one.
  bool takes(const std::string& path) const;
};

struct FittedParameter {
  std::string path;
  Parameter before, after;   ///< after.low and high: 5 and 95 % of the bootstrap; after.draws: the first of it
  double error = 0;          ///< standard deviation of the logarithm over the bootstrap, data and prior
  double error_by_data = 0;  ///< by the data alone; infinite if they say nothing
  std::size_t rows = 0;      ///< that depend on it
};

struct Fit {
  Hardware hardware;  ///< with the fitted parameters, and the spread that forecasts have beyond them
  std::vector<FittedParameter> parameters;
  double loss_before = 0, loss_after = 0;
};

Fit fit_parameters(const std::vector<MeasuredCase>& cases, const Hardware& start, const FitOptions& options);

/// By system, the name of what it is left out with.
std::map<std::string, std::string> left_out_with(const std::vector<MeasuredCase>& cases, const Hardware& hardware,
                                                 LeftOut by);

struct CrossValidation {
  LeaveOneOut leave_one_out;
  std::optional<LeftOutErrors> errors;  ///< absent: no intervals were asked for
  std::optional<Calibrated> calibrated;
};

/// Fits all systems, then all but those of each site, or whatever is left out together, in turn. A fit without some
/// starts where the fit of all ends, with the priors' pull as ever: what only they told goes back to its prior.
/// \param calibrated  then also with some measurements of each system's own
/// \param intervals  of the forecasts, for which each fit is bootstrapped; without them it takes half the time
/// \throws UserError if there is nothing to fit to beside what is left out
CrossValidation leave_out(const std::vector<MeasuredCase>& cases, const Hardware& prior, const FitOptions& options,
                          LeftOut by, bool calibrated = false, bool intervals = true);

/// The fitted parameters as a profile (JSON) that `node.profile` takes.
std::string profile_json(const Fit& fit, const std::string& source);
std::string profile_json(const std::vector<std::pair<std::string, Parameter>>& parameters, const std::string& source);

}  // namespace fabricast
