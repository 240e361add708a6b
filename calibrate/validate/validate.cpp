// Errors of forecasts of collectives by system and size band, and their text. validate.hpp defines the statistics.
// Medians are used because a few rows of a site may be off for reasons of their own, and systems count alike because
// the number of their rows says how much somebody measured and not how much is known.
#include "fabricast/calibrate/validate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "interval_of.hpp"
#include "median.hpp"

namespace fabricast {

std::string percent_text(const std::optional<MedianInterval>& interval) {
  return interval ? fmt::format("{:.1f} to {:.1f}", 100 * interval->low, 100 * interval->high) : "";
}

void add_errors(const std::string& system, const ForecastOfCase& forecast, std::vector<ErrorRow>& errors) {
  // NCCL makes no estimate for sends and receives.
  for (const auto& row : forecast.rows)
    errors.push_back({system, band_of(row.bytes), std::log(row.forecast / row.measured), std::log(row.factor),
                      row.nccl > Seconds{} ? std::optional(std::log(row.nccl / row.measured)) : std::nullopt});
}

std::vector<ErrorRow> errors_of(const std::vector<CaseResult>& cases) {
  std::vector<ErrorRow> errors;
  for (const CaseResult& c : cases) add_errors(c.system, c.forecast, errors);
  return errors;
}

BesideNccl beside_nccl(const std::vector<ErrorRow>& rows) {
  struct Cell {
    std::vector<double> ours, nccl;
  };
  std::map<std::pair<std::size_t, std::string>, Cell> cells;
  for (const ErrorRow& row : rows) {
    if (!row.nccl_log_ratio) continue;
    Cell& cell = cells[{row.band, row.system}];
    cell.ours.push_back(std::abs(row.log_ratio));
    cell.nccl.push_back(std::abs(*row.nccl_log_ratio));
  }
  // The same rows for both, so that one is not judged on easier sizes than the other.
  BesideNccl beside;
  std::array<Cell, bands.size()> by_band;
  for (const auto& [key, cell] : cells) {
    const double ours = median_of(cell.ours), nccl = median_of(cell.nccl);
    // Errors are added up by system, so the comparison has as many votes as systems.
    by_band[key.first].ours.push_back(std::expm1(ours));
    by_band[key.first].nccl.push_back(std::expm1(nccl));
    ++beside.cells[key.first];
    beside.nearer[key.first] += ours < nccl ? 1 : 0;
  }
  for (std::size_t b = 0; b < bands.size(); ++b) {
    beside.ours[b] = median_of(by_band[b].ours);
    beside.nccl[b] = median_of(by_band[b].nccl);
  }
  return beside;
}

ErrorTable error_table(const std::vector<ErrorRow>& rows) {
  ErrorTable table;
  std::map<std::pair<std::string, std::size_t>, std::vector<double>> logs;
  std::map<std::pair<std::string, std::size_t>, int> inside;
  std::map<std::pair<std::string, std::size_t>, std::vector<double>> widths;
  for (const ErrorRow& row : rows) {
    logs[{row.system, row.band}].push_back(row.log_ratio);
    widths[{row.system, row.band}].push_back(row.within);
    // `within` is the half width of the interval in the logarithm; 0 without intervals.
    inside[{row.system, row.band}] += std::abs(row.log_ratio) <= row.within ? 1 : 0;
  }
  std::array<std::vector<double>, bands.size()> factors;
  std::array<std::vector<double>, bands.size()> errors;
  for (const auto& [key, values] : logs) {
    std::vector<double> absolute = values;
    for (double& x : absolute) x = std::abs(x);
    ErrorTable::Cell& cell = table.systems[key.first][key.second];
    // error = exp(median |x|) - 1, bias = exp(median x) - 1, with x = ln(forecast / measured).
    cell = {std::expm1(median_of(absolute)), std::expm1(median_of(values)), static_cast<int>(values.size())};
    errors[key.second].push_back(cell.error);
    table.covered[key.second] += static_cast<double>(inside[key]) / cell.rows;
    factors[key.second].push_back(std::expm1(median_of(widths[key])));
  }
  for (std::size_t b = 0; b < bands.size(); ++b) {
    if (errors[b].empty()) continue;
    std::sort(errors[b].begin(), errors[b].end());
    table.median[b] = median_of(errors[b]);
    table.median_interval[b] = interval_of(errors[b], median_of);
    table.width[b] = median_of(factors[b]);
    table.covered[b] /= static_cast<double>(errors[b].size());
    // The 90th percentile over systems, without interpolation.
    table.worst_decile[b] = errors[b][std::min(errors[b].size() - 1, errors[b].size() * 9 / 10)];
    for (const double e : errors[b]) table.mean[b] += e / static_cast<double>(errors[b].size());
  }
  table.rows = static_cast<int>(rows.size());
  table.beside_nccl = beside_nccl(rows);
  return table;
}

std::array<double, 2> error_halves(const std::vector<ErrorRow>& rows) {
  std::array<double, 2> medians{};
  for (const std::size_t half : {0, 1}) {
    std::map<std::string, std::vector<double>> errors;
    // Bands 0 and 1 are below 1 MiB, 2 and 3 from 1 MiB on.
    for (const ErrorRow& row : rows)
      if (row.band / 2 == half) errors[row.system].push_back(std::abs(row.log_ratio));
    std::vector<double> of_systems;
    for (const auto& [system, values] : errors) of_systems.push_back(std::expm1(median_of(values)));
    if (!of_systems.empty()) medians[half] = median_of(of_systems);
  }
  return medians;
}

Validation validate_cases(const std::vector<MeasuredCase>& cases, const Hardware& hardware) {
  Validation v;
  // All rows of all cases that run, set aside or not.
  std::vector<ErrorRow> rows;
  for (const MeasuredCase& c : cases) {
    try {
      v.cases.push_back({c.id, c.system, CaseRunner(c).run(hardware)});
    } catch (const UserError& e) {
      // A case that is refused is reported and does not end the validation of the others.
      v.failed.emplace_back(c.id, e.what());
      continue;
    }
    add_errors(c.system, v.cases.back().forecast, rows);
    // Stand-ins count in the errors here, because a user gets them too. No fit uses them.
    for (const auto& row : v.cases.back().forecast.rows) v.stand_ins += row.served ? 0 : 1;
  }
  v.errors = error_table(rows);
  // Pairs need the case of each forecast; cases that failed are missing in `v.cases`.
  std::map<std::string, const MeasuredCase*> by_id;
  for (const MeasuredCase& c : cases) by_id[c.id] = &c;
  std::vector<TimedCase> timed;
  for (const auto& c : v.cases) {
    timed.push_back({by_id.at(c.id), {}});
    for (const auto& row : c.forecast.rows) timed.back().forecast.push_back(row.forecast.value);
  }
  v.pairs = find_pairs(timed);
  return v;
}

namespace {

/// One line of a table: a name, and the text that `value` returns for each band.
template <class Value>
std::string line_text(std::string_view name, Value value) {
  std::string out = fmt::format("{:<18}", name);
  for (std::size_t b = 0; b < bands.size(); ++b) out += value(b);
  return out + "\n";
}

/// The line of the median's interval. Empty if no band has one.
std::string interval_text(const ErrorTable& table) {
  const auto& intervals = table.median_interval;
  if (std::none_of(intervals.begin(), intervals.end(), [](const auto& interval) { return interval.has_value(); }))
    return "";
  return line_text("90 % INTERVAL", [&](std::size_t b) { return fmt::format("{:>16}  ", percent_text(intervals[b])); });
}

std::string values_text(std::string_view name, const BandValues& values) {
  return line_text(name, [&](std::size_t b) { return fmt::format("{:>9.1f}         ", 100 * values[b]); });
}

/// The comparison with NCCL's estimates. Empty if NCCL makes none.
std::string beside_nccl_text(const BesideNccl& b) {
  if (b.cells == decltype(b.cells){}) return "";
  return "compared with NCCL's own estimate, where it makes one: median over systems, and in how many of them ours is "
         "closer\n" +
         values_text("OURS", b.ours) + values_text("NCCL'S", b.nccl) +
         line_text("CLOSER", [&](std::size_t k) { return fmt::format("{:>9} of {:<6}", b.nearer[k], b.cells[k]); });
}

/// Errors before > after, by system and over all systems. If only `after` has intervals, their lines show one value.
std::string change_text(const ErrorTable& before, const ErrorTable& after, bool mean) {
  std::string out;
  for (const auto& [system, cells] : after.systems)
    out += line_text(system, [&, &its = before.systems.at(system), &own = cells](std::size_t b) {
      return own[b].rows ? fmt::format("{:>7.1f} >{:>6.1f}{}  ", 100 * its[b].error, 100 * own[b].error,
                                       own[b].bias > 0 ? '+' : '-')
                         : fmt::format("{:18}", "");
    });
  const auto both = [&](std::string_view name, const BandValues& a, const BandValues& b) {
    out += line_text(name, [&](std::size_t k) { return fmt::format("{:>7.1f} >{:>6.1f}   ", 100 * a[k], 100 * b[k]); });
  };
  both("MEDIAN", before.median, after.median);
  out += interval_text(after);
  if (mean) both("MEAN", before.mean, after.mean);
  both("WORST DECILE", before.worst_decile, after.worst_decile);
  const auto interval = [&](std::string_view name, const BandValues& a, const BandValues& b) {
    if (before.has_intervals()) return both(name, a, b);
    out += line_text(name, [&](std::size_t k) { return fmt::format("{:>14.1f}    ", 100 * b[k]); });
  };
  interval("COVERED", before.covered, after.covered);
  interval("WIDTH", before.width, after.width);
  out += beside_nccl_text(after.beside_nccl);
  return out;
}

std::string calibrated_text(const Calibrated& c) {
  constexpr bool mean = false;
  return "larger jobs, calibrated with jobs of one and two nodes: median error in % before > calibrated\n" +
         change_text(c.larger_before, c.larger_after, mean) +
         fmt::format("median over systems below 1 MiB {:.1f} > {:.1f} %, from 1 MiB on {:.1f} > {:.1f} %\n",
                     100 * c.larger_halves_before[0], 100 * c.larger_halves_after[0], 100 * c.larger_halves_before[1],
                     100 * c.larger_halves_after[1]) +
         "other sizes, calibrated with two of three: median error in % before > calibrated\n" +
         change_text(c.sizes_before, c.sizes_after, mean);
}

}  // namespace

std::string validation_text(const Validation& v, bool rows) {
  std::string out;
  if (rows)
    for (const auto& c : v.cases) {
      out += c.id + "\n";
      for (const auto& r : c.forecast.rows)
        out += fmt::format("  {:>12} {:>11.1f} {:>11.1f} {:>+7.0f} %  {}/{}{}\n", r.bytes, microseconds(r.measured),
                           microseconds(r.forecast), 100 * (r.forecast / r.measured - 1), name_of(r.algorithm),
                           name_of(r.protocol), r.served ? "" : "  (stand-in)");
    }
  out += fmt::format("{:<18}", "system");
  for (const Band& b : bands) out += fmt::format("{:>18}", b.name);
  out += "   median error in %, sign of the bias, rows\n";
  for (const auto& [system, cells] : v.errors.systems)
    out += line_text(system, [&own = cells](std::size_t b) {
      return own[b].rows
                 ? fmt::format("{:>9.1f}{} ({:>4})  ", 100 * own[b].error, own[b].bias > 0 ? '+' : '-', own[b].rows)
                 : fmt::format("{:18}", "");
    });
  out += values_text("MEDIAN", v.errors.median);
  out += interval_text(v.errors);
  out += values_text("MEAN", v.errors.mean);
  out += values_text("WORST DECILE", v.errors.worst_decile);
  out += beside_nccl_text(v.errors.beside_nccl);
  out += directions_text(v.pairs);
  for (const LeaveOneOut& l : v.leave_out)
    out += fmt::format("left out of the fit by {}: median error in % in sample > left out\n", name_of(l.by)) +
           change_text(l.in_sample, l.left_out, true);
  if (v.calibrated) out += calibrated_text(*v.calibrated);
  for (const auto& [id, why] : v.failed) out += fmt::format("did not run: {}: {}\n", id, why);
  out += fmt::format("{} cases, {} rows, {} of them by a stand-in for NCCL's choice; {} did not run\n", v.cases.size(),
                     v.errors.rows, v.stand_ins, v.failed.size());
  return out;
}

}  // namespace fabricast
