// Separates the errors of systems into a level, which a few measured rows would correct, and a shape, which they would
// not.
//
//   level of a system in a band = median of ln(forecast / measured) over its rows there
//
// With one factor per system or band removed, what is left is the error of the shape. The difference to the error as
// forecast is what distinguishes sites with equal parts, and no model of the parts can predict it.
#include "fabricast/calibrate/levels.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "median.hpp"

namespace fabricast {

namespace {

/// ln(forecast / measured) of the rows of each band.
using Curve = std::array<std::vector<double>, bands.size()>;

std::map<std::string, Curve> curves_of(const std::vector<ErrorRow>& rows) {
  std::map<std::string, Curve> curves;
  for (const ErrorRow& row : rows) curves[row.system][row.band].push_back(row.log_ratio);
  return curves;
}

/// The common level of a system, in which each of its bands counts alike.
double common_level(const Curve& curve) {
  // The mean over bands of the medians, not the median over rows: bands differ in their numbers of rows.
  double sum = 0;
  int counted = 0;
  for (const std::vector<double>& band : curve)
    if (!band.empty()) {
      sum += median_of(band);
      ++counted;
    }
  return counted ? sum / counted : 0;
}

/// The median error of a band after the level has been removed.
double error_without(const std::vector<double>& logs, double level) {
  std::vector<double> absolute;
  for (const double x : logs) absolute.push_back(std::abs(x - level));
  return std::expm1(median_of(std::move(absolute)));
}

struct Cause {
  std::string_view name;
  bool (*holds)(const MeasuredCase& c);
};
// Properties that might explain a level. If systems with and without one have similar levels, it explains nothing.
constexpr std::array causes = {
    Cause{"a process drives several GPUs",
          [](const MeasuredCase& c) { return harness_number(c, "ranks_per_process") > 1; }},
    Cause{"the NCCL version is not stated", [](const MeasuredCase& c) { return c.nccl_version.empty(); }},
    Cause{"GPUDirect RDMA is not stated", [](const MeasuredCase& c) { return c.nodes > 1 && !c.gdr; }},
    Cause{"NCCL variables are set", [](const MeasuredCase& c) { return !c.env.empty(); }},
    Cause{"several nodes", [](const MeasuredCase& c) { return c.nodes > 1; }},
};

}  // namespace

Levels levels_of(const std::vector<ErrorRow>& rows) {
  Levels levels;
  std::array<std::array<std::vector<double>, 4>, bands.size()> values;
  for (const auto& [system, curve] : curves_of(rows)) {
    const double common = common_level(curve);
    for (std::size_t b = 0; b < bands.size(); ++b) {
      if (curve[b].empty()) continue;
      const double own = median_of(curve[b]);
      // Absolute errors in the band: as forecast, and with the common and the own level removed; and the level itself.
      auto& [as_is, one, each, level] = values[b];
      as_is.push_back(error_without(curve[b], 0));
      one.push_back(error_without(curve[b], common));
      each.push_back(error_without(curve[b], own));
      level.push_back(std::expm1(std::abs(own)));
    }
  }
  for (std::size_t b = 0; b < bands.size(); ++b) {
    auto& [as_is, one, each, level] = values[b];
    levels.as_is[b] = median_of(as_is);
    levels.one_factor[b] = median_of(one);
    levels.factor_per_band[b] = median_of(each);
    std::sort(level.begin(), level.end());
    // The 90th percentile without interpolation.
    if (!level.empty()) levels.nine_of_ten[b] = level[std::min(level.size() - 1, level.size() * 9 / 10)];
  }
  return levels;
}

std::vector<LevelCause> level_causes(const std::vector<ErrorRow>& rows, const std::vector<MeasuredCase>& cases) {
  const std::map<std::string, Curve> curves = curves_of(rows);
  std::vector<LevelCause> list;
  for (const Cause& cause : causes) {
    std::set<std::string> having;
    // One case is enough: systems and not cases are compared.
    for (const MeasuredCase& c : cases)
      if (cause.holds(c)) having.insert(c.system);
    LevelCause found{cause.name, {}, {}, {}, {}};
    for (std::size_t b = 0; b < bands.size(); ++b) {
      std::vector<double> with, without;
      for (const auto& [system, curve] : curves)
        if (!curve[b].empty()) (having.contains(system) ? with : without).push_back(median_of(curve[b]));
      found.having[b] = static_cast<int>(with.size());
      found.other[b] = static_cast<int>(without.size());
      found.with[b] = std::expm1(median_of(with));
      found.without[b] = std::expm1(median_of(without));
    }
    list.push_back(found);
  }
  return list;
}

}  // namespace fabricast
