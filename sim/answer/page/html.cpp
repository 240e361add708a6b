// A page as one HTML file.
// The file needs nothing else: style, script and data are inside, and a policy forbids it to load anything. Charts are
// SVG; the script replaces line and scatter charts by interactive ones of the same data (docs/report.md). Everything
// that comes from a scenario is escaped.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "embedded_page.hpp"
#include "fabricast/core/error.hpp"
#include "html_parts.hpp"
#include "svg.hpp"

namespace fabricast {

namespace {

/// Content-Security-Policy: the page may not load anything.
/// 'unsafe-inline' is needed for a page in one file, and means little where no foreign text is written as script.
constexpr std::string_view policy =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    "form-action 'none'";

std::string head_html(const Page& page) {
  std::string out = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n<meta name=\"generator\" content=\"fabricast "
      "{}\">\n"
      "<title>{}</title>\n<style>\n",
      policy, escaped(page.version), escaped(page.title));
  out += palette_css();
  if (!uplot_version().empty()) out += fmt::format("{}\n", embedded_page("uPlot.min.css"));
  return out + fmt::format("{}{}</style>\n</head>\n", drawing_css(false), embedded_page("page.css"));
}

/// Puts a non-breaking space between a number and its unit.
/// Without it a number and its unit may be on different lines of the large figures.
std::string unbroken(std::string_view text) {
  constexpr std::array<std::string_view, 13> units = {"GB/s", "us",  "ms",  "s",   "ns", "%", "B",
                                                      "KiB",  "MiB", "GiB", "TiB", "GB", "MB"};
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ' ' && i > 0 && text[i - 1] >= '0' && text[i - 1] <= '9') {
      const std::string_view rest = text.substr(i + 1);
      const std::string_view word = rest.substr(0, std::min(rest.size(), rest.find_first_of(" ,.;:()")));
      if (std::find(units.begin(), units.end(), word) != units.end()) {
        out += "\u00a0";
        continue;
      }
    }
    out += text[i];
  }
  return escaped(out);
}

std::string figures_html(const std::vector<KeyFigure>& figures) {
  if (figures.empty()) return {};
  std::string out = "<dl class=\"figures\">";
  for (const KeyFigure& f : figures) {
    out += fmt::format("<div><dt>{}</dt><dd>{}</dd>", escaped(f.label), unbroken(f.value));
    if (!f.range.empty()) out += fmt::format("<dd class=\"range\">{}</dd>", unbroken(f.range));
    out += "</div>";
  }
  return out + "</dl>\n";
}

/// How to reproduce the page: the last section of every page.
PageSection source_section(const Page& page) {
  PageSection section{"source", "How to run it again", {}};
  if (!page.command.empty()) section.blocks.emplace_back(CodeBlock{"Command", page.command, false});
  if (!page.scenario.empty()) {
    section.blocks.emplace_back(Prose{
        page.study
            ? "The scenario and its sweep. Save it to a file, and `fabricast plan` with the options of the command "
              "reproduces this plan."
            : "The scenario with every default filled in. Save it to a file, and `fabricast run` reproduces this "
              "forecast from it alone."});
    section.blocks.emplace_back(CodeBlock{page.study ? "Scenario" : "Scenario, effective", page.scenario, true});
  }
  return section;
}

/// The MIT licence of uPlot requires that it accompanies the code.
std::string licence_html() {
  if (uplot_version().empty()) return "<p>Charts by fabricast.</p>";
  return fmt::format("<details><summary>Interactive charts: uPlot {}, MIT licence</summary><pre>{}</pre></details>",
                     uplot_version(), escaped(embedded_page("LICENSE")));
}

std::string footer_html(const Page& page) {
  std::string out = fmt::format("<footer><p>Made by fabricast {}.", escaped(page.version));
  if (!page.fingerprint.empty())
    out +=
        fmt::format(" Fingerprint of the results: {}. The same version, scenario and seeds give the same fingerprint.",
                    escaped(page.fingerprint));
  return out + fmt::format("</p>{}</footer>\n", licence_html());
}

