// A fit to the measurements of one site, which is accepted only if it improves forecasts of rows that it has not seen.
//
// Measured rows alone already improve forecasts, which are conditioned on them (report/interval.hpp). Whether
// parameters should move as well is decided by the rows: each part of them in turn is left out and forecast from the
// others, with the parameters as they were and with fitted ones. Fitted parameters are accepted if they reduce the mean
// error by 2 % or more. Either way the profile keeps the rows, so forecasts continue from them and what was never
// measured keeps its spread. docs/models/fit.md, "A fit of your own site".
//
// Errors are relative: 0.1 is 10 %. Results are deterministic; the functions use all cores and do not change their
// arguments.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fabricast/calibrate/fit.hpp"

namespace fabricast {

/// A parameter that the fit moves beyond the 99 % range of its prior, and the row that pulls it most.
struct Doubt {
  std::string path, unit;
  double before = 0, after = 0;  ///< in that unit
  std::string case_id;           ///< of the row; empty if no row comes nearer to its measurement
  std::int64_t bytes = 0;
  std::string instead;  ///< what to suspect first about the way the case was timed; empty if nothing stands out
};

/// Median errors of rows that were left out, by size band; 0 for a band without rows.
struct PartErrors {
  BandValues shipped{};  ///< with the parameters as they were and no rows given
  BandValues rows{};     ///< with these parameters, conditioned on the other rows
  BandValues fitted{};   ///< with parameters fitted to the other rows, conditioned on them as well
  int parts = 0;         ///< number of parts; below two nothing was tested
};

/// How exact a forecast of a larger job will be.
struct LargerJob {
  int nodes = 0;
  BandValues half_width{};  ///< half width of the 90 % interval as a factor, minus 1; median over the sizes of a band
};

/// The fit of one site's own measurements, and whether it is to be trusted.
struct SiteFit {
  Fit fit;               ///< if refused: without parameters, and with the hardware as it was
  bool refused = false;  ///< whether fitted parameters were not better, or could not be tested
  PartErrors errors;
  std::vector<Doubt> doubts;      ///< of the fit to all rows, whether it is accepted or refused
  std::vector<LargerJob> larger;  ///< 1, 2, 4 and 16 times as many nodes as the largest case
  std::vector<MeasuredCase> seen;
};

/// Fits a site, and refuses the result if parts of the data that were left out are forecast no better by it.
/// \param start  hardware with the parameters as they were
/// \pre there is at least one case
/// \throws UserError if no parameter can be fitted or a case cannot run; Interrupted on Ctrl-C
SiteFit fit_site(const std::vector<MeasuredCase>& cases, const Hardware& start, const FitOptions& options);

/// The result as text for people.
std::string site_fit_text(const SiteFit& fit);
/// The profile: parameters that moved, unless the fit was refused, and the rows as measured cases.
/// \param source  stated as the source of the parameters and cases
std::string site_profile_json(const SiteFit& fit, const std::string& source);

}  // namespace fabricast
