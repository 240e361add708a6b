// The study of forecasts that are conditioned on few rows, and its table.
//
// It measures what a user gains by a few measured rows, so rows, systems and models are all of the held-out kind:
// forecasts by fits without the site, and a model of errors that has not seen it.
#include "fabricast/calibrate/conditioned.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "fabricast/core/parallel.hpp"
#include "fabricast/core/thin.hpp"

namespace fabricast {

namespace {

/// `count` rows of a sweep, evenly spaced over its sizes; none if the sweep has no more rows than that.
std::vector<std::size_t> pick(const std::vector<std::size_t>& sweep, std::size_t count) {
  if (sweep.size() <= count) return {};
  std::vector<std::size_t> picked;
  for (std::size_t i = 0; i < count; ++i) {
    // One row is the smallest size; more include both ends of the sweep.
    const double at = count == 1 ? 0 : static_cast<double>(i * (sweep.size() - 1)) / static_cast<double>(count - 1);
    picked.push_back(sweep[static_cast<std::size_t>(std::lround(at))]);
  }
  return picked;
}

/// The rows of a system by sweep.
struct Sweeps {
  const SystemResiduals* system;
  std::vector<std::vector<std::size_t>> sweeps;  ///< indices of rows, by increasing size
};

Sweeps sweeps_of(const SystemResiduals& system) {
  std::map<std::size_t, std::vector<std::size_t>> by_case;
  for (std::size_t i = 0; i < system.rows.size(); ++i) by_case[system.cases[i]].push_back(i);
  Sweeps result{&system, {}};
  for (auto& [number, rows] : by_case) {
    std::stable_sort(rows.begin(), rows.end(),
                     [&](std::size_t a, std::size_t b) { return system.rows[a].bytes < system.rows[b].bytes; });
    result.sweeps.push_back(std::move(rows));
  }
  return result;
}

SiteResiduals given(const ResidualModel& model, const SystemResiduals& system, const std::vector<std::size_t>& rows) {
  std::vector<ResidualRow> known;
  std::vector<double> logs;
  for (const std::size_t i : rows) {
    known.push_back(system.rows[i]);
    logs.push_back(system.logs[i]);
  }
  return SiteResiduals(model, std::move(known), logs);
}

ErrorRow error_of(const SystemResiduals& system, std::size_t row, const SiteResiduals& site) {
  const Residual r = site.of(system.rows[row]);
  // r.median is the expected ln(measured / forecast), so the difference is ln(conditioned forecast / measured).
  return {system.system, band_of(system.rows[row].bytes), r.median - system.logs[row], r.half_width()};
}

struct Errors {
  std::vector<ErrorRow> all, same, other;
};

Errors few_errors(const ResidualModel& model, const Sweeps& of, std::size_t count) {
  Errors errors;
  constexpr std::size_t most_sweeps = 12;  // of a system; more take long
  // Each sweep in turn gives the known rows; all other rows of the system are forecast. Rows of the same sweep and of
  // other sweeps are counted apart, because the former are mostly interpolation.
  for (const std::size_t s : thinned(of.sweeps.size(), most_sweeps)) {
    const std::vector<std::size_t> picked = pick(of.sweeps[s], count);
    if (picked.empty()) continue;
    const SiteResiduals site = given(model, *of.system, picked);
    for (std::size_t o = 0; o < of.sweeps.size(); ++o)
      for (const std::size_t row : of.sweeps[o]) {
        if (std::find(picked.begin(), picked.end(), row) != picked.end()) continue;
        const ErrorRow error = error_of(*of.system, row, site);
        errors.all.push_back(error);
        (o == s ? errors.same : errors.other).push_back(error);
      }
  }
  return errors;
}

void append(std::vector<ErrorRow>& list, const std::vector<ErrorRow>& more) {
  list.insert(list.end(), more.begin(), more.end());
}

}  // namespace

ConditionedStudy conditioned_study(const LeftOutErrors& left_out) {
  const std::vector<SystemResiduals>& systems = left_out.systems;
  const std::vector<ResidualModel>& models = left_out.without;
  constexpr std::array<std::size_t, 3> counts = {1, 2, 4};
  std::array<std::vector<Errors>, counts.size()> few;
  for (auto& list : few) list.resize(systems.size());
  std::vector<std::vector<ErrorRow>> before(systems.size()), after(systems.size());
  in_parallel(systems.size(), thread_count(0), [&](std::size_t k) {
    const Sweeps sweeps = sweeps_of(systems[k]);
    for (std::size_t c = 0; c < counts.size(); ++c) few[c][k] = few_errors(models[k], sweeps, counts[c]);
    std::vector<std::size_t> small, large;
    constexpr std::int64_t few_nodes = 2;
    for (std::size_t i = 0; i < systems[k].rows.size(); ++i)
      (systems[k].rows[i].nodes <= few_nodes ? small : large).push_back(i);
    if (small.empty() || large.empty()) return;
    // Conditioning is cubic in the number of given rows.
    constexpr std::size_t most_known = 120;
    std::vector<std::size_t> known;
    for (const std::size_t i : thinned(small.size(), most_known)) known.push_back(small[i]);
    // The same rows are forecast without and with the given ones, so that the two lines of the table compare.
    const SiteResiduals nothing(models[k], {}, {}), site = given(models[k], systems[k], known);
    for (const std::size_t row : large) {
      before[k].push_back(error_of(systems[k], row, nothing));
      after[k].push_back(error_of(systems[k], row, site));
    }
  });
  ConditionedStudy study;
  for (std::size_t c = 0; c < counts.size(); ++c) {
    Errors all;
    for (const Errors& e : few[c]) {
      append(all.all, e.all);
      append(all.same, e.same);
      append(all.other, e.other);
    }
    study.few.push_back(
        {static_cast<int>(counts[c]), error_table(all.all), error_table(all.same), error_table(all.other)});
  }
  std::vector<ErrorRow> larger_before, larger_after;
  for (std::size_t k = 0; k < systems.size(); ++k) append(larger_before, before[k]), append(larger_after, after[k]);
  study.larger_before = error_table(larger_before);
  study.larger_after = error_table(larger_after);
  for (const auto& [system, cells] : study.larger_after.systems)
    for (std::size_t b = 0; b < bands.size(); ++b) {
      if (cells[b].rows == 0) continue;
      constexpr double two_points = 0.02;
      ++study.cells;
      // Counts how often rows of small jobs mislead.
      study.worse += cells[b].error > study.larger_before.systems.at(system)[b].error + two_points ? 1 : 0;
    }
  return study;
}

std::string conditioned_text(const ConditionedStudy& study) {
  std::string out;
  const auto line = [&](const std::string& name, const ErrorTable& t) {
    out += fmt::format("{:<34}", name);
    for (std::size_t b = 0; b < bands.size(); ++b) out += fmt::format("{:>7.1f}", 100 * t.median[b]);
    out += "   covered";
    for (std::size_t b = 0; b < bands.size(); ++b) out += fmt::format("{:>5.0f}", 100 * t.covered[b]);
    out += "   half width";
    for (std::size_t b = 0; b < bands.size(); ++b) out += fmt::format("{:>6.0f}", 100 * t.width[b]);
    out += "\n";
  };
  for (const auto& few : study.few) {
    const std::string given = fmt::format("{} {} given", few.rows, few.rows == 1 ? "row" : "rows");
    line(given + ", all others", few.all);
    line(given + ", same sweep", few.same_sweep);
    line(given + ", other sweeps", few.other_sweeps);
  }
  line("larger jobs, nothing given", study.larger_before);
  line("larger jobs, 1 and 2 nodes given", study.larger_after);
  return out + fmt::format("of {} such cells (system and band), {} are worse by more than two points\n", study.cells,
                           study.worse);
}

}  // namespace fabricast
