// A folded fabric as SVG and as a Graphviz graph.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "fabricast/page/drawing.hpp"
#include "svg.hpp"

namespace fabricast {

namespace {

constexpr double box_height = 26, row_pitch = 128;

std::string box_text(const FabricBox& box) {
  return box.count == 1 ? box.first : fmt::format("{} to {}", box.first, box.last);
}

/// How much of the names fits into the boxes of a row. All boxes of a row use the same style.
/// Mixed styles in a row would look like different kinds of boxes.
enum class NameStyle { whole, number, first_number, none };

std::string number_of(const std::string& name) {
  const auto at = name.find_first_of("0123456789");
  return at == std::string::npos ? name : name.substr(at);
}

std::string styled(const FabricBox& box, NameStyle style) {
  if (style == NameStyle::none) return {};
  const std::string first = style == NameStyle::whole ? box.first : number_of(box.first);
  if (style == NameStyle::first_number && box.count > 1) return first + "..";
  return box.count == 1 ? first : fmt::format("{}-{}", first, number_of(box.last));
}

NameStyle style_of(const FabricRow& row, double width) {
  for (const NameStyle style : {NameStyle::whole, NameStyle::number, NameStyle::first_number})
    if (std::all_of(row.boxes.begin(), row.boxes.end(),
                    [&](const FabricBox& b) { return text_width(styled(b, style)) <= width; }))
      return style;
  return NameStyle::none;
}

std::string cables_text(const FabricLine& line) {
  return fmt::format("{} cable{} of {:.4g} GB/s", number_text(line.cables), line.cables == 1 ? "" : "s",
                     gigabytes_per_second(line.rate));
}

std::string line_text(const FabricDrawing& d, const FabricLine& line) {
  std::string text = fmt::format("{} - {}: {}", box_text(d.rows[line.lower_row].boxes[line.lower]),
                                 box_text(d.rows[line.upper_row].boxes[line.upper]), cables_text(line));
  if (d.with_load)
    text += fmt::format("; mean load {:.0f} %, {:.0f} % on {}", 100 * line.mean, 100 * line.most, line.fullest);
  return text;
}

// By the number of cables, from 1 to 3 pixels: more would hide other lines.
double line_width(const FabricLine& line, std::uint32_t most) {
  return 1 + 2.0 * static_cast<double>(line.cables) / static_cast<double>(most);
}

}  // namespace

std::string drawing_svg(const FabricDrawing& d, bool standalone) {
  constexpr double width = 960, left = 120, right = width - 16;
  const double top = standalone ? 48 : 12;
  const double rows = static_cast<double>(d.rows.size());
  const double bottom = top + row_pitch * (rows - 1) + box_height;
  std::vector<LegendEntry> legend;
  if (d.with_load)
    for (std::size_t h = 0; h < heat_steps; ++h) legend.push_back({heat_label(h), fmt::format("i{}", h)});
  SvgWriter svg(width, bottom + 24 + legend_height(legend, right - left), d.title, standalone);
  // Row 0, the nodes, is at the bottom.
  const auto y = [&](std::uint32_t row) { return top + row_pitch * (rows - 1 - row); };
  const auto pitch = [&](std::uint32_t row) { return (right - left) / static_cast<double>(d.rows[row].boxes.size()); };
  const auto middle = [&](std::uint32_t row, std::uint32_t box) { return left + pitch(row) * (box + 0.5); };

  // The most loaded lines are drawn last, so that they are on top.
  std::vector<std::size_t> order(d.lines.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return d.lines[a].most < d.lines[b].most; });
  std::uint32_t most = 1;
  for (const FabricLine& line : d.lines) most = std::max(most, line.cables);
  for (const std::size_t i : order) {
    const FabricLine& line = d.lines[i];
    const std::string colour = d.with_load ? fmt::format("h{}", heat_step(line.most)) : "q";
    svg.path(fmt::format("M{} {}L{} {}", coordinate(middle(line.lower_row, line.lower)), coordinate(y(line.lower_row)),
                         coordinate(middle(line.upper_row, line.upper)), coordinate(y(line.upper_row) + box_height)),
             colour, line_text(d, line), fmt::format(" stroke-width=\"{}\"", coordinate(line_width(line, most))));
  }
  for (std::uint32_t r = 0; r < d.rows.size(); ++r) {
    const FabricRow& row = d.rows[r];
    svg.text(8, y(r) + 12, row.title, "t b");
    svg.text(8, y(r) + 28, number_text(row.count), "m");
    if (row.boxes.front().count > 1)
      svg.text(8, y(r) + 44, fmt::format("{} per box", number_text(row.boxes.front().count)), "m");
    const double gap = std::min(6.0, pitch(r) * 0.15), box = std::min(140.0, pitch(r) - gap);
    const NameStyle style = style_of(row, box);
    for (std::uint32_t b = 0; b < row.boxes.size(); ++b) {
      svg.rect(middle(r, b) - box / 2, y(r), box, box_height, "x", box_text(row.boxes[b]));
      svg.text(middle(r, b), y(r) + 17, styled(row.boxes[b], style), "t c");
    }
  }
  draw_legend(svg, legend, left, bottom + 16, right);
  return std::move(svg).finish();
}

namespace {

/// A quoted string of Graphviz.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

constexpr std::size_t most_labels = 32;

constexpr std::array<std::string_view, heat_steps> heat_colours = {"#b6bec9", "#9cc3e0", "#4f94c8",
                                                                   "#c58200", "#d95d13", "#8f1414"};

}  // namespace

// For layouts of Graphviz's own; colours are those of the light palette, since a graph file has no dark mode.
std::string drawing_dot(const FabricDrawing& d) {
  std::string out = fmt::format("graph {} {{\n  rankdir=BT;\n  node [shape=box, style=rounded];\n",
                                quoted(d.title.empty() ? "fabric" : d.title));
  const auto id = [](std::uint32_t row, std::uint32_t box) { return fmt::format("r{}b{}", row, box); };
  for (std::uint32_t r = 0; r < d.rows.size(); ++r) {
    out += "  { rank=same;\n";
    for (std::uint32_t b = 0; b < d.rows[r].boxes.size(); ++b) {
      const FabricBox& box = d.rows[r].boxes[b];
      const std::string label = box.count == 1 ? box.first : fmt::format("{} x {}", box_text(box), box.count);
      out += fmt::format("    {} [label={}];\n", id(r, b), quoted(label));
    }
    out += "  }\n";
  }
  for (const FabricLine& line : d.lines) {
    const std::string colour = d.with_load ? fmt::format(", color=\"{}\"", heat_colours[heat_step(line.most)]) : "";
    // Many labels hide the lines, and Graphviz takes minutes to place them.
    const std::string words = quoted(fmt::format("{} x {:.4g} GB/s", line.cables, gigabytes_per_second(line.rate)));
    out += fmt::format("  {} -- {} [tooltip={}{}{}];\n", id(line.lower_row, line.lower), id(line.upper_row, line.upper),
                       words, d.lines.size() <= most_labels ? ", label=" + words : "", colour);
  }
  return out + "}\n";
}

}  // namespace fabricast
