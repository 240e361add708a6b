// Elements that all drawings share: colours, text, axes, legends.
//
// Elements have CSS classes instead of colours. In a page the colours come from its style, which follows dark mode and
// printing. A standalone SVG file has a style of its own. Lengths are pixels of the view box.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fabricast/page/chart.hpp"

namespace fabricast {

inline constexpr std::size_t series_colours = 8;
inline constexpr std::size_t heat_steps = 6;

/// The lowest load of each step of the heat map.
inline constexpr std::array<double, heat_steps> heat_from = {0, 0.05, 0.25, 0.5, 0.75, 0.9};
std::size_t heat_step(double load);
std::string heat_label(std::size_t step);

/// CSS custom properties of all colours, for light mode, dark mode and print.
std::string palette_css();
/// CSS rules of the classes of SVG elements. \param own  true: with light-mode colours instead of custom properties
std::string drawing_css(bool own);

/// A coordinate with one decimal, which is left out if it is zero.
std::string coordinate(double value);

/// Collects the elements of one drawing.
class SvgWriter {
 public:
  SvgWriter(double width, double height, std::string_view title, bool standalone);
  void raw(std::string_view element) { body_ += element; }
  void text(double x, double y, std::string_view words, std::string_view css_class, std::string_view more = {});
  void line(double x1, double y1, double x2, double y2, std::string_view css_class);
  void rect(double x, double y, double w, double h, std::string_view css_class, std::string_view hint = {});
  void circle(double x, double y, double r, std::string_view css_class, std::string_view hint = {});
  void path(std::string_view d, std::string_view css_class, std::string_view hint = {}, std::string_view more = {});
  std::string finish() &&;

 private:
  std::string head_, body_;
};

/// The inner rectangle of a chart, which maps values to pixels.
class PlotArea {
 public:
  PlotArea(double left, double top, double right, double bottom, ChartAxis x, ChartAxis y, ChartRange x_range,
           ChartRange y_range);
  /// Position in pixels; not finite if the axis cannot show the value.
  double x(double value) const { return left_ + (right_ - left_) * part(x_axis_, x_range_, value); }
  double y(double value) const { return bottom_ - (bottom_ - top_) * part(y_axis_, y_range_, value); }
  double left() const { return left_; }
  double right() const { return right_; }
  double top() const { return top_; }
  double bottom() const { return bottom_; }
  /// Draws the grid, ticks and titles. The title of y is at the left edge of the drawing.
  void draw_axes(SvgWriter& svg) const;

 private:
  static double part(const ChartAxis& axis, ChartRange range, double value);
  double left_, top_, right_, bottom_;
  ChartAxis x_axis_, y_axis_;
  ChartRange x_range_, y_range_;
};

/// Space to the left of a plot for the ticks of its y axis and for its title, at least `least`.
double left_of(const ChartAxis& axis, ChartRange range, double least);

/// The title of an axis with its unit.
std::string axis_title(const ChartAxis& axis);

struct LegendEntry {
  std::string name;
  std::string css_class;  ///< of its swatch
};
/// Draws the entries in rows, starting at `top`. \returns the total height
double draw_legend(SvgWriter& svg, const std::vector<LegendEntry>& entries, double left, double top, double right);
double legend_height(const std::vector<LegendEntry>& entries, double width);

/// Approximate width of text at a font size of 13 px.
double text_width(std::string_view words);

inline constexpr double chart_width = 880;
inline constexpr double right_margin = 24;  ///< to the right of a plot
/// With more rows, points have no tooltips: the table shows the values, and the file stays small.
inline constexpr std::size_t most_hints = 200;

}  // namespace fabricast
