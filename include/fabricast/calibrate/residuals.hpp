// Learns how measurements differ from forecasts (residual/residual.hpp) from systems that no fit has seen.
//
// In two steps. First what rows of one site have in common: the likeliest deviations by group of parameters and likeness
// by size, plan, nodes and sweep, each system with a scale of its own. Then how far systems of a kind are off: the
// likeliest scale of single rows, in which each system counts once in each size band, and the tail of Student's t. Both
// with weak priors: a deviation is thought to be 15 %, a kind to be as others, within factors of e and of 2.
#pragma once

#include <string>
#include <vector>

#include "fabricast/calibrate/validate.hpp"
#include "fabricast/residual/residual.hpp"

namespace fabricast {

/// Rows of one system with ln(measured / forecast), both by a fit that has not seen it.
struct SystemResiduals {
  std::string system, site;
  std::vector<ResidualRow> rows;
  std::vector<double> logs;
  std::vector<std::size_t> cases;  ///< by row, a number that rows of one case have in common
};

/// Of results with residuals, by system; stand-ins for what NCCL would run are left out.
std::vector<SystemResiduals> residuals_of(const std::vector<CaseResult>& results,
                                          const std::vector<MeasuredCase>& cases);

/// Deterministic. \pre systems have rows
ResidualModel learn_residuals(const std::vector<SystemResiduals>& systems);

/// What systems are off by that no fit had seen, and how that is distributed.
struct LeftOutErrors {
  std::vector<SystemResiduals> systems;
  ResidualModel all;                   ///< learned from all of them
  std::vector<ResidualModel> without;  ///< by system, learned without the fifth of the sites that it is of
};
LeftOutErrors left_out_errors(const std::vector<CaseResult>& results, const std::vector<MeasuredCase>& cases);

/// Sets `factor` of all rows, by models that have not seen them.
void add_intervals(std::vector<CaseResult>& results, const LeftOutErrors& errors);

}  // namespace fabricast
