// Derived properties of charts that the SVG writer and the page's script share, so that both draw the same.
#pragma once

#include <string>
#include <vector>

#include "fabricast/page/chart.hpp"

namespace fabricast {

/// The ranges of both axes.
struct ChartFrame {
  ChartRange x, y;
};
ChartFrame frame_of(const LineChart& chart);
ChartFrame frame_of(const ScatterChart& chart, const PageTable& table);

/// The values at a point of a curve, with its bands: `316.2 GB/s, 231 to 433 GB/s (90 % interval)`.
std::string point_text(const LineChart& chart, const ChartSeries& series, std::size_t i);

ChartAxis x_axis(const ScatterChart& chart, const PageTable& table);
ChartAxis y_axis(const ScatterChart& chart, const PageTable& table);
/// Names of the groups: numbers ascend, others are in the order of the table. If there are more groups than colours, the
/// last colour is shared by the remaining ones.
std::vector<std::string> groups_of(const ScatterChart& chart, const PageTable& table);
/// Index into `groups_of` for each row.
std::vector<std::size_t> group_by_row(const ScatterChart& chart, const PageTable& table);
/// Rows on the Pareto front, in order of x.
std::vector<std::size_t> front_of(const ScatterChart& chart, const PageTable& table);

}  // namespace fabricast
