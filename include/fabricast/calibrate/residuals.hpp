// Learns the distribution of forecast errors (residual/residual.hpp) from systems that no fit has seen.
//
// Two steps, each a maximum of the posterior density:
//
//   1. What the rows of one site have in common: the deviation of each group of parameters, and the correlation by
//      size, plan, nodes and sweep. The distribution has heavy tails here, so that each system can have its own scale.
//   2. How large errors are: the scale of single rows by size, kind of system and family of collectives, and the
//      degrees of freedom. Each system counts once in each size band.
//
// Priors are weak. In step 1 logarithms have a standard deviation of 1, around a deviation of 15 % for groups; in step
// 2 kinds and families have one of 0.7, around equality.
//
// Results are deterministic and do not depend on the number of threads. The functions use all cores and change only
// arguments that are passed by non-const reference.
#pragma once

#include <string>
#include <vector>

#include "fabricast/calibrate/validate.hpp"
#include "fabricast/residual/residual.hpp"

namespace fabricast {

/// Rows of one system, forecast by a fit that has not seen it.
struct SystemResiduals {
  std::string system, site;
  std::vector<ResidualRow> rows;
  std::vector<double> logs;        ///< ln(measured / forecast), by row
  std::vector<std::size_t> cases;  ///< by row, a number that identifies its case
};

/// Groups results by system. Rows for which another algorithm stands in for NCCL's choice are left out, and so are
/// systems without rows.
/// \param results  of runs with residuals (CaseRunner::run)
/// \param cases    for the sites of the systems
std::vector<SystemResiduals> residuals_of(const std::vector<CaseResult>& results,
                                          const std::vector<MeasuredCase>& cases);

/// Learns the distribution from all systems.
/// \pre there is at least one system, and each has rows
ResidualModel learn_residuals(const std::vector<SystemResiduals>& systems);

/// Held-out errors of systems, and the distributions learned from them.
struct LeftOutErrors {
  std::vector<SystemResiduals> systems;
  ResidualModel all;                   ///< learned from all systems
  std::vector<ResidualModel> without;  ///< by system: learned without the fifth of the sites that contains the system
};
/// \param results  of fits that have not seen the systems, with residuals
LeftOutErrors left_out_errors(const std::vector<CaseResult>& results, const std::vector<MeasuredCase>& cases);

/// Sets `factor`, the 90 % interval, of all rows that have residuals, each by the model that has not seen its system.
void add_intervals(std::vector<CaseResult>& results, const LeftOutErrors& errors);

}  // namespace fabricast
