#include "fabricast/calibrate/validate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "fabricast/core/quantity.hpp"

namespace fabricast {

namespace {

/// As Python's statistics.median: the mean of the middle two of an even number.
double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

}  // namespace

ErrorTable error_table(const std::vector<ErrorRow>& rows) {
  ErrorTable table;
  std::map<std::pair<std::string, std::size_t>, std::vector<double>> logs;
  for (const ErrorRow& row : rows) logs[{row.system, row.band}].push_back(row.log_ratio);
  std::array<std::vector<double>, bands.size()> errors;
  for (const auto& [key, values] : logs) {
    std::vector<double> absolute = values;
    for (double& x : absolute) x = std::abs(x);
    ErrorTable::Cell& cell = table.systems[key.first][key.second];
    cell = {std::expm1(median_of(absolute)), std::expm1(median_of(values)), static_cast<int>(values.size())};
    errors[key.second].push_back(cell.error);
  }
  for (std::size_t b = 0; b < bands.size(); ++b) {
    if (errors[b].empty()) continue;
    std::sort(errors[b].begin(), errors[b].end());
    table.median[b] = median_of(errors[b]);
    table.worst_decile[b] = errors[b][std::min(errors[b].size() - 1, errors[b].size() * 9 / 10)];
    for (const double e : errors[b]) table.mean[b] += e / static_cast<double>(errors[b].size());
  }
  table.rows = static_cast<int>(rows.size());
  return table;
}

Validation validate_cases(const std::vector<MeasuredCase>& cases, const Hardware& hardware) {
  Validation v;
  std::vector<ErrorRow> rows;
  for (const MeasuredCase& c : cases) {
    if (!has_schedule(c)) {
      v.unserved.push_back(c.id);
      v.unserved_rows += static_cast<int>(c.rows.size());
      continue;
    }
    try {
      v.cases.push_back({c.id, c.system, CaseRunner(c).run(hardware)});
    } catch (const UserError& e) {
      v.failed.emplace_back(c.id, e.what());
      continue;
    }
    for (const auto& row : v.cases.back().forecast.rows)
      if (row.served)
        rows.push_back({c.system, band_of(row.bytes), std::log(row.forecast / row.measured)});
      else
        ++v.unserved_rows;
  }
  v.errors = error_table(rows);
  return v;
}

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
  for (const auto& [id, why] : v.failed) out += fmt::format("did not run: {}: {}\n", id, why);
  out += fmt::format("{} cases, {} rows; {} rows of algorithms without schedule not counted; {} did not run\n",
                     v.cases.size(), v.errors.rows, v.unserved_rows, v.failed.size());
  return out;
}

}  // namespace fabricast
