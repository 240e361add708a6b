// Densities and tail probabilities of measured rows, from the distribution of forecast errors that intervals use
// (residual/residual.hpp, docs/models/intervals.md). The density ranks causes. The tails decide about health and about
// whether a cause leaves too much unexplained, because a density has no absolute scale.
#include "likelihood.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "fabricast/core/thin.hpp"
#include "fabricast/residual/tails.hpp"

namespace fabricast {

namespace {

constexpr std::size_t most_rows = 48;

/// Adds the uncertainty of a cause's effect to a row, as an unstated input that all rows share.
void widen(ResidualRow& row, const ResidualModel& model, double spread) {
  // Divided by the scale, because the distribution multiplies unstated effects by it: the spread is an absolute one.
  if (spread > 0) row.unstated["cause"] = spread / std::exp(log_scale(model.scale, row));
}

}  // namespace

SiteLikelihood::SiteLikelihood(const ResidualModel& model, const std::vector<ResidualRow>& known,
                               const std::vector<double>& known_logs)
    : model_(model) {
  for (const std::size_t i : thinned(known.size(), most_rows)) {
    known_.push_back(known[i]);
    known_logs_.push_back(known_logs[i]);
  }
}

std::vector<SiteLikelihood::Group> SiteLikelihood::grouped(const std::vector<ResidualRow>& rows,
                                                           std::span<const double> logs, double spread) const {
  std::map<std::pair<std::size_t, std::size_t>, Group> groups;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    // Single rows scatter, and the mean of a band finds a small slowdown of all its sizes.
    Group& group = groups[{rows[i].series, band_of(rows[i].bytes)}];
    group.rows.push_back(rows[i]);
    widen(group.rows.back(), model_, spread);
    group.mean += logs[i];
  }
  std::vector<Group> list;
  for (auto& [key, group] : groups) {
    group.mean /= static_cast<double>(group.rows.size());
    list.push_back(std::move(group));
  }
  return list;
}

SiteLikelihood::Together SiteLikelihood::together(const std::vector<ResidualRow>& rows, std::span<const double> logs,
                                                  double spread) const {
  Together all{known_, known_logs_};
  for (const std::size_t i : thinned(rows.size(), most_rows)) {
    all.rows.push_back(rows[i]);
    all.logs.push_back(logs[i]);
    widen(all.rows.back(), model_, spread);
  }
  return all;
}

double SiteLikelihood::log_density(const std::vector<ResidualRow>& rows, std::span<const double> logs, double spread,
                                   double apart) const {
  const Together all = together(rows, logs, spread);
  // p(rows | known) = p(known, rows) / p(known), in logarithms.
  const double before = known_.empty() ? 0 : fabricast::log_density(model_, known_, known_logs_, apart);
  return fabricast::log_density(model_, all.rows, all.logs, apart) - before;
}

double SiteLikelihood::slow_tail(const std::vector<ResidualRow>& rows, std::span<const double> logs) const {
  double least = 1;
  const std::vector<Group> groups = grouped(rows, logs, 0);
  const SiteResiduals site(model_, known_, known_logs_);
  // One-sided: only slow times speak against health. The mean of a group has a variance of its own, because errors
  // inside a group are correlated (`of_mean`).
  for (const Group& group : groups) least = std::min(least, share_above(site.of_mean(group.rows), group.mean));
  return std::min(1.0, least * static_cast<double>(groups.size()));
}

double SiteLikelihood::tail(const std::vector<ResidualRow>& rows, std::span<const double> logs, double spread) const {
  double least = 1;
  const std::vector<Group> groups = grouped(rows, logs, spread);
  const SiteResiduals site(model_, known_, known_logs_);
  for (const Group& group : groups) {
    const double above = share_above(site.of_mean(group.rows), group.mean);
    // Two-sided: a cause that is simulated too slow explains as little as one that is simulated too fast.
    least = std::min({least, 2 * above, 2 * (1 - above)});
  }
  return std::min(1.0, least);
}

}  // namespace fabricast
