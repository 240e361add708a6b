// The elements of all drawings (svg.hpp). Classes of one or two letters keep files small: a drawing of a fabric has
// thousands of elements.
//
//    t, m  text, muted text        e, c, b  end, centred, bold       g, a, k  grid, axis, mark
//    sN, fN  stroke and fill of series N      hN, iN  stroke and fill of heat step N
//    w, v, d  fill of 20, 40 and 25 %         n  line without fill     r  ring around the best     x  box     q  cable
//    o  text with an outline of the background, which lines do not cross
#include "svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "fabricast/page/page.hpp"

namespace fabricast {

namespace {

struct Colour {
  std::string_view property, light, dark;
};

// The colours of series follow Okabe and Ito [Okabe2008], darkened or lightened until each has a contrast of at least
// 3:1 with the background [WCAG-contrast]. The heat map reaches 3:1 from a load of 25 % on.
constexpr std::array<Colour, 23> palette = {
    {{"paper", "#ffffff", "#14171c"}, {"panel", "#f5f6f8", "#1d2127"}, {"ink", "#1c2127", "#e6e8eb"},
     {"muted", "#59616b", "#a3abb5"}, {"rule", "#d8dce2", "#363c45"},  {"link", "#0b5cad", "#7ab8ff"},
     {"mark", "#fff3cd", "#3b3212"},  {"s0", "#0072b2", "#56b4e9"},    {"s1", "#d55e00", "#ff8a3d"},
     {"s2", "#00805c", "#2cc79a"},    {"s3", "#8a4fbe", "#c79bff"},    {"s4", "#8f6f00", "#e6c229"},
     {"s5", "#c2407f", "#ff8cc0"},    {"s6", "#59616b", "#a3abb5"},    {"s7", "#23407a", "#8fb2ff"},
     {"h0", "#d0d6de", "#39414d"},    {"h1", "#9cc3e0", "#2f608c"},    {"h2", "#4f94c8", "#4f9bd4"},
     {"h3", "#c58200", "#e5a93c"},    {"h4", "#d95d13", "#ff7c33"},    {"h5", "#8f1414", "#ff4f5e"},
     {"best", "#8f6f00", "#ffd84d"},  {"shade", "#c3c9d1", "#3d4550"}}};

std::string properties(bool dark) {
  std::string out;
  for (const Colour& c : palette) out += fmt::format("--{}:{};", c.property, dark ? c.dark : c.light);
  return out;
}

constexpr double swatch = 12, line_height = 20;

}  // namespace

std::size_t heat_step(double load) {
  std::size_t step = 0;
  while (step + 1 < heat_steps && load >= heat_from[step + 1]) ++step;
  return step;
}

std::string heat_label(std::size_t step) {
  const auto percent = [](double part) { return fmt::format("{:.0f}", part * 100); };
  if (step == 0) return fmt::format("below {} %", percent(heat_from[1]));
  if (step + 1 == heat_steps) return fmt::format("{} % or more", percent(heat_from[step]));
  return fmt::format("{} to {} %", percent(heat_from[step]), percent(heat_from[step + 1]));
}

// Print uses the light palette, whatever the screen had.
std::string palette_css() {
  return fmt::format(":root{{{0}}}@media (prefers-color-scheme:dark){{:root{{{1}}}}}@media print{{:root{{{0}}}}}\n",
                     properties(false), properties(true));
}

std::string drawing_css(bool own) {
  // A standalone file has no page around it that could define the properties.
  const auto colour = [&](std::string_view property) {
    if (!own) return fmt::format("var(--{})", property);
    const auto it =
        std::find_if(palette.begin(), palette.end(), [&](const Colour& c) { return c.property == property; });
    return std::string(it->light);
  };
  std::string out = fmt::format(
      "svg.drawn{{font:13px system-ui,-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif}}"
      ".t{{fill:{0}}}.m{{fill:{1}}}.e{{text-anchor:end}}.c{{text-anchor:middle}}.b{{font-weight:600}}"
      ".g{{stroke:{2};stroke-width:1}}.a{{stroke:{1};stroke-width:1}}.k{{stroke:{1};stroke-dasharray:4 3}}"
      ".x{{fill:{3};stroke:{1}}}.n{{fill:none;stroke-width:2;stroke-linejoin:round}}.w{{fill-opacity:.2}}"
      ".v{{fill-opacity:.4}}.d{{fill-opacity:.25}}.r{{fill:none;stroke:{4};stroke-width:3}}.q{{stroke:{1};stroke-"
      "opacity:.55}}.o{{paint-order:stroke;stroke:{5};stroke-width:4;stroke-linejoin:round}}",
      colour("ink"), colour("muted"), colour("rule"), colour("panel"), colour("best"), colour("paper"));
  out.insert(0, own ? fmt::format("svg.drawn{{background:{}}}", colour("paper")) : std::string());
  for (std::size_t i = 0; i < series_colours; ++i)
    out += fmt::format(".s{0}{{stroke:{1}}}.f{0}{{fill:{1}}}", i, colour(fmt::format("s{}", i)));
  for (std::size_t i = 0; i < heat_steps; ++i)
    out += fmt::format(".h{0}{{stroke:{1}}}.i{0}{{fill:{1}}}", i, colour(fmt::format("h{}", i)));
  // The rules apply to drawings only, because a page has other classes.
  for (std::size_t at = out.find("}."); at != std::string::npos; at = out.find("}.", at + 1))
    out.insert(at + 1, ".drawn ");
  return out + "\n";
}

// A tenth of a pixel is finer than any screen shows, and short.
std::string coordinate(double value) {
  std::string text = fmt::format("{:.1f}", value);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text == "-0" ? "0" : text;
}

SvgWriter::SvgWriter(double width, double height, std::string_view title, bool standalone) {
  head_ =
      fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"drawn\" role=\"img\" viewBox=\"0 0 {0} {1}\"{2}>",
                  coordinate(width), coordinate(height),
                  standalone ? fmt::format(" width=\"{}\" height=\"{}\"", coordinate(width), coordinate(height)) : "");
  head_ += fmt::format("<title>{}</title>", escaped(title));
  if (standalone) head_ += fmt::format("<style>{}</style>", drawing_css(true));
  // In a page the caption has the title.
  if (standalone) head_ += fmt::format("<text x=\"{}\" y=\"24\" class=\"t b\">{}</text>", 16, escaped(title));
}

