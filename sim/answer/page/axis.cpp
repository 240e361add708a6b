// Ranges and ticks of axes: round values, and few enough to read.
//
// The same ranges and ticks are used by the SVG and, as data, by the page's script, so both draw the same chart
// (chart_parts.hpp). Comparisons allow for rounding: a tick at the end of an axis must not be lost to the last digit.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "fabricast/page/chart.hpp"

namespace fabricast {

namespace {

/// The smallest of 1, 2, 5 or 10 times a power of ten that is at least `step`.
double round_step(double step) {
  const double power = std::pow(10, std::floor(std::log10(step)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= step * (1 - 1e-9)) return factor * power;
  return 10 * power;
}

/// A logarithmic axis with at least this ratio of its ends has ticks at powers of ten only.
constexpr double wide = 1000;

double linear_step(ChartRange range, int about) { return round_step((range.high - range.low) / about); }

bool in(ChartRange range, double value) {
  const double slack = 1e-9 * std::max(std::abs(range.low), std::abs(range.high));
  return value >= range.low - slack && value <= range.high + slack;
}

/// Powers of `base`, at most about `about`, whose exponents are multiples of a step.
/// Sizes of messages are powers of two, so their axis counts in exponents of two.
std::vector<double> powers(ChartRange range, double base, int about) {
  const auto exponent = [&](double value) { return std::log(value) / std::log(base); };
  const double span = exponent(range.high) - exponent(range.low);
  int step = 1;
  for (const int s : {1, 2, 5, 10, 20, 50})
    if (step = s; span / s <= about) break;
  std::vector<double> ticks;
  for (double e = std::ceil(exponent(range.low) / step - 1e-9) * step; e <= exponent(range.high) + 1e-9; e += step)
    ticks.push_back(std::pow(base, e));
  return ticks;
}

std::vector<double> logarithmic_ticks(const ChartAxis& axis, ChartRange range, int about) {
  if (axis.measure == Measure::bytes) return powers(range, 2, about);
  // A narrow axis has too few powers of ten for ticks; 1, 2 and 5 times them are added.
  if (range.high / range.low >= wide) return powers(range, 10, about);
  std::vector<double> ticks;
  for (double power = std::pow(10, std::floor(std::log10(range.low))); power <= range.high; power *= 10)
    for (const double factor : {1.0, 2.0, 5.0})
      if (in(range, factor * power)) ticks.push_back(factor * power);
  return ticks;
}

/// The largest of 1, 2 or 5 times a power of ten that is at most `value`.
double round_down(double value) {
  const double power = std::pow(10, std::floor(std::log10(value) + 1e-9));
  for (const double factor : {5.0, 2.0})
    if (factor * power <= value * (1 + 1e-9)) return factor * power;
  return power;
}

// Sizes end where the data end; other axes end at round values.
ChartRange logarithmic_range(const ChartAxis& axis, double low, double high) {
  if (axis.measure == Measure::bytes) return low < high ? ChartRange{low, high} : ChartRange{low / 2, high * 2};
  if (high / low >= wide)
    return {std::pow(10, std::floor(std::log10(low) + 1e-9)), std::pow(10, std::ceil(std::log10(high) - 1e-9))};
  const ChartRange range{round_down(low), round_step(high)};
  return range.low < range.high ? range : ChartRange{range.low / 2, range.high * 2};
}

}  // namespace

ChartRange range_of(const ChartAxis& axis, const std::vector<double>& values) {
  const bool logarithmic = axis.scale == ChartScale::logarithmic;
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const double v : values)
    if (std::isfinite(v) && (!logarithmic || v > 0)) {
      low = std::min(low, v);
      high = std::max(high, v);
    }
  // No value that the axis can show: any range will do.
  if (low > high) return logarithmic ? ChartRange{1, 10} : ChartRange{0, 1};
  if (logarithmic) return logarithmic_range(axis, low, high);
  if (axis.from_zero) {
    low = std::min(low, 0.0);
    high = std::max(high, 0.0);
  }
  if (low == high) {
    if (axis.from_zero) return {0, 1};
    // A constant curve is drawn in the middle of its axis.
    const double around = low == 0 ? 1 : std::abs(low) * 0.05;
    low -= around;
    high += around;
  }
  const double step = linear_step({low, high}, 6);
  return {std::floor(low / step + 1e-9) * step, std::ceil(high / step - 1e-9) * step};
}

std::vector<ChartTick> ticks_of(const ChartAxis& axis, ChartRange range, int about) {
  std::vector<double> values;
  if (axis.scale == ChartScale::logarithmic) {
    values = logarithmic_ticks(axis, range, about);
  } else {
    const double step = linear_step(range, about);
    // Multiples of the step instead of a running sum, so that rounding errors do not add up.
    for (double k = std::ceil(range.low / step - 1e-9); k <= std::floor(range.high / step + 1e-9); ++k)
      values.push_back(k == 0 ? 0 : k * step);
  }
  std::vector<ChartTick> ticks;
  // Large numbers are written in millions or billions, because long labels do not fit next to an axis.
  const double size = axis.measure == Measure::number ? std::max(std::abs(range.low), std::abs(range.high)) : 0;
  const double unit = size >= 1e10 ? 1e9 : size >= 1e7 ? 1e6 : 1;
  const char* letter = unit == 1e9 ? "G" : unit == 1e6 ? "M" : "";
  for (const double v : values) ticks.push_back({v, value_text(v / unit, axis.measure) + (v == 0 ? "" : letter)});
  return ticks;
}

}  // namespace fabricast
