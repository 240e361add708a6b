// How likely measured rows are of a site, whatever is held to be wrong with it.
#pragma once

#include <span>
#include <vector>

#include "fabricast/residual/residual.hpp"

namespace fabricast {

/// Rows of which some were measured before, and the density of the others.
class SiteLikelihood {
 public:
  /// \param known   rows measured when the site was as it should be, with their logarithms of measured over forecast
  SiteLikelihood(const ResidualModel& model, const std::vector<ResidualRow>& known,
                 const std::vector<double>& known_logs);
  /// ln of the density of the logarithms of rows as some cause has them. Of many rows, some that are spread over them
  /// count: the others say the same again.
  /// \param spread  of what all rows are off by besides, as ln: how well the effect of a cause is known
  /// \param apart   how many times farther off than others the site may be
  double log_density(const std::vector<ResidualRow>& rows, std::span<const double> logs, double spread = 0,
                     double apart = 1) const;
  /// Probability that rows of a healthy site are as slow as these, or slower: of the band of one sweep that is slowest, times
  /// the number of them [Bonferroni1936].
  double slow_tail(const std::vector<ResidualRow>& rows, std::span<const double> logs) const;
  /// Of rows that are as far off, to either side, in the band that is farthest off.
  double tail(const std::vector<ResidualRow>& rows, std::span<const double> logs, double spread = 0) const;

 private:
  /// Rows of a sweep in one size band, and the mean of their logarithms.
  struct Group {
    std::vector<ResidualRow> rows;
    double mean = 0;
  };
  std::vector<Group> grouped(const std::vector<ResidualRow>& rows, std::span<const double> logs, double spread) const;
  /// What is known, then what is judged.
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
