// What the data of a fit do not tell, and which measurements would.
//
// Linear around the fit, in the logarithms of the parameters: information is what the rows say (a case counts as one
// independent measurement in each size band), priors are the intervals that the fit started from, together they give
// the errors to expect. A parameter matters by what its error does to forecasts: of the cases, and of the same
// collectives on one node and two of the same systems.
#pragma once

#include <string>
#include <vector>

#include "fabricast/calibrate/fit.hpp"

namespace fabricast {

enum class Stated {
  nothing,   ///< no row depends on it, or hardly
  little,    ///< the data add less than was known before, or leave it wide
  together,  ///< would be told, were it not for others that move the same rows alike
};

struct Uncertain {
  std::string path;
  double error = 0;   ///< standard deviation of its logarithm, by data and prior
  double effect = 0;  ///< standard deviation of the logarithm of forecasts that comes from it
};

/// One parameter, or several of which the data only tell a product of powers.
struct Unstated {
  Stated stated = Stated::nothing;
  std::vector<Uncertain> parameters;  ///< most uncertain first
  std::vector<double> powers;         ///< of the product that is told best, their absolute values sum to 1; else empty
  double error_together = 0;          ///< of that product
};

struct Narrowed {
  std::string path;
  double before = 0, after = 0;  ///< standard deviations of the logarithm, as of `Uncertain`
};

/// A run of nccl-tests that is worth its time.
struct AdvisedRun {
  MeasuredCase run;               ///< its rows are some of the sizes; their times are not known
  std::string command;            ///< what to type, without what starts processes, after where
  std::vector<Narrowed> narrows;  ///< what it tells most of, given the runs before
};

struct FitAdvice {
  std::vector<Unstated> unstated;    ///< largest effect first
  std::vector<AdvisedRun> runs;  ///< best first, each given those before
};

/// \param fit  of these cases with these options
FitAdvice advise(const std::vector<MeasuredCase>& cases, const Fit& fit, const FitOptions& options);
std::string advice_text(const FitAdvice& advice);

}  // namespace fabricast
