// `calibrate fit --cases`: fits the parameters to one site, and accepts them only if they forecast the site's own
// left-out rows better than conditioning on the other rows does (docs/models/fit.md, "A fit of your own site").
//
// A few rows can move dozens of parameters, and most moves only explain what is odd at one place. Conditioning corrects
// forecasts near the measured rows without touching parameters, so a fit must be better than that to be worth its risk.
#include "fabricast/calibrate/site_fit.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "../validate/median.hpp"
#include "fabricast/core/error.hpp"
#include "fabricast/core/parallel.hpp"
#include "fabricast/core/thin.hpp"
#include "fabricast/residual/residual.hpp"

namespace fabricast {

namespace {

/// Relative reduction of the mean error from which on fitted parameters are accepted.
constexpr double worth_it = 0.02;
constexpr std::size_t most_parts = 4;
constexpr std::size_t most_given = 200;  ///< rows to condition on; more take long

/// Rows of some cases, with ln(measured / forecast).
struct Rows {
  std::vector<ResidualRow> rows;
  std::vector<double> logs;
};

Rows rows_of(const std::vector<MeasuredCase>& cases, const Hardware& hardware) {
  std::vector<ForecastOfCase> forecasts(cases.size());
  in_parallel(cases.size(), thread_count(0),
              [&](std::size_t i) { forecasts[i] = CaseRunner(cases[i]).run(hardware, true); });
  Rows all;
  for (const ForecastOfCase& forecast : forecasts)
    for (std::size_t i = 0; i < forecast.rows.size(); ++i) {
      all.rows.push_back(forecast.residuals[i]);
      all.logs.push_back(std::log(forecast.rows[i].measured / forecast.rows[i].forecast));
    }
  return all;
}

/// The distribution of the site's errors, conditioned on known rows.
SiteResiduals site_by(const Rows& known) {
  Rows some;
  // Conditioning inverts a matrix of all given rows, so its time grows with the cube of their number.
  for (const std::size_t i : thinned(known.rows.size(), most_given)) {
    some.rows.push_back(known.rows[i]);
    some.logs.push_back(known.logs[i]);
  }
  return SiteResiduals(shipped_residuals(), std::move(some.rows), some.logs);
}

using Logs = std::array<std::vector<double>, bands.size()>;

/// Adds the errors of forecasts for `unseen` rows, by band.
void add_errors(const SiteResiduals& site, const Rows& unseen, Logs& logs) {
  // Both are ln(measured / forecast): the expected one, given the known rows, and the true one.
  for (std::size_t i = 0; i < unseen.rows.size(); ++i)
    logs[band_of(unseen.rows[i].bytes)].push_back(std::abs(site.of(unseen.rows[i]).median - unseen.logs[i]));
}

BandValues medians(const Logs& logs) {
  BandValues values{};
  for (std::size_t b = 0; b < logs.size(); ++b) values[b] = logs[b].empty() ? 0 : std::expm1(median_of(logs[b]));
  return values;
}

/// Mean absolute error over all rows. The decision uses the mean, which every row affects; the text shows medians by
/// band.
double mean(const Logs& logs) {
  double sum = 0;
  std::size_t count = 0;
  for (const auto& band : logs)
    for (const double log : band) {
      sum += log;
      ++count;
    }
  return count == 0 ? 0 : sum / static_cast<double>(count);
}

/// The part that a row belongs to. Several cases are assigned to parts as a whole; the rows of a single case in turn.
std::size_t part_of(std::size_t cases, std::size_t number, std::size_t row, std::size_t parts) {
  return (cases > 1 ? number : row) % parts;
}

/// The cases with only the rows of one part (`its`), or with all others.
std::vector<MeasuredCase> cases_of_part(const std::vector<MeasuredCase>& cases, std::size_t parts, std::size_t part,
                                        bool its) {
  std::vector<MeasuredCase> some;
  for (std::size_t c = 0; c < cases.size(); ++c) {
    MeasuredCase kept = cases[c];
    kept.rows.clear();
    for (std::size_t r = 0; r < cases[c].rows.size(); ++r)
      if ((part_of(cases.size(), c, r, parts) == part) == its) kept.rows.push_back(cases[c].rows[r]);
    if (!kept.rows.empty()) some.push_back(std::move(kept));
  }
  return some;
}

/// The same for rows that are already forecast. \pre `all` are the rows of the cases, in order
Rows rows_of_part(const Rows& all, const std::vector<MeasuredCase>& cases, std::size_t parts, std::size_t part,
                  bool its) {
  Rows some;
  std::size_t at = 0;
  for (std::size_t c = 0; c < cases.size(); ++c)
    for (std::size_t r = 0; r < cases[c].rows.size(); ++r, ++at) {
      if ((part_of(cases.size(), c, r, parts) == part) != its) continue;
      some.rows.push_back(all.rows[at]);
      some.logs.push_back(all.logs[at]);
    }
  return some;
}

/// Rows of one case in three parts leave at least two rows per part, and neighbours of each left-out size among the
/// others.
std::size_t parts_of(const std::vector<MeasuredCase>& cases) {
  if (cases.size() > 1) return std::min(cases.size(), most_parts);
  constexpr std::size_t least_rows = 6;
  return cases.front().rows.size() < least_rows ? 1 : 3;
}

/// Whether fitted parameters forecast rows that they have not seen better than the parameters at the start.
bool better(const std::vector<MeasuredCase>& cases, const Hardware& start, const FitOptions& options,
            PartErrors& errors) {
  const std::size_t parts = parts_of(cases);
  if (parts < 2) return false;
  Logs shipped, rows, fitted;
  FitOptions quiet = options;
  quiet.progress = {};
  // The shipped parameters do not depend on the part, so these forecasts are made once.
  const Rows as_it_was = rows_of(cases, start);
  for (std::size_t part = 0; part < parts; ++part) {
    const auto seen = [&](const Rows& all) { return rows_of_part(all, cases, parts, part, false); };
    const auto unseen = [&](const Rows& all) { return rows_of_part(all, cases, parts, part, true); };
    // Without given rows the median correction is zero: this is the error of the forecast as it stands.
    add_errors(SiteResiduals(shipped_residuals(), {}, {}), unseen(as_it_was), shipped);
    add_errors(site_by(seen(as_it_was)), unseen(as_it_was), rows);
    // All cases are forecast with the parameters fitted to the other parts. The fitted forecast is conditioned on the
    // seen rows as well, so both contenders use the same information and only the parameters differ.
    const Rows moved = rows_of(cases, fit_parameters(cases_of_part(cases, parts, part, false), start, quiet).hardware);
    add_errors(site_by(seen(moved)), unseen(moved), fitted);
  }
  errors = {medians(shipped), medians(rows), medians(fitted), static_cast<int>(parts)};
  return mean(fitted) < (1 - worth_it) * mean(rows);
}

/// How the timing of a case may explain a time that pulls a launch parameter beyond its prior; empty if it may not.
std::string suspect_of(const MeasuredCase& c, const std::string& path) {
  // Launch and issue costs are paid once per call, and that is where the harness shows: several GPUs per process
  // serialize their launches, and CUDA graphs shorten them.
  if (path.find("launch") == std::string::npos && path.find("issue") == std::string::npos) return {};
  if (harness_number(c, "ranks_per_process") > 1) return "one process drives several GPUs in that case";
  const auto tool = c.harness.find("tool");
  if (tool != c.harness.end() && tool->second != "nccl_tests") return "it was timed with " + tool->second;
  return "GPUs per process (-g, -t), warm-up, CUDA graphs";
}

/// Parameters beyond the 99 % range of their priors, each with the row that comes closest to its measurement by the
/// move.
std::vector<Doubt> doubts_of(const std::vector<MeasuredCase>& cases, const Hardware& start, const Fit& fit) {
  std::vector<Doubt> doubts;
  // 2.576 and 1.645 are the quantiles of the normal distribution for 99 % and 90 % intervals. The side of the interval
  // in the direction of the move counts, because intervals are not symmetric.
  constexpr double of_99 = 2.576 / quantile_95;
  std::map<std::string, std::string> units;
  Hardware all = start;
  for (const auto& [path, ref] : all.all_parameters(true)) units[path] = ref.unit;
  for (const FittedParameter& p : fit.parameters) {
    // A prior whose interval reaches zero has no logarithmic width to compare a move with.
    if (!(p.before.low > 0) || !(p.before.value > 0) || !(p.after.value > 0)) continue;
    const double moved = std::log(p.after.value / p.before.value);
    const double room = moved > 0 ? std::log(p.before.high / p.before.value) : std::log(p.before.value / p.before.low);
    if (std::abs(moved) <= of_99 * room + 1e-9) continue;
    Doubt doubt{p.path, units[p.path], p.before.value, p.after.value, {}, 0, {}};
    // The row that explains the move best: its error with all fitted parameters, against its error with this one put
    // back.
    Hardware without = fit.hardware;
    *without.find(p.path) = p.before;
    double most = 0;
    for (const MeasuredCase& c : cases) {
      const CaseRunner runner(c);
      if (!runner.uses(p.path)) continue;
      const ForecastOfCase with = runner.run(fit.hardware), other = runner.run(without);
      for (std::size_t i = 0; i < with.rows.size(); ++i) {
        const auto off = [&](const ForecastOfCase& f) {
          return std::abs(std::log(f.rows[i].forecast / f.rows[i].measured));
        };
        if (const double nearer = off(other) - off(with); nearer > most) {
          most = nearer;
          doubt.case_id = c.id;
          doubt.bytes = c.rows[i].bytes;
          doubt.instead = suspect_of(c, p.path);
        }
      }
    }
    doubts.push_back(std::move(doubt));
  }
  return doubts;
}

/// Intervals to expect for the case with the most nodes, on 1, 2, 4 and 16 times as many.
std::vector<LargerJob> larger_jobs(const std::vector<MeasuredCase>& cases, const Hardware& hardware) {
  const auto fewer = [](const MeasuredCase& a, const MeasuredCase& b) { return a.nodes < b.nodes; };
  const MeasuredCase& largest = *std::max_element(cases.begin(), cases.end(), fewer);
  const SiteResiduals site = site_by(rows_of(cases, hardware));
  std::vector<LargerJob> jobs;
  for (const int times : {1, 2, 4, 16}) {
    MeasuredCase larger = largest;
    larger.nodes *= times;
    Rows rows;
    try {
      rows = rows_of({larger}, hardware);
    } catch (const UserError&) { continue; }  // for example, nodes without NICs
    std::array<std::vector<double>, bands.size()> widths;
    for (const ResidualRow& row : rows.rows)
      widths[band_of(row.bytes)].push_back(std::expm1(site.of(row).half_width()));
    LargerJob job{larger.nodes, {}};
    for (std::size_t b = 0; b < bands.size(); ++b) job.half_width[b] = widths[b].empty() ? 0 : median_of(widths[b]);
    jobs.push_back(job);
  }
  return jobs;
}

}  // namespace

SiteFit fit_site(const std::vector<MeasuredCase>& cases, const Hardware& start, const FitOptions& options) {
  SiteFit site;
  site.seen = cases;
  site.refused = !better(cases, start, options, site.errors);
  // The fit to all rows is made even if it is refused: its doubtful parameters tell the user where the rows disagree
  // with the model.
  site.fit = fit_parameters(cases, start, options);
  site.doubts = doubts_of(cases, start, site.fit);
  if (site.refused) {
    site.fit.hardware = start;
    site.fit.loss_after = site.fit.loss_before;
    site.fit.parameters.clear();
  }
  // After the decision, so that the intervals are those of the forecasts that the profile will give.
  site.larger = larger_jobs(cases, site.fit.hardware);
  return site;
}

}  // namespace fabricast
