// Line charts: curves with bands, and cumulative distributions.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "chart_parts.hpp"
#include "fabricast/core/quantity.hpp"
#include "svg.hpp"

namespace fabricast {

namespace {

/// The points of a curve that the axes can show, in runs without gaps.
/// Values that are unknown, or not positive on a logarithmic axis, interrupt the curve.
std::vector<std::vector<std::pair<double, double>>> runs_of(const PlotArea& area, const std::vector<double>& at,
                                                            const std::vector<double>& y) {
  std::vector<std::vector<std::pair<double, double>>> runs(1);
  for (std::size_t i = 0; i < at.size(); ++i) {
    const double px = area.x(at[i]), py = area.y(y[i]);
    if (std::isfinite(px) && std::isfinite(py))
      runs.back().emplace_back(px, py);
    else if (!runs.back().empty())
      runs.emplace_back();
  }
  return runs;
}

std::string path_of(const std::vector<std::pair<double, double>>& run, bool stepped) {
  std::string d;
  for (const auto& [x, y] : run) {
    if (d.empty())
      d = fmt::format("M{} {}", coordinate(x), coordinate(y));
    else if (stepped)
      d += fmt::format("H{}V{}", coordinate(x), coordinate(y));
    else
      d += fmt::format("L{} {}", coordinate(x), coordinate(y));
  }
  return d;
}

// The outline of a band: its upper edge, and its lower edge backwards.
std::string band_path(const PlotArea& area, const std::vector<double>& at, const ChartBand& band) {
  auto upper = runs_of(area, at, band.high), lower = runs_of(area, at, band.low);
  std::string d;
  for (std::size_t i = 0; i < std::min(upper.size(), lower.size()); ++i) {
    std::vector<std::pair<double, double>> ring = upper[i];
    ring.insert(ring.end(), lower[i].rbegin(), lower[i].rend());
    // A single point has no area; its band is as wide as the point.
    if (ring.size() == 2) {
      const auto [x, high] = ring[0];
      const double low = ring[1].second;
      ring = {{x - 4, high}, {x + 4, high}, {x + 4, low}, {x - 4, low}};
    }
    if (ring.size() > 2) d += path_of(ring, false) + "Z";
  }
  return d;
}

std::vector<LegendEntry> legend_of(const LineChart& chart) {
  std::vector<LegendEntry> entries;
  for (std::size_t s = 0; s < chart.series.size(); ++s) {
    if (chart.series.size() > 1 || !chart.series[s].bands.empty())
      entries.push_back({chart.series[s].name, fmt::format("f{}", s % series_colours)});
    for (std::size_t b = 0; b < chart.series[s].bands.size(); ++b)
      entries.push_back(
          {chart.series[s].bands[b].name, fmt::format("f{0} {1} s{0}", s % series_colours, b == 0 ? "w" : "v")});
  }
  return entries;
}

}  // namespace

ChartFrame frame_of(const LineChart& chart) {
  std::vector<double> all;
  for (const ChartSeries& s : chart.series) {
    all.insert(all.end(), s.y.begin(), s.y.end());
    for (const ChartBand& b : s.bands) {
      all.insert(all.end(), b.low.begin(), b.low.end());
      all.insert(all.end(), b.high.begin(), b.high.end());
    }
  }
  // Marks may lie outside of the data.
  std::vector<double> at = chart.at;
  for (const ChartMark& m : chart.marks) at.push_back(m.x);
  return {range_of(chart.x, at), range_of(chart.y, all)};
}

std::string point_text(const LineChart& chart, const ChartSeries& series, std::size_t i) {
  std::string text = value_text(series.y[i], chart.y.measure, chart.y.unit);
  for (const ChartBand& b : series.bands)
    text += fmt::format(", {} ({})", range_text(b.low[i], b.high[i], chart.y.measure, chart.y.unit), b.name);
  return text;
}

std::string chart_svg(const LineChart& chart, bool standalone) {
  constexpr double right = chart_width - right_margin, plot = 300;
  const ChartFrame frame = frame_of(chart);
  const double left = left_of(chart.y, frame.y, 84);
  const double top = standalone ? 48 : 16, bottom = top + plot;
  const std::vector<LegendEntry> legend = legend_of(chart);
  const double marks = chart.marks.empty() ? 0 : 18;
  SvgWriter svg(chart_width, bottom + marks + 56 + legend_height(legend, right - left), chart.title, standalone);
  const PlotArea area(left, top + marks, right, bottom + marks, chart.x, chart.y, frame.x, frame.y);
  area.draw_axes(svg);
  for (std::size_t s = 0; s < chart.series.size(); ++s)
    for (std::size_t b = 0; b < chart.series[s].bands.size(); ++b)
      svg.path(band_path(area, chart.at, chart.series[s].bands[b]),
               fmt::format("f{} {}", s % series_colours, b == 0 ? "w" : "v"));
  // A label that would overlap the previous one is left out.
  double free = 0;
  for (const ChartMark& m : chart.marks) {
    const double x = area.x(m.x), half = text_width(m.label) / 2;
    svg.line(x, area.top(), x, area.bottom(), "k");
    // At the ends of the axis a label moves inwards, so that it is not cut off.
    const double middle = std::max(half, std::min(x, chart_width - half));
    if (middle - half < free) continue;
    svg.text(middle, area.top() - 6, m.label, "m c");
    free = middle + half + 8;
  }
  // Points with tooltips only while they can be distinguished.
  constexpr std::size_t most_points = 80;
  for (std::size_t s = 0; s < chart.series.size(); ++s) {
    const ChartSeries& series = chart.series[s];
    for (const auto& run : runs_of(area, chart.at, series.y))
      if (run.size() > 1) svg.path(path_of(run, chart.stepped), fmt::format("n s{}", s % series_colours));
    if (chart.at.size() > most_points) continue;
    for (std::size_t i = 0; i < chart.at.size(); ++i)
      if (const double x = area.x(chart.at[i]), y = area.y(series.y[i]); std::isfinite(x) && std::isfinite(y))
        svg.circle(x, y, 3, fmt::format("f{}", s % series_colours),
                   fmt::format("{}: {}", value_text(chart.at[i], chart.x.measure, chart.x.unit),
                               point_text(chart, series, i)));
  }
  draw_legend(svg, legend, left, area.bottom() + 54, right);
  return std::move(svg).finish();
}

// The empirical distribution, as steps: at each sample it rises by 1 / n.
LineChart cumulative_chart(std::string name, std::string title, ChartAxis axis, std::vector<double> samples) {
  // Samples that differ only by rounding count as equal.
  for (double& s : samples) s = rounded(s, 6);
  std::sort(samples.begin(), samples.end());
  LineChart chart;
  chart.name = std::move(name);
  chart.title = std::move(title);
  chart.x = std::move(axis);
  chart.x.from_zero = false;
  chart.y = {"share of samples", Measure::percent, {}, ChartScale::linear, true};
  chart.stepped = true;
  ChartSeries series;
  series.name = "samples";
  const double n = static_cast<double>(samples.size());
  for (std::size_t i = 0; i < samples.size(); ++i) {
    // The last of several equal samples gives the fraction that is at most this value.
    if (i + 1 < samples.size() && samples[i + 1] == samples[i]) continue;
    chart.at.push_back(samples[i]);
    series.y.push_back(static_cast<double>(i + 1) / n);
  }
  const auto at = [&](double part) {
    return samples[std::min(samples.size() - 1, static_cast<std::size_t>(part * n))];
  };
  // Of few samples, the percentiles are the extremes, and are called so. Equal marks share a label.
  const bool few = samples.size() <= 20;
  for (const auto& [part, label] :
       {std::pair(0.05, few ? "best" : "p5"), std::pair(0.5, "median"), std::pair(0.95, few ? "worst" : "p95")}) {
    const double x = few && part != 0.5 ? part < 0.5 ? samples.front() : samples.back() : at(part);
    if (!chart.marks.empty() && chart.marks.back().x == x)
      chart.marks.back().label += fmt::format(", {}", label);
    else
      chart.marks.push_back({x, label});
  }
  chart.series = {std::move(series)};
  return chart;
}

}  // namespace fabricast
