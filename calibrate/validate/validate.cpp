#include "fabricast/calibrate/validate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "median.hpp"

namespace fabricast {

void add_errors(const std::string& system, const ForecastOfCase& forecast, std::vector<ErrorRow>& errors) {
  for (const auto& row : forecast.rows)
    errors.push_back({system, band_of(row.bytes), std::log(row.forecast / row.measured), std::log(row.factor)});
}

ErrorTable error_table(const std::vector<ErrorRow>& rows) {
  ErrorTable table;
  std::map<std::pair<std::string, std::size_t>, std::vector<double>> logs;
  std::map<std::pair<std::string, std::size_t>, int> inside;
  std::map<std::pair<std::string, std::size_t>, std::vector<double>> widths;
  for (const ErrorRow& row : rows) {
    logs[{row.system, row.band}].push_back(row.log_ratio);
    widths[{row.system, row.band}].push_back(row.within);
    inside[{row.system, row.band}] += std::abs(row.log_ratio) <= row.within ? 1 : 0;
  }
  std::array<std::vector<double>, bands.size()> factors;
  std::array<std::vector<double>, bands.size()> errors;
  for (const auto& [key, values] : logs) {
    std::vector<double> absolute = values;
    for (double& x : absolute) x = std::abs(x);
    ErrorTable::Cell& cell = table.systems[key.first][key.second];
    cell = {std::expm1(median_of(absolute)), std::expm1(median_of(values)), static_cast<int>(values.size())};
    errors[key.second].push_back(cell.error);
    table.covered[key.second] += static_cast<double>(inside[key]) / cell.rows;
    factors[key.second].push_back(std::expm1(median_of(widths[key])));
  }
  for (std::size_t b = 0; b < bands.size(); ++b) {
    if (errors[b].empty()) continue;
    std::sort(errors[b].begin(), errors[b].end());
    table.median[b] = median_of(errors[b]);
    table.width[b] = median_of(factors[b]);
    table.covered[b] /= static_cast<double>(errors[b].size());
    table.worst_decile[b] = errors[b][std::min(errors[b].size() - 1, errors[b].size() * 9 / 10)];
    for (const double e : errors[b]) table.mean[b] += e / static_cast<double>(errors[b].size());
  }
  table.rows = static_cast<int>(rows.size());
  return table;
}

std::array<double, 2> error_halves(const std::vector<ErrorRow>& rows) {
  std::array<double, 2> medians{};
  for (const std::size_t half : {0, 1}) {
    std::map<std::string, std::vector<double>> errors;
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
  std::vector<ErrorRow> rows;
  for (const MeasuredCase& c : cases) {
    try {
      v.cases.push_back({c.id, c.system, CaseRunner(c).run(hardware)});
    } catch (const UserError& e) {
      v.failed.emplace_back(c.id, e.what());
      continue;
    }
    add_errors(c.system, v.cases.back().forecast, rows);
    for (const auto& row : v.cases.back().forecast.rows) v.stand_ins += row.served ? 0 : 1;
  }
  v.errors = error_table(rows);
  std::map<std::string, const MeasuredCase*> by_id;
  for (const MeasuredCase& c : cases) by_id[c.id] = &c;
  std::vector<TimedCase> timed;
  for (const auto& c : v.cases) {
    timed.push_back({by_id.at(c.id), {}});
    for (const auto& row : c.forecast.rows) timed.back().forecast.push_back(row.forecast);
  }
  v.pairs = find_pairs(timed);
  return v;
}

namespace {

std::string calibrated_text(const Calibrated& c) {
  std::string out;
  const auto table = [&](std::string_view what, const ErrorTable& before, const ErrorTable& after) {
    out += fmt::format("{}: median error in % before > calibrated\n", what);
    const auto line = [&](std::string_view name, const auto& value) {
      out += fmt::format("{:<18}", name);
      for (std::size_t b = 0; b < bands.size(); ++b) out += value(b);
      out += "\n";
    };
    for (const auto& [system, cells] : after.systems)
      line(system, [&, &its = before.systems.at(system), &own = cells](std::size_t b) {
        return own[b].rows ? fmt::format("{:>7.1f} >{:>6.1f}{}  ", 100 * its[b].error, 100 * own[b].error,
                                         own[b].bias > 0 ? '+' : '-')
                           : fmt::format("{:18}", "");
      });
    const auto both = [&](std::string_view name, const auto& a, const auto& b) {
      line(name, [&](std::size_t k) { return fmt::format("{:>7.1f} >{:>6.1f}   ", 100 * a[k], 100 * b[k]); });
    };
    both("MEDIAN", before.median, after.median);
    both("WORST DECILE", before.worst_decile, after.worst_decile);
    const auto one = [&](std::string_view name, const auto& a) {
      line(name, [&](std::size_t k) { return fmt::format("{:>14.1f}    ", 100 * a[k]); });
    };
    one("COVERED", after.covered);
    one("WIDTH", after.width);
  };
  table("larger jobs, calibrated with those of one and two nodes", c.larger_before, c.larger_after);
  out += fmt::format("median over systems below 1 MiB {:.1f} > {:.1f} %, from 1 MiB on {:.1f} > {:.1f} %\n",
                     100 * c.larger_halves_before[0], 100 * c.larger_halves_after[0], 100 * c.larger_halves_before[1],
                     100 * c.larger_halves_after[1]);
  table("other sizes, calibrated with two of three", c.sizes_before, c.sizes_after);
  return out;
}

}  // namespace

std::string validation_text(const Validation& v, bool rows) {
  std::string out;
  if (rows)
    for (const auto& c : v.cases) {
      out += c.id + "\n";
      for (const auto& r : c.forecast.rows)
        out += fmt::format("  {:>12} {:>11.1f} {:>11.1f} {:>+7.0f} %  {}/{}{}\n", r.bytes, r.measured * 1e6,
                           r.forecast * 1e6, 100 * (r.forecast / r.measured - 1), name_of(r.algorithm),
                           name_of(r.protocol), r.served ? "" : "  (stands in)");
    }
  out += fmt::format("{:<18}", "system");
  for (const Band& b : bands) out += fmt::format("{:>18}", b.name);
  out += "   median error in %, sign of the bias, rows\n";
  for (const auto& [system, cells] : v.errors.systems) {
    out += fmt::format("{:<18}", system);
    for (const auto& cell : cells)
      out += cell.rows
                 ? fmt::format("{:>9.1f}{} ({:>4})", 100 * cell.error, cell.bias > 0 ? '+' : '-', cell.rows) + "  "
                 : fmt::format("{:18}", "");
    out += "\n";
  }
  const auto summary = [&](std::string_view name, const std::array<double, bands.size()>& values) {
    out += fmt::format("{:<18}", name);
    for (const double x : values) out += fmt::format("{:>9.1f}         ", 100 * x);
    out += "\n";
  };
  summary("MEDIAN", v.errors.median);
  summary("MEAN", v.errors.mean);
  summary("WORST DECILE", v.errors.worst_decile);
  out += directions_text(v.pairs);
  if (v.leave_one_out) {
    const auto& [in_sample, left_out] = *v.leave_one_out;
    out += "left out of the fit: median error in % in sample > left out\n";
    for (const auto& [system, cells] : left_out.systems) {
      out += fmt::format("{:<18}", system);
      for (std::size_t b = 0; b < bands.size(); ++b)
        out += cells[b].rows ? fmt::format("{:>7.1f} >{:>6.1f}{}  ", 100 * in_sample.systems.at(system)[b].error,
                                           100 * cells[b].error, cells[b].bias > 0 ? '+' : '-')
                             : fmt::format("{:18}", "");
      out += "\n";
    }
    const auto both = [&](std::string_view name, const auto& before, const auto& after) {
      out += fmt::format("{:<18}", name);
      for (std::size_t b = 0; b < bands.size(); ++b)
        out += fmt::format("{:>7.1f} >{:>6.1f}   ", 100 * before[b], 100 * after[b]);
      out += "\n";
    };
    both("MEDIAN", in_sample.median, left_out.median);
    both("MEAN", in_sample.mean, left_out.mean);
    both("WORST DECILE", in_sample.worst_decile, left_out.worst_decile);
    both("COVERED", in_sample.covered, left_out.covered);
    both("WIDTH", in_sample.width, left_out.width);
  }
  if (v.calibrated) out += calibrated_text(*v.calibrated);
  for (const auto& [id, why] : v.failed) out += fmt::format("did not run: {}: {}\n", id, why);
  out += fmt::format("{} cases, {} rows, {} of them by another algorithm than NCCL's; {} did not run\n", v.cases.size(),
                     v.errors.rows, v.stand_ins, v.failed.size());
  return out;
}

}  // namespace fabricast