// Last in the body, so that the page is readable before the scripts run, and complete if they do not.
std::string scripts_html(const Page& page) {
  std::string out = fmt::format("<script type=\"application/json\" id=\"data\">{}</script>\n", page_json(page));
  if (!uplot_version().empty())
    out +=
        fmt::format("<script>/*\n{}\n*/\n{}</script>\n", embedded_page("LICENSE"), embedded_page("uPlot.iife.min.js"));
  return out + fmt::format("<script>\n{}</script>\n", embedded_page("page.js"));
}

}  // namespace

std::string_view uplot_version() {
#ifdef FABRICAST_UPLOT_VERSION
  return FABRICAST_UPLOT_VERSION;
#else
  return {};
#endif
}

std::string page_html(const Page& page) {
  std::vector<PageSection> sections = page.sections;
  sections.push_back(source_section(page));
  std::string out = head_html(page) + "<body>\n<header>\n";
  out += fmt::format("<h1>{}</h1>\n<p class=\"context\">{}</p>\n<p class=\"answer\">{}</p>\n", escaped(page.title),
                     escaped(page.context), unbroken(page.answer));
  out += figures_html(page.figures);
  if (!page.warnings.empty()) {
    out += "<ul class=\"warnings\">";
    for (const std::string& w : page.warnings) out += fmt::format("<li>{}</li>", with_code(w));
    out += "</ul>\n";
  }
  out += "<nav aria-label=\"Sections\">";
  for (const PageSection& s : sections) out += fmt::format("<a href=\"#{}\">{}</a>", escaped(s.name), escaped(s.title));
  out += "</nav>\n</header>\n<main>\n";
  for (const PageSection& s : sections) {
    out += fmt::format("<section id=\"{}\">\n<h2>{}</h2>\n", escaped(s.name), escaped(s.title));
    for (const PageBlock& block : s.blocks) out += block_html(page, block);
    out += "</section>\n";
  }
  return out + "</main>\n" + footer_html(page) + scripts_html(page) + "</body>\n</html>\n";
}

const PageTable& table_of(const Page& page, const std::string& name) {
  for (const PageSection& s : page.sections)
    for (const PageBlock& block : s.blocks)
      if (const auto* table = std::get_if<PageTable>(&block); table && table->name == name) return *table;
  throw InternalError("the page has no table " + name);
}

namespace {

// A visitor with a case for each kind of block: a new kind does not compile until it is decided whether it is a chart.
struct ChartName {
  std::string operator()(const LineChart& c) const { return c.name; }
  std::string operator()(const BarChart& c) const { return c.name; }
  std::string operator()(const ScatterChart& c) const { return c.name; }
  std::string operator()(const FabricDrawing& d) const { return d.name; }
  std::string operator()(const Prose&) const { return {}; }
  std::string operator()(const PageTable&) const { return {}; }
  std::string operator()(const CodeBlock&) const { return {}; }
};

struct ChartSvg {
  const Page& page;
  std::string operator()(const ScatterChart& c) const { return chart_svg(c, table_of(page, c.table)); }
  std::string operator()(const FabricDrawing& d) const { return drawing_svg(d); }
  std::string operator()(const LineChart& c) const { return chart_svg(c); }
  std::string operator()(const BarChart& c) const { return chart_svg(c); }
  template <class Other>
  std::string operator()(const Other&) const {
    throw InternalError("not a chart");
  }
};

}  // namespace

std::vector<std::string> chart_names(const Page& page) {
  std::vector<std::string> names;
  for (const PageSection& s : page.sections)
    for (const PageBlock& block : s.blocks)
      if (std::string name = std::visit(ChartName{}, block); !name.empty()) names.push_back(std::move(name));
  return names;
}

std::string page_chart_svg(const Page& page, const std::string& name) {
  for (const PageSection& s : page.sections)
    for (const PageBlock& block : s.blocks)
      if (std::visit(ChartName{}, block) == name) return std::visit(ChartSvg{page}, block);
  throw InternalError("the page has no chart " + name);
}

}  // namespace fabricast
