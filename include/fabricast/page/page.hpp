// A report as one file: a plain value, and its writer.
//
//   Page  ->  page_html  ->  one HTML file
//
// The file needs nothing else: no network, no font, no other file. Without scripts it shows the same charts as SVG and
// the same tables; with them tables sort and filter, and charts answer to the pointer. It is readable on a phone, in
// dark mode and on paper. The same page gives the same bytes: nothing in it comes from a clock or by chance.
//
// All text is escaped when it is written, so that names may hold anything.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "fabricast/page/chart.hpp"
#include "fabricast/page/drawing.hpp"
#include "fabricast/page/table.hpp"

namespace fabricast {

/// A paragraph.
struct Prose {
  std::string text;
};

/// Text to copy: a command, a scenario.
struct CodeBlock {
  std::string title;
  std::string text;
  bool folded = false;  ///< shown when it is asked for; printed all the same
};

using PageBlock = std::variant<Prose, LineChart, BarChart, ScatterChart, PageTable, FabricDrawing, CodeBlock>;

struct PageSection {
  std::string name;  ///< a word, unique in a page: the address of the section
  std::string title;
  std::vector<PageBlock> blocks;
};

/// A figure of the first screen.
struct KeyFigure {
  std::string label;
  std::string value;  ///< with its unit
  std::string range;  ///< e.g. `231 to 433 GB/s with 90 %`; may be empty
};

struct Page {
  std::string title;    ///< the scenario's name
  std::string context;  ///< one line: what was forecast, on what
  std::string answer;   ///< one or two sentences that anybody can read
  std::vector<KeyFigure> figures;
  std::vector<std::string> warnings;
  std::vector<PageSection> sections;
  // To run it again.
  std::string command;      ///< as it was typed
  std::string scenario;     ///< YAML: the effective one, or of a study the file
  bool study = false;       ///< whether `fabricast plan` runs it, not `run`
  std::string version;      ///< of fabricast
  std::string fingerprint;  ///< of the results; may be empty
};

/// What a page shows of a table at most, so that the file stays below 2 MB: so many rows, and so many cells. Rows that
/// are best or on the front come first.
inline constexpr std::size_t most_page_rows = 2000, most_page_cells = 30'000;

std::string page_html(const Page& page);

/// Names of the charts and drawings of a page, in order.
std::vector<std::string> chart_names(const Page& page);
/// One of them as an SVG file. \pre it is among chart_names
std::string page_chart_svg(const Page& page, const std::string& name);

/// `<`, `&` and quotes as HTML and XML have them; characters that XML forbids are left out.
std::string escaped(std::string_view text);

/// The version of uPlot that is built in; empty: none, and pages show the SVG charts alone.
std::string_view uplot_version();

}  // namespace fabricast
