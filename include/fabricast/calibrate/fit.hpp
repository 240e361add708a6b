// Fits hardware parameters to measured cases of collectives, and tests fits on systems that they have not seen.
//
// Robust nonlinear least squares on r_i = ln(forecast_i / measured_i), in the logarithms of the parameters p_j:
//
//   minimize  sum_i w_i rho(r_i)
//             + N prior_weight   sum_j (d_j / sigma_j)^2
//             + N sibling_weight sum_j ((d_j - D_j) / 0.3)^2
//
//   d_j = ln(p_j / prior_j)
//   D_j   mean of d over the siblings of j: parameters of the same name of all architectures, or of all networks
//   N     number of rows that count;  w_i is 1 on average
//
// The weights count each system about once in each size band, however many rows it has. Cauchy's loss rho keeps
// outliers from dominating [Huber1964]. A prior is the value that the fit starts from, with sigma_j half the
// logarithmic width of its interval. Siblings pull each other together, so a kind of hardware with few cases starts
// from what the others showed [Gelman2006]. The solver is Levenberg-Marquardt with finite differences [Marquardt1963].
// docs/models/fit.md has the details, and how well the method recovers known parameters.
//
// Results are deterministic and do not depend on the number of threads. All functions use all cores and do not change
// their arguments. A fit takes from seconds (one site) to minutes (the shipped cases); Ctrl-C ends it with Interrupted.
//
// Not fitted: parameters that are zero, because zero means that an effect is absent, and those without an interval.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "fabricast/calibrate/residuals.hpp"

namespace fabricast {

/// Number of posterior samples that a fit keeps for each parameter and writes to the profile.
inline constexpr std::size_t kept_samples = 16;

/// How to fit. The symbols are those of the file comment.
struct FitOptions {
  /// Paths of parameters, or prefixes that name groups of them (`networks.roce`). Empty: all that some case uses.
  std::vector<std::string> parameters;
  std::vector<std::string> left_out;  ///< systems that the fit ignores
  int iterations = 12;                ///< at most
  double prior_weight = 2e-5;         ///< weight of one prior at a distance of sigma_j, as a fraction of all rows
  double sibling_weight = 1e-4;       ///< the same for the distance of 0.3 from the mean of the siblings; 0: no pull
  /// Scale of Cauchy's loss, as ln. It is larger than the repeatability of measurements on idle systems.
  double scale = 0.12;
  /// If above 0, a second fit moves only parameters that the data alone determine to within this factor, with a
  /// probability of 90 %. All others stay at their priors.
  double identified = 0;
  std::uint64_t seed = 1;  ///< of the bootstrap
  /// Called before each iteration with the loss so far, divided by N.
  std::function<void(int iteration, double loss)> progress;

  /// Whether `parameters` contains this path or a group that it belongs to.
  bool takes(const std::string& path) const;
};

/// A parameter that took part in a fit.
struct FittedParameter {
  std::string path;
  Parameter before;          ///< the prior
  Parameter after;           ///< low and high: 5th and 95th percentile of the bootstrap; samples: its first replicates
  double error = 0;          ///< standard deviation of the logarithm over the bootstrap, by data and priors
  double error_by_data = 0;  ///< the same by the data alone; infinite if they do not depend on the parameter
  std::size_t rows = 0;      ///< rows that depend on it
};

/// The result of a fit.
struct Fit {
  Hardware hardware;  ///< with the fitted parameters, and the spread of the residuals by size band
  std::vector<FittedParameter> parameters;
  double loss_before = 0, loss_after = 0;  ///< what is minimized, divided by N
};

/// Fits the parameters that `options` select to the cases. Cases that are set aside, alltoall on more than 256 ranks
/// and rows whose algorithm has no schedule do not count.
/// \param start  hardware whose parameters are the priors and the starting point
/// \throws UserError if no parameter can be fitted, or if a case cannot run; Interrupted on Ctrl-C
Fit fit_parameters(const std::vector<MeasuredCase>& cases, const Hardware& start, const FitOptions& options);

/// For each system, the name of the group that is left out together with it: a system, site, kind or fifth of the
/// sites.
std::map<std::string, std::string> left_out_with(const std::vector<MeasuredCase>& cases, const Hardware& hardware,
                                                 LeftOut by);

/// Results of `leave_out`.
struct CrossValidation {
  LeaveOneOut leave_one_out;
  std::optional<LeftOutErrors> errors;   ///< absent without `intervals`
  std::optional<Calibrated> calibrated;  ///< absent without `calibrated`
};

/// Cross-validation: fits all systems, then leaves out each group in turn (by site, for example), fits the others, and
/// forecasts the group. A fit without a group starts where the fit of all ends, with the same pull of priors and
/// siblings, so parameters that only this group determined return toward their priors. It takes six iterations at most.
/// All cases of a group are forecast, including those set aside.
/// \param prior       hardware whose parameters are the priors
/// \param calibrated  also calibrate each system with some of its own cases, and forecast its others
/// \param intervals   also bootstrap each fit and learn intervals from the held-out errors; this doubles the time
/// \throws UserError if there are fewer than two groups or fewer than two systems that a fit can use; Interrupted on
///         Ctrl-C
CrossValidation leave_out(const std::vector<MeasuredCase>& cases, const Hardware& prior, const FitOptions& options,
                          LeftOut by, bool calibrated = false, bool intervals = true);

/// A line per parameter: value before and after, and the factors of its 90 % interval with and without the prior.
std::string parameters_text(const std::vector<FittedParameter>& parameters);

/// The fitted parameters as a profile (JSON) for `node.profile` and `--profile`, with the spread of the residuals.
/// Numbers have four significant digits.
/// \param source  stated as the source of each parameter
std::string profile_json(const Fit& fit, const std::string& source);
/// The same for any parameters, by path.
std::string profile_json(const std::vector<std::pair<std::string, Parameter>>& parameters, const std::string& source);

}  // namespace fabricast
