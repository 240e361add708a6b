// Likelihood of measured rows under an assumed cause, and tail probabilities of healthy sites.
//
// Both come from the distribution of forecast errors (residual/residual.hpp), conditioned on rows that were measured
// while the site was as it should be. Queries do not change the object and may run concurrently.
#pragma once

#include <span>
#include <vector>

#include "fabricast/residual/residual.hpp"

namespace fabricast {

/// Of long lists, at most 48 evenly spaced rows are used in densities: neighbouring sizes add little information, and
/// the cost is cubic in the number of rows.
class SiteLikelihood {
 public:
  /// \param known       rows measured while the site was as it should be
  /// \param known_logs  ln(measured / forecast) of each of them
  SiteLikelihood(const ResidualModel& model, const std::vector<ResidualRow>& known,
                 const std::vector<double>& known_logs);
  /// ln of the joint density of the rows' logs, given the known rows.
  /// \param rows    as forecast with a cause
  /// \param logs    ln(measured / forecast with the cause), by row
  /// \param spread  standard deviation of a further error common to all rows, as ln: how well the cause's effect is
  ///                known
  /// \param apart   by how many times the errors of this site may exceed those of others
  double log_density(const std::vector<ResidualRow>& rows, std::span<const double> logs, double spread = 0,
                     double apart = 1) const;
  /// Probability that a healthy site is as slow as this or slower. Rows of one series in one size band form a group;
  /// the smallest tail probability of a group's mean counts, times the number of groups [Bonferroni1936], at most 1.
  double slow_tail(const std::vector<ResidualRow>& rows, std::span<const double> logs) const;
  /// Two-sided tail probability of the group that is furthest off, without the correction for the number of groups.
  double tail(const std::vector<ResidualRow>& rows, std::span<const double> logs, double spread = 0) const;

 private:
  /// Rows of a sweep in one size band, and the mean of their logarithms.
  struct Group {
    std::vector<ResidualRow> rows;
    double mean = 0;
  };
  std::vector<Group> grouped(const std::vector<ResidualRow>& rows, std::span<const double> logs, double spread) const;
  /// The known rows, then those to judge.
  struct Together {
    std::vector<ResidualRow> rows;
    std::vector<double> logs;
  };
  Together together(const std::vector<ResidualRow>& rows, std::span<const double> logs, double spread) const;

  ResidualModel model_;
  std::vector<ResidualRow> known_;
  std::vector<double> known_logs_;
};

}  // namespace fabricast
