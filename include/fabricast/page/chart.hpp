// Charts as plain values: what is drawn, not how.
//
// Two writers draw them: `chart_svg` (here, for papers and for pages without scripts) and the page's script, which gives
// lines and scatter to uPlot where that is built in. Both take ticks and texts of the same functions.
//
//   LineChart     curves over a common x, with bands; `stepped`: cumulative distributions
//   BarChart      stacked horizontal bars
//   ScatterChart  two columns of a table against each other, with its Pareto front
//
// Values that are not finite, or not positive on a logarithmic axis, are left out, not drawn as something else.
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

enum class ChartScale { linear, logarithmic };

struct ChartAxis {
  std::string title;
  Measure measure = Measure::number;
  std::string unit;  ///< of `number`
  ChartScale scale = ChartScale::linear;
  bool from_zero = true;  ///< a linear axis begins at 0
};

/// What lies around a curve, by x.
struct ChartBand {
  std::string name;  ///< e.g. `90 % interval`
  std::vector<double> low, high;
};

struct ChartSeries {
  std::string name;
  std::vector<double> y;
  std::vector<ChartBand> bands;  ///< wider ones first
};

/// A vertical line at a value of x.
struct ChartMark {
  double x = 0;
  std::string label;
};

struct LineChart {
  std::string name;   ///< a word: `busbw`; unique in a page
  std::string title;  ///< says what is seen
  std::string note;   ///< how to read it; may be empty
  ChartAxis x, y;
  std::vector<double> at;  ///< x, rising
  std::vector<ChartSeries> series;
  std::vector<ChartMark> marks;
  bool stepped = false;
};

struct BarPart {
  std::string name;
  std::vector<double> values;  ///< by bar, not negative
};

struct BarChart {
  std::string name, title, note;
  ChartAxis value;
  std::vector<std::string> bars;
  std::vector<BarPart> parts;
  std::vector<ChartMark> marks;  ///< e.g. the capacity
};

/// Points are the rows of a table of the same page. A click on an entry of the legend filters both.
struct ScatterChart {
  std::string name, title, note;
  std::string table;  ///< its name
  std::size_t x = 0, y = 0;
  ChartScale x_scale = ChartScale::linear, y_scale = ChartScale::linear;
  std::optional<std::size_t> group;  ///< a column of text: colours and legend
};

/// How often a value is at most x, over samples. Marks: p5, median, p95.
/// \pre there is a sample
LineChart cumulative_chart(std::string name, std::string title, ChartAxis axis, std::vector<double> samples);
/// How many samples lie in each of so many equal intervals.
BarChart histogram_chart(std::string name, std::string title, const ChartAxis& axis, const std::vector<double>& samples,
                         int bins = 20);

/// Where an axis is labelled, from low to high.
struct ChartTick {
  double value = 0;
  std::string label;
};
struct ChartRange {
  double low = 0, high = 1;
};
/// Ends on round values, around all that there is to show; never empty.
ChartRange range_of(const ChartAxis& axis, const std::vector<double>& values);
std::vector<ChartTick> ticks_of(const ChartAxis& axis, ChartRange range, int about = 6);

/// `standalone`: a file of its own, with its colours; else the colours are those of the page.
std::string chart_svg(const LineChart& chart, bool standalone = true);
std::string chart_svg(const BarChart& chart, bool standalone = true);
std::string chart_svg(const ScatterChart& chart, const PageTable& table, bool standalone = true);

}  // namespace fabricast
