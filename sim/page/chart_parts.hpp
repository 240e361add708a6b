// What the SVG and the page's script both take of a chart.
#pragma once

#include <string>
#include <vector>

#include "fabricast/page/chart.hpp"

namespace fabricast {

struct ChartFrame {
  ChartRange x, y;
};
ChartFrame frame_of(const LineChart& chart);
ChartFrame frame_of(const ScatterChart& chart, const PageTable& table);

/// A point of a curve in words.
std::string point_text(const LineChart& chart, const ChartSeries& series, std::size_t i);

ChartAxis x_axis(const ScatterChart& chart, const PageTable& table);
ChartAxis y_axis(const ScatterChart& chart, const PageTable& table);
/// Names of the groups, as they come in the table; the last colour is shared by all from there on.
std::vector<std::string> groups_of(const ScatterChart& chart, const PageTable& table);
/// The group of each row.
std::vector<std::size_t> group_by_row(const ScatterChart& chart, const PageTable& table);
/// Rows on the front, in order of x.
std::vector<std::size_t> front_of(const ScatterChart& chart, const PageTable& table);

}  // namespace fabricast
