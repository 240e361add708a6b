// A fit to one site's own measurements that can not make its forecasts worse.
//
// Measured rows alone take forecasts a long way (report/interval.hpp): the site's level is theirs. Whether its parameters
// should move as well is asked of the rows themselves: each part of them in turn is forecast from the others, by the
// parameters as they were and by fitted ones. Where fitted ones are no better, they are refused. Either way the profile
// keeps the rows, so that what was never measured keeps its spread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fabricast/calibrate/fit.hpp"

namespace fabricast {

/// A parameter that has left what was thought possible, and the row that moved it most.
struct Doubt {
  std::string path, unit;
  double before = 0, after = 0;
  std::string case_id;
  std::int64_t bytes = 0;
  std::string instead;  ///< what of the case is to be suspected first; empty: nothing stands out
};

/// Median errors of rows that were not given, by band; no rows: 0.
struct PartErrors {
  BandValues shipped{};  ///< by the parameters as they were, nothing given
  BandValues rows{};     ///< by these parameters, with the other rows given
  BandValues fitted{};   ///< by parameters fitted to the other rows, which are given as well
  int parts = 0;         ///< in which the rows were left out in turn; below two nothing was asked
};

/// What a forecast of more nodes will be worth.
struct LargerJob {
  int nodes = 0;
  BandValues half_width{};  ///< of its 90 % interval, less one; median over the sizes of a band
};

struct SiteFit {
  Fit fit;  ///< where it is refused, with all parameters as they were
  bool refused = false;
  PartErrors errors;
  std::vector<Doubt> doubts;
  std::vector<LargerJob> larger;
  std::vector<MeasuredCase> seen;
};

/// \param start  parameters as they were
/// \throws UserError if the cases tell of nothing
SiteFit fit_site(const std::vector<MeasuredCase>& cases, const Hardware& start, const FitOptions& options);

std::string site_fit_text(const SiteFit& fit);
/// Parameters, where they moved, and the rows.
std::string site_profile_json(const SiteFit& fit, const std::string& source);

}  // namespace fabricast
