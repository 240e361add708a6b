// `calibrate fit --advise`: parameters that the data of a fit do not determine, and runs of nccl-tests that would.
//
// All of it is linear around the fit, in the logarithms of the parameters. The rows give information about parameters:
// a case counts as one independent measurement in each size band. Priors are the intervals that the fit started from,
// widened because systems differ. Together they give the error of each parameter. A parameter matters by what its error
// does to forecasts of the cases, and of the same collectives on one node, two nodes and the largest number of nodes.
// docs/models/fit.md, "What the data do not determine", has the thresholds.
//
// Errors and effects are standard deviations of natural logarithms. Results are deterministic. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "fabricast/calibrate/fit.hpp"

namespace fabricast {

/// Why the data do not determine a parameter.
enum class Stated {
  nothing,   ///< they add less than a tenth of the prior's information, even with all other parameters known
  little,    ///< they add less information than the prior, or leave a wide interval
  together,  ///< they determine only a combination with other parameters, which affect the same rows in the same way
};

/// A parameter with its error, and the effect of that error.
struct Uncertain {
  std::string path;
  double error = 0;   ///< of the parameter, by data and prior
  double effect = 0;  ///< of the error on forecasts
};

/// One parameter that the data do not determine, or several of which they determine only a product of powers.
struct Unstated {
  Stated stated = Stated::nothing;
  std::vector<Uncertain> parameters;  ///< largest effect first
  std::vector<double> powers;         ///< exponents of the best-determined product; absolute values add up to 1. Empty
                                      ///< for a single parameter
  double error_together = 0;          ///< error of that product
};

/// The error of a parameter before and after a run.
struct Narrowed {
  std::string path;
  double before = 0, after = 0;
};

/// A run of nccl-tests that would narrow parameters.
struct AdvisedRun {
  MeasuredCase run;     ///< its rows hold sizes to run; their times are unknown
  std::string command;  ///< where to run, and the command line without the launcher: "1 node, 8 processes: ..."
  std::vector<Narrowed> narrows;  ///< the parameters that it narrows most, at most three, given the runs before
};

/// What to find out, and by which runs.
struct FitAdvice {
  std::vector<Unstated> unstated;  ///< largest effect first
  std::vector<AdvisedRun> runs;    ///< the best first, at most three, each given the runs before it
};

/// Finds parameters that the fit leaves open, and runs on the systems of the cases that would determine them.
/// \param fit  the result of fit_parameters for these cases and options
/// \throws UserError if a case cannot run; Interrupted on Ctrl-C
FitAdvice advise(const std::vector<MeasuredCase>& cases, const Fit& fit, const FitOptions& options);
/// The advice as text, with intervals of 90 % instead of standard deviations.
std::string advice_text(const FitAdvice& advice);

}  // namespace fabricast
