// The blocks of a page as HTML, complete without scripts. Elements that only scripts can use are hidden until they run.
#include <fmt/format.h>

#include <algorithm>

#include "fabricast/core/error.hpp"
#include "html_parts.hpp"

namespace fabricast {

namespace {

std::string note_html(const std::string& note) {
  return note.empty() ? std::string() : fmt::format("<p class=\"note\">{}</p>", with_code(note));
}

// A hint says what a pointer can do. Paper leaves it out.
std::string hint_html(std::string_view hint) {
  return hint.empty() ? std::string() : fmt::format("<p class=\"note hint\">{}</p>", hint);
}

std::string figure_html(std::string_view kind, const std::string& name, const std::string& title,
                        const std::string& note, const std::string& content, std::string_view hint = {}) {
  return fmt::format("<figure class=\"{}\" id=\"chart-{}\"><figcaption>{}</figcaption>{}{}{}</figure>\n", kind,
                     escaped(name), escaped(title), note_html(note), hint_html(hint), content);
}

// `live` is where the script puts its chart, at the size of the screen; it then hides the SVG, which stays for print.
std::string live_html(const std::string& name, const std::string& svg) {
  return fmt::format("<div class=\"live\" id=\"live-{}\" hidden></div>{}", escaped(name), svg);
}

// Without a script, what is drawn keeps a width at which its labels are legible; a narrow screen scrolls it.
std::string scrolled_html(const std::string& title, const std::string& svg) {
  return fmt::format("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\">{}</div>", escaped(title),
                     svg);
}

// Names of metrics and keys are long. On paper they may break after `_` and `.`.
std::string breakable(std::string_view name) {
  std::string out;
  for (const char c : escaped(name)) {
    out += c;
    if (c == '_' || c == '.') out += "<wbr>";
  }
  return out;
}

// Numbers are rounded for reading. Sorting and filtering use the values in the data of the script.
std::string cell_html(const TableRow& row, std::size_t c, const TableColumn& column) {
  const TableCell& cell = row.cells[c];
  std::string text = cell.text;
  if (column.measure != Measure::text && text.empty())
    text = column.measure == Measure::number ? number_text(cell.value) : value_text(cell.value, column.measure);
  std::string out = escaped(text);
  if (column.measure != Measure::text && cell.has_interval())
    out += fmt::format("<small>{}</small>", range_text(cell.low, cell.high, column.measure));
  // Badges in words, since colour alone does not tell rows apart for everyone.
  if (c == 0) {
    if (row.best) out += "<span class=\"badge\">best</span>";
    if (row.front) out += "<span class=\"badge\">front</span>";
    if (!row.dropped.empty())
      out += fmt::format("<span class=\"badge\" title=\"{}\">dropped</span>", escaped(row.dropped));
  }
  return fmt::format("<td{}>{}</td>", column.measure == Measure::text ? "" : " class=\"n\"", out);
}

std::string row_html(const TableRow& row, const std::vector<TableColumn>& columns) {
  FABRICAST_CHECK(row.cells.size() == columns.size(), "a row has a cell for each column");
  std::string marks;
  if (row.best) marks += "best ";
  if (row.front) marks += "front ";
  if (!row.dropped.empty()) marks += "dropped ";
  if (!marks.empty()) {
    marks.pop_back();
    marks = fmt::format(" class=\"{}\"", marks);
  }
  std::string out = fmt::format("<tr{}>", marks);
  for (std::size_t c = 0; c < columns.size(); ++c) out += cell_html(row, c, columns[c]);
  return out + "</tr>\n";
}

// Boxes appear only if they would change something.
std::string tools_html(const PageTable& table) {
  const auto any = [&](auto has) { return std::any_of(table.rows.begin(), table.rows.end(), has); };
  std::string out = fmt::format(
      "<div class=\"tools\" id=\"tools-{}\" hidden><label>Filter <input type=\"search\" autocomplete=\"off\" "
      "placeholder=\"words, or a column: name&gt;=8\"></label>",
      escaped(table.name));
  if (any([](const TableRow& r) { return r.front; }))
    out += "<label><input type=\"checkbox\" value=\"front\" autocomplete=\"off\">front only</label>";
  if (any([](const TableRow& r) { return !r.dropped.empty(); }))
    out += "<label><input type=\"checkbox\" value=\"kept\" autocomplete=\"off\">without dropped rows</label>";
  return out + "<output aria-live=\"polite\"></output></div>";
}

// A scrolling region with a name and in the order of the keyboard, so that it can be used without a mouse.
std::string table_html(const PageTable& whole) {
  const PageTable table = shown_rows(whole);
  std::string out;
  if (!table.title.empty()) out += fmt::format("<h3>{}</h3>", escaped(table.title));
  out += note_html(table.note);
  // Says how many rows are cut off, and where all of them are.
  if (table.rows.size() < whole.rows.size())
    out += note_html(fmt::format("{} of {} rows. The JSON and CSV output has all of them.",
                                 number_text(static_cast<double>(table.rows.size())),
                                 number_text(static_cast<double>(whole.rows.size()))));
  if (table.filter) out += tools_html(table);
  out += fmt::format(
      "<div class=\"scroll{}\" tabindex=\"0\" role=\"region\" aria-label=\"{}\"><table id=\"table-{}\"><thead><tr>",
      table.rows.size() > 25 ? " tall" : "", escaped(table.title.empty() ? table.name : table.title),
      escaped(table.name));
  for (const TableColumn& c : table.columns)
    out += fmt::format("<th scope=\"col\"{}{}>{}{}</th>", c.measure == Measure::text ? "" : " class=\"n\"",
                       c.what.empty() ? "" : fmt::format(" title=\"{}\"", escaped(c.what)), breakable(c.title),
                       c.unit.empty() ? "" : fmt::format(" <span class=\"unit\">{}</span>", escaped(c.unit)));
  out += "</tr></thead><tbody>\n";
  for (const TableRow& row : table.rows) out += row_html(row, table.columns);
  return out + "</tbody></table></div>\n";
}

// Long texts, such as the effective scenario, are folded; print shows them.
std::string code_html(const CodeBlock& code) {
  const std::string text = fmt::format(
      "<div class=\"code\"><pre tabindex=\"0\"{}>{}</pre><button class=\"copy\" type=\"button\" "
      "hidden>Copy</button></div>",
      code.folded ? "" : " class=\"command\"", escaped(code.text));
  if (code.folded)
    return fmt::format("<details class=\"print\"><summary>{}</summary>{}</details>\n", escaped(code.title), text);
  return (code.title.empty() ? std::string() : fmt::format("<h3>{}</h3>", escaped(code.title))) + text + "\n";
}

struct Writer {
  const Page& page;
  std::string operator()(const Prose& p) const { return fmt::format("<p>{}</p>\n", with_code(p.text)); }
  std::string operator()(const LineChart& c) const {
    return figure_html("chart", c.name, c.title, c.note, live_html(c.name, chart_svg(c, false)));
  }
  std::string operator()(const BarChart& c) const {
    return figure_html("chart bars", c.name, c.title, c.note, scrolled_html(c.title, chart_svg(c, false)),
                       "Point at a part of a bar to read its value.");
  }
  std::string operator()(const ScatterChart& c) const {
    const std::string svg = chart_svg(c, shown_rows(table_of(page, c.table)), false);
    return figure_html("chart", c.name, c.title, c.note, live_html(c.name, svg));
  }
  std::string operator()(const PageTable& t) const { return table_html(t); }
  std::string operator()(const FabricDrawing& d) const {
    return figure_html("drawing", d.name, d.title, d.note, scrolled_html(d.title, drawing_svg(d, false)),
                       d.with_load ? "Point at a line to read its load." : "Point at a line to read its cables.");
  }
  std::string operator()(const CodeBlock& c) const { return code_html(c); }
};

}  // namespace

std::string with_code(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const auto begin = text.find('`'), end = begin == std::string_view::npos ? begin : text.find('`', begin + 1);
    if (end == std::string_view::npos) break;
    out += fmt::format("{}<code>{}</code>", escaped(text.substr(0, begin)),
                       escaped(text.substr(begin + 1, end - begin - 1)));
    text.remove_prefix(end + 1);
  }
  return out + escaped(text);
}

std::string block_html(const Page& page, const PageBlock& block) { return std::visit(Writer{page}, block); }

PageTable shown_rows(const PageTable& table) {
  const std::size_t most = std::min(most_page_rows, most_page_cells / std::max<std::size_t>(1, table.columns.size()));
  if (table.rows.size() <= most) return table;
  PageTable shown = table;
  // The order of merit stays within both halves.
  std::stable_partition(shown.rows.begin(), shown.rows.end(), [](const TableRow& r) { return r.best || r.front; });
  shown.rows.resize(most);
  return shown;
}

}  // namespace fabricast
