// Stacked horizontal bars.
// A bar is a size, a stage or a batch; its parts add up from the left. Each part states its value and share in a
// tooltip, as colours alone cannot be read by everyone.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "svg.hpp"

namespace fabricast {

namespace {

double total_of(const BarChart& chart, std::size_t bar) {
  double total = 0;
  for (const BarPart& p : chart.parts)
    if (std::isfinite(p.values[bar])) total += p.values[bar];
  return total;
}

/// The colours repeat after eight parts, with less opacity.
std::string class_of(std::size_t part) {
  return fmt::format("f{}{}", part % series_colours, part >= series_colours ? " v" : "");
}

}  // namespace

std::string chart_svg(const BarChart& chart, bool standalone) {
  constexpr double bar_height = 20, pitch = 27, most_label = 240;
  double label = 0;
  for (const std::string& b : chart.bars) label = std::max(label, text_width(b));
  const double left = std::min(most_label, label) + 20, right = chart_width - 96;
  const double top = (standalone ? 44 : 8) + (chart.marks.empty() ? 0 : 18);
  const double bottom = top + pitch * static_cast<double>(chart.bars.size()) + 4;
  std::vector<LegendEntry> legend;
  if (chart.parts.size() > 1)
    for (std::size_t p = 0; p < chart.parts.size(); ++p) legend.push_back({chart.parts[p].name, class_of(p)});
  SvgWriter svg(chart_width, bottom + 56 + legend_height(legend, chart_width - 40), chart.title, standalone);

  // The axis also reaches the marks, e.g. the capacity of memory that a bar stays below.
  std::vector<double> ends;
  for (std::size_t b = 0; b < chart.bars.size(); ++b) ends.push_back(total_of(chart, b));
  for (const ChartMark& m : chart.marks) ends.push_back(m.x);
  const ChartRange range = range_of(chart.value, ends);
  const auto x = [&](double value) { return left + (right - left) * (value - range.low) / (range.high - range.low); };
  for (const ChartTick& t : ticks_of(chart.value, range)) {
    svg.line(x(t.value), top - 4, x(t.value), bottom, "g");
    svg.text(x(t.value), bottom + 18, t.label, "m c");
  }
  svg.text((left + right) / 2, bottom + 38, axis_title(chart.value), "t c");

  for (std::size_t b = 0; b < chart.bars.size(); ++b) {
    const double y = top + pitch * static_cast<double>(b), total = total_of(chart, b);
    svg.text(left - 8, y + 15, chart.bars[b], "t e");
    double begin = 0;
    for (std::size_t p = 0; p < chart.parts.size(); ++p) {
      const double value = chart.parts[p].values[b];
      if (!(value > 0)) continue;
      // Half a pixel at least, so that small parts remain visible.
      svg.rect(x(begin), y, std::max(0.5, x(begin + value) - x(begin)), bar_height, class_of(p),
               fmt::format("{}, {}: {} ({:.1f} %)", chart.bars[b], chart.parts[p].name,
                           value_text(value, chart.value.measure, chart.value.unit), 100 * value / total));
      begin += value;
    }
    // The total of percentages is always 100 %.
    if (chart.value.measure != Measure::percent)
      svg.text(x(total) + 6, y + 15, value_text(total, chart.value.measure, chart.value.unit), "m o");
  }
  for (const ChartMark& m : chart.marks) {
    svg.line(x(m.x), top - 4, x(m.x), bottom, "k");
    svg.text(x(m.x), top - 9, m.label, "m c o");
  }
  draw_legend(svg, legend, 20, bottom + 50, chart_width - 20);
  return std::move(svg).finish();
}

// Bins of equal width between the fastest and the slowest sample; a single bin if all are equal.
BarChart histogram_chart(std::string name, std::string title, const ChartAxis& axis, const std::vector<double>& samples,
                         int bins) {
  BarChart chart;
  chart.name = std::move(name);
  chart.title = std::move(title);
  chart.value = {"samples", Measure::number, {}, ChartScale::linear, true};
  const auto [low, high] = std::minmax_element(samples.begin(), samples.end());
  const double width = *high > *low ? (*high - *low) / bins : 0;
  if (width == 0) bins = 1;
  BarPart part{"samples", std::vector<double>(static_cast<std::size_t>(bins), 0)};
  for (const double s : samples)
    ++part.values[width == 0
                      ? 0
                      : std::min(static_cast<std::size_t>(bins - 1), static_cast<std::size_t>((s - *low) / width))];
  for (int b = 0; b < bins; ++b)
    chart.bars.push_back(fmt::format("{} to {}", value_text(*low + b * width, axis.measure),
                                     value_text(*low + (b + 1) * width, axis.measure, axis.unit)));
  chart.parts = {std::move(part)};
  return chart;
}

}  // namespace fabricast
