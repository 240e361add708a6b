// A report as one HTML file: a plain value (Page) and its writer (`page_html`).
//
//   Page  ->  page_html  ->  one HTML file
//
// The file is self-contained: it loads nothing from the network and no other file, and a Content-Security-Policy in it
// forbids that. Without scripts it shows all charts as SVG and all tables. With scripts, tables sort and filter, and
// charts respond to the pointer. It is readable on a phone, in dark mode and on paper. The same page always gives the
// same bytes: nothing in it depends on the time or on random numbers.
//
// All text is escaped when the page is written, so names may hold any characters.
// Plain values and pure functions; safe to call concurrently. Docs: docs/report.md.
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

/// Text with a button that copies it: a command or a scenario.
struct CodeBlock {
  std::string title;
  std::string text;
  bool folded = false;  ///< hidden until the reader opens it; always printed
};

/// What a section consists of, from top to bottom.
using PageBlock = std::variant<Prose, LineChart, BarChart, ScatterChart, PageTable, FabricDrawing, CodeBlock>;

/// A part of a page with a heading.
struct PageSection {
  std::string name;  ///< one word, unique in a page: the anchor of the section
  std::string title;
  std::vector<PageBlock> blocks;
};

/// A figure of the first screen.
struct KeyFigure {
  std::string label;
  std::string value;  ///< with its unit
  std::string range;  ///< small print below the value, e.g. `90 % interval 231 to 433 GB/s`; may be empty
};

/// A report. The writer adds a last section with the command and the scenario that produced it.
struct Page {
  std::string title;    ///< the scenario's name
  std::string context;  ///< one line: what was forecast, and on which hardware
  std::string answer;   ///< one or two sentences that any reader understands
  std::vector<KeyFigure> figures;
  std::vector<std::string> warnings;
  std::vector<PageSection> sections;
  // How to reproduce the page.
  std::string command;      ///< as it was typed
  std::string scenario;     ///< YAML: the effective scenario, or the text of a study's file
  bool study = false;       ///< true: `fabricast plan` runs the scenario, not `fabricast run`
  std::string version;      ///< of fabricast
  std::string fingerprint;  ///< of the results; may be empty
};

/// Limits on the rows and the cells that a page shows of one table, so that the file stays below 2 MB. Rows that are
/// best or on the front come first; a note refers to the JSON and CSV output for the others.
inline constexpr std::size_t most_page_rows = 2000, most_page_cells = 30'000;

/// The page as a complete HTML document.
/// \throws InternalError if a scatter chart names a table that the page does not have, or a row lacks cells
std::string page_html(const Page& page);

/// Names of the charts and drawings of a page, in order.
std::vector<std::string> chart_names(const Page& page);
/// One of the charts or drawings as an SVG file.
/// \pre `name` is among `chart_names(page)` \throws InternalError otherwise
std::string page_chart_svg(const Page& page, const std::string& name);

/// Text for HTML and XML: `<`, `>`, `&` and quotes become entities. Control characters that XML forbids are removed.
std::string escaped(std::string_view text);

/// The version of uPlot that is built in. Empty: none is built in, and pages show all charts as SVG.
std::string_view uplot_version();

}  // namespace fabricast