namespace {

// A <title> inside an element is its tooltip, and is read by screen readers.
std::string hinted(std::string_view open, std::string_view hint, std::string_view name) {
  if (hint.empty()) return fmt::format("{}/>", open);
  return fmt::format("{}><title>{}</title></{}>", open, escaped(hint), name);
}

}  // namespace

void SvgWriter::text(double x, double y, std::string_view words, std::string_view css_class, std::string_view more) {
  body_ += fmt::format("<text x=\"{}\" y=\"{}\" class=\"{}\"{}>{}</text>", coordinate(x), coordinate(y), css_class,
                       more, escaped(words));
}
void SvgWriter::line(double x1, double y1, double x2, double y2, std::string_view css_class) {
  body_ += fmt::format("<path d=\"M{} {}L{} {}\" class=\"{}\"/>", coordinate(x1), coordinate(y1), coordinate(x2),
                       coordinate(y2), css_class);
}
void SvgWriter::rect(double x, double y, double w, double h, std::string_view css_class, std::string_view hint) {
  body_ += hinted(fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" class=\"{}\"", coordinate(x),
                              coordinate(y), coordinate(w), coordinate(h), css_class),
                  hint, "rect");
}
void SvgWriter::circle(double x, double y, double r, std::string_view css_class, std::string_view hint) {
  body_ += hinted(fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"{}\" class=\"{}\"", coordinate(x), coordinate(y),
                              coordinate(r), css_class),
                  hint, "circle");
}
void SvgWriter::path(std::string_view d, std::string_view css_class, std::string_view hint, std::string_view more) {
  body_ += hinted(fmt::format("<path d=\"{}\" class=\"{}\"{}", d, css_class, more), hint, "path");
}
std::string SvgWriter::finish() && { return head_ + body_ + "</svg>\n"; }

