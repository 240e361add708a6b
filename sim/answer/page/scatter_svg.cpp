// Scatter charts: two columns of a table, one against the other.
// Points are rows of a table on the same page. Groups have colours, rows that conditions drop are pale, and a dashed
// line joins the Pareto front.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "chart_parts.hpp"
#include "fabricast/core/error.hpp"
#include "svg.hpp"

namespace fabricast {

namespace {

ChartAxis axis_of(const PageTable& table, std::size_t column, ChartScale scale) {
  FABRICAST_CHECK(column < table.columns.size(), "a scatter chart uses columns of its table");
  const TableColumn& c = table.columns[column];
  // Points are compared with each other, so the axis need not include 0.
  return {c.title, c.measure, c.unit, scale, false};
}

double value(const PageTable& table, std::size_t row, std::size_t column) {
  return table.rows[row].cells[column].value;
}

/// A description of a row: its text cells and the two values of the chart.
std::string row_text(const ScatterChart& chart, const PageTable& table, std::size_t row) {
  std::string text;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    if (table.columns[c].measure != Measure::text && c != chart.x && c != chart.y) continue;
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", table.columns[c].title,
                        value_text(table.rows[row].cells[c], table.columns[c]));
  }
  return text;
}

}  // namespace

ChartAxis x_axis(const ScatterChart& chart, const PageTable& table) { return axis_of(table, chart.x, chart.x_scale); }
ChartAxis y_axis(const ScatterChart& chart, const PageTable& table) { return axis_of(table, chart.y, chart.y_scale); }

ChartFrame frame_of(const ScatterChart& chart, const PageTable& table) {
  std::vector<double> xs, ys;
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    xs.push_back(value(table, r, chart.x));
    ys.push_back(value(table, r, chart.y));
  }
  return {range_of(x_axis(chart, table), xs), range_of(y_axis(chart, table), ys)};
}

std::vector<std::string> groups_of(const ScatterChart& chart, const PageTable& table) {
  std::vector<std::string> groups;
  if (!chart.group) return {""};
  for (const TableRow& row : table.rows) {
    const std::string text = value_text(row.cells[*chart.group], table.columns[*chart.group]);
    if (std::find(groups.begin(), groups.end(), text) == groups.end()) groups.push_back(text);
  }
  // Numbers ascend; other names keep the order of the table.
  const auto number = [](const std::string& text) {
    double value = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    return code == std::errc() ? value : std::numeric_limits<double>::quiet_NaN();
  };
  if (std::none_of(groups.begin(), groups.end(), [&](const std::string& g) { return std::isnan(number(g)); }))
    std::stable_sort(groups.begin(), groups.end(),
                     [&](const std::string& a, const std::string& b) { return number(a) < number(b); });
  return groups;
}

std::vector<std::size_t> group_by_row(const ScatterChart& chart, const PageTable& table) {
  std::vector<std::size_t> by_row(table.rows.size(), 0);
  if (!chart.group) return by_row;
  const std::vector<std::string> groups = groups_of(chart, table);
  for (std::size_t r = 0; r < by_row.size(); ++r) {
    const std::string text = value_text(table.rows[r].cells[*chart.group], table.columns[*chart.group]);
    by_row[r] = static_cast<std::size_t>(std::find(groups.begin(), groups.end(), text) - groups.begin());
  }
  return by_row;
}

std::vector<std::size_t> front_of(const ScatterChart& chart, const PageTable& table) {
  std::vector<std::size_t> rows;
  for (std::size_t r = 0; r < table.rows.size(); ++r)
    if (table.rows[r].front) rows.push_back(r);
  std::stable_sort(rows.begin(), rows.end(),
                   [&](std::size_t a, std::size_t b) { return value(table, a, chart.x) < value(table, b, chart.x); });
  return rows;
}

std::string chart_svg(const ScatterChart& chart, const PageTable& table, bool standalone) {
  constexpr double right = chart_width - right_margin, plot = 360;
  const ChartFrame frame = frame_of(chart, table);
  const double left = left_of(y_axis(chart, table), frame.y, 84);
  const double top = standalone ? 48 : 16, bottom = top + plot;
  const std::vector<std::string> groups = groups_of(chart, table);
  const auto class_of = [](std::size_t group) { return fmt::format("f{}", std::min(group, series_colours - 1)); };
  std::vector<LegendEntry> legend;
  for (std::size_t g = 0; chart.group && g < groups.size(); ++g) legend.push_back({groups[g], class_of(g)});
  SvgWriter svg(chart_width, bottom + 60 + legend_height(legend, right - left), chart.title, standalone);
  const PlotArea area(left, top, right, bottom, x_axis(chart, table), y_axis(chart, table), frame.x, frame.y);
  area.draw_axes(svg);
  const auto place = [&](std::size_t row) {
    return std::pair(area.x(value(table, row, chart.x)), area.y(value(table, row, chart.y)));
  };
  std::string front;
  for (const std::size_t r : front_of(chart, table))
    if (const auto [x, y] = place(r); std::isfinite(x) && std::isfinite(y))
      front += fmt::format("{}{} {}", front.empty() ? "M" : "L", coordinate(x), coordinate(y));
  // Below the points.
  if (!front.empty()) svg.path(front, "k n");
  const std::vector<std::size_t> group = group_by_row(chart, table);
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    const auto [x, y] = place(r);
    if (!std::isfinite(x) || !std::isfinite(y)) continue;
    const TableRow& row = table.rows[r];
    svg.circle(x, y, row.front ? 5 : 3.5, class_of(group[r]) + (row.dropped.empty() ? "" : " d"),
               table.rows.size() <= most_hints ? row_text(chart, table, r) : std::string());
    if (row.best) {
      svg.circle(x, y, 9, "r");
      // On the side that has space.
      const bool inside = x < right - 40;
      svg.text(inside ? x + 12 : x - 12, y - 8, "best", inside ? "t b o" : "t b e o");
    }
  }
  draw_legend(svg, legend, left, bottom + 54, right);
  return std::move(svg).finish();
}

}  // namespace fabricast
