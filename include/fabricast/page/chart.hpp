// Charts as plain values: they say what a chart shows, and the writers decide how it is drawn.
//
//   LineChart     curves over a common x, with bands; `stepped`: cumulative distributions
//   BarChart      stacked horizontal bars
//   ScatterChart  two columns of a table, one against the other, with the Pareto front
//
// There are two writers. `chart_svg` (here) draws SVG for papers and for pages without scripts. The script of a
// page draws line and scatter charts with uPlot if uPlot is built in. Both use the ranges, ticks and texts of this
// header, so the two drawings agree.
//
// Values that are not finite, or not positive on a logarithmic axis, are left out: a curve has a gap there.
// Plain values and pure functions; safe to call concurrently.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fabricast/core/enum_names.hpp"
#include "fabricast/page/table.hpp"

namespace fabricast {

/// Scale of an axis. A logarithmic one shows positive values only.
enum class ChartScale { linear, logarithmic };

/// An axis: what it shows and how. Its range follows from the values (range_of).
struct ChartAxis {
  std::string title;                  ///< without the unit, which the writers append
  Measure measure = Measure::number;  ///< how ticks are written
  std::string unit;                   ///< of `number`
  ChartScale scale = ChartScale::linear;
  bool from_zero = true;  ///< a linear axis includes 0; ignored by logarithmic axes
};

/// A band around a curve: two values for each x.
struct ChartBand {
  std::string name;  ///< e.g. `90 % interval`
  std::vector<double> low, high;
};

/// One curve. `y` and the bands have one value for each x of the chart.
struct ChartSeries {
  std::string name;
  std::vector<double> y;
  std::vector<ChartBand> bands;  ///< the widest first, because later bands are drawn on top
};

/// A labelled line across a chart at one value: of x in a LineChart, of the value axis in a BarChart.
struct ChartMark {
  double x = 0;
  std::string label;
};

/// Curves over a common x, with their bands.
struct LineChart {
  std::string name;   ///< one word, unique in a page, e.g. `busbw`: selects the chart for `--chart`
  std::string title;  ///< what the chart shows
  std::string note;   ///< how to read it; may be empty
  ChartAxis x, y;
  std::vector<double> at;  ///< values of x in ascending order
  std::vector<ChartSeries> series;
  std::vector<ChartMark> marks;
  bool stepped = false;  ///< y changes only at the points, as in a cumulative distribution
};

/// One colour of a stacked bar chart.
struct BarPart {
  std::string name;
  std::vector<double> values;  ///< one for each bar, not negative
};

/// Stacked horizontal bars.
struct BarChart {
  std::string name, title, note;  ///< as in LineChart
  ChartAxis value;
  std::vector<std::string> bars;  ///< labels, from top to bottom
  std::vector<BarPart> parts;     ///< stacked from left to right
  std::vector<ChartMark> marks;   ///< e.g. the capacity
};

/// Each point is a row of a table on the same page, so the filters of the table also apply to the chart. A click on a
/// legend entry hides its group in both.
struct ScatterChart {
  std::string name, title, note;  ///< as in LineChart
  std::string table;              ///< name of the table
  std::size_t x = 0, y = 0;       ///< columns of the table, counted from 0
  ChartScale x_scale = ChartScale::linear, y_scale = ChartScale::linear;
  std::optional<std::size_t> group;  ///< column of text that gives the colours and the legend; none: one colour
};

/// Empirical cumulative distribution: the fraction of samples that are at most x. Marks show p5, median and p95; of
/// 20 samples or fewer, best, median and worst.
/// Samples are rounded to six digits, so values that differ only by rounding count as equal.
/// \pre `samples` is not empty
LineChart cumulative_chart(std::string name, std::string title, ChartAxis axis, std::vector<double> samples);
/// Number of samples in each of `bins` intervals of equal width; one interval if all samples are equal.
/// \pre `samples` is not empty, and `bins` is positive
BarChart histogram_chart(std::string name, std::string title, const ChartAxis& axis, const std::vector<double>& samples,
                         int bins = 20);

/// A labelled position on an axis.
struct ChartTick {
  double value = 0;
  std::string label;  ///< without unit, except for bytes, seconds and percent
};
/// The ends of an axis. \invariant low < high
struct ChartRange {
  double low = 0, high = 1;
};
/// The range of an axis that shows all values: ends on round values, and is never empty. Values that the axis cannot
/// show are ignored. Without any value the range is 0 to 1, or 1 to 10 on a logarithmic axis.
ChartRange range_of(const ChartAxis& axis, const std::vector<double>& values);
/// Ticks at round values within the range, in ascending order. \param about  approximate number of ticks
std::vector<ChartTick> ticks_of(const ChartAxis& axis, ChartRange range, int about = 6);

/// A chart as one `<svg>` element.
/// \param standalone  true: an SVG file of its own, with a style, a size and the title. False: for embedding in a page,
///                    which supplies the colours (dark mode, paper) and shows the title itself
std::string chart_svg(const LineChart& chart, bool standalone = true);
std::string chart_svg(const BarChart& chart, bool standalone = true);
/// \param table  the table that `chart.table` names
/// \throws InternalError if the chart uses a column that the table does not have
std::string chart_svg(const ScatterChart& chart, const PageTable& table, bool standalone = true);

}  // namespace fabricast