PlotArea::PlotArea(double left, double top, double right, double bottom, ChartAxis x, ChartAxis y, ChartRange x_range,
                   ChartRange y_range)
    : left_(left),
      top_(top),
      right_(right),
      bottom_(bottom),
      x_axis_(std::move(x)),
      y_axis_(std::move(y)),
      x_range_(x_range),
      y_range_(y_range) {}

double PlotArea::part(const ChartAxis& axis, ChartRange range, double value) {
  if (axis.scale == ChartScale::linear) return (value - range.low) / (range.high - range.low);
  // No place on a logarithmic axis; callers skip what is not finite.
  if (value <= 0) return std::numeric_limits<double>::quiet_NaN();
  return std::log(value / range.low) / std::log(range.high / range.low);
}

void PlotArea::draw_axes(SvgWriter& svg) const {
  for (const ChartTick& t : ticks_of(y_axis_, y_range_)) {
    svg.line(left_, y(t.value), right_, y(t.value), "g");
    svg.text(left_ - 8, y(t.value) + 4, t.label, "m e");
  }
  for (const ChartTick& t : ticks_of(x_axis_, x_range_, 8)) {
    svg.line(x(t.value), bottom_, x(t.value), bottom_ + 5, "a");
    // At the end of the axis a long label moves inwards, so that it is not cut off.
    svg.text(std::min(x(t.value), right_ + right_margin - 2 - text_width(t.label) / 2), bottom_ + 20, t.label, "m c");
  }
  svg.line(left_, bottom_, right_, bottom_, "a");
  svg.text((left_ + right_) / 2, bottom_ + 40, axis_title(x_axis_), "t c");
  const double middle = (top_ + bottom_) / 2;
  svg.text(16, middle, axis_title(y_axis_), "t c", fmt::format(" transform=\"rotate(-90 16 {})\"", coordinate(middle)));
}

double left_of(const ChartAxis& axis, ChartRange range, double least) {
  double label = 0;
  for (const ChartTick& t : ticks_of(axis, range)) label = std::max(label, text_width(t.label));
  // The title is rotated, ends at 24, and has the labels to its right.
  return std::max(least, 24 + 8 + label + 8);
}

std::string axis_title(const ChartAxis& axis) {
  return axis.unit.empty() || axis.measure != Measure::number ? axis.title
                                                              : fmt::format("{} ({})", axis.title, axis.unit);
}

double text_width(std::string_view words) {
  // Of wide fonts among those that a browser may use, so that labels do not overlap in any.
  double width = 0;
  for (const char c : words) {
    if ((c & 0xc0) == 0x80) continue;
    if (std::string_view("mwMW@%").find(c) != std::string_view::npos)
      width += 12;
    else if (std::string_view("fijlrtI.,:;'|!()[]/- ").find(c) != std::string_view::npos)
      width += 5;
    else
      width += c >= 'A' && c <= 'Z' ? 9 : 8;
  }
  return width;
}

namespace {

/// Computes the position of each entry. \returns the total height
double lay_out(const std::vector<LegendEntry>& entries, double width, std::vector<std::pair<double, double>>& places) {
  double x = 0, y = 0;
  for (const LegendEntry& e : entries) {
    const double own = swatch + 6 + text_width(e.name) + 18;
    if (x > 0 && x + own > width) {
      x = 0;
      y += line_height;
    }
    places.emplace_back(x, y);
    x += own;
  }
  return entries.empty() ? 0 : y + line_height;
}

}  // namespace

double legend_height(const std::vector<LegendEntry>& entries, double width) {
  std::vector<std::pair<double, double>> places;
  return lay_out(entries, width, places);
}

double draw_legend(SvgWriter& svg, const std::vector<LegendEntry>& entries, double left, double top, double right) {
  std::vector<std::pair<double, double>> places;
  const double height = lay_out(entries, right - left, places);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const auto [x, y] = places[i];
    svg.rect(left + x, top + y, swatch, swatch, entries[i].css_class);
    svg.text(left + x + swatch + 6, top + y + 11, entries[i].name, "t");
  }
  return height;
}

}  // namespace fabricast
