// The data of the page's script as JSON. Only this file of the page module uses nlohmann-json.
// Axes, ticks, texts and groups are computed here and not in the script, which only draws.
#include <cmath>
#include <nlohmann/json.hpp>

#include "chart_parts.hpp"
#include "fabricast/core/quantity.hpp"
#include "html_parts.hpp"

namespace fabricast {

namespace {

using Json = nlohmann::ordered_json;

/// Six digits suffice, because a screen has fewer pixels. Values that are not finite become null.
Json number(double value) { return std::isfinite(value) ? Json(rounded(value, 6)) : Json(); }

Json numbers(const std::vector<double>& values) {
  Json list = Json::array();
  for (const double v : values) list.push_back(number(v));
  return list;
}

// The base of the logarithm tells the script how to place values; 0 is linear.
Json axis_json(const ChartAxis& axis, ChartRange range, int ticks) {
  Json list = Json::array();
  for (const ChartTick& t : ticks_of(axis, range, ticks)) list.push_back({number(t.value), t.label});
  const int base = axis.measure == Measure::bytes ? 2 : 10;
  const std::string title =
      axis.unit.empty() || axis.measure != Measure::number ? axis.title : axis.title + " (" + axis.unit + ")";
  return {{"title", title},
          {"range", {number(range.low), number(range.high)}},
          {"log", axis.scale == ChartScale::logarithmic ? base : 0},
          {"ticks", std::move(list)}};
}

Json chart_json(const LineChart& chart) {
  const ChartFrame frame = frame_of(chart);
  Json series = Json::array();
  for (const ChartSeries& s : chart.series) {
    Json bands = Json::array(), texts = Json::array();
    for (const ChartBand& b : s.bands)
      bands.push_back({{"name", b.name}, {"low", numbers(b.low)}, {"high", numbers(b.high)}});
    for (std::size_t i = 0; i < s.y.size(); ++i) texts.push_back(point_text(chart, s, i));
    series.push_back({{"name", s.name}, {"y", numbers(s.y)}, {"bands", std::move(bands)}, {"text", std::move(texts)}});
  }
  Json labels = Json::array(), marks = Json::array();
  for (const double x : chart.at) labels.push_back(value_text(x, chart.x.measure, chart.x.unit));
  for (const ChartMark& m : chart.marks) marks.push_back({number(m.x), m.label});
  return {{"kind", "line"},
          {"name", chart.name},
          {"x", axis_json(chart.x, frame.x, 8)},
          {"y", axis_json(chart.y, frame.y, 6)},
          {"at", numbers(chart.at)},
          {"labels", std::move(labels)},
          {"series", std::move(series)},
          {"marks", std::move(marks)},
          {"stepped", chart.stepped}};
}

// Points are rows of the table on the page, by number, so that chart and table can be filtered together.
Json chart_json(const ScatterChart& chart, const PageTable& table) {
  const ChartFrame frame = frame_of(chart, table);
  Json x = axis_json(x_axis(chart, table), frame.x, 8), y = axis_json(y_axis(chart, table), frame.y, 6);
  x["column"] = chart.x;
  y["column"] = chart.y;
  Json dropped = Json::array(), best;
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    if (!table.rows[r].dropped.empty()) dropped.push_back(r);
    if (table.rows[r].best && best.is_null()) best = r;
  }
  return {{"kind", "scatter"},
          {"name", chart.name},
          {"table", chart.table},
          {"x", std::move(x)},
          {"y", std::move(y)},
          {"by", chart.group ? Json(*chart.group) : Json()},
          {"groups", groups_of(chart, table)},
          {"group", group_by_row(chart, table)},
          {"front", front_of(chart, table)},
          {"dropped", std::move(dropped)},
          {"best", std::move(best)},
          {"marks", Json::array()}};
}

/// The values of number columns, which the page shows rounded. Text columns are null: the script reads the table
/// itself.
Json table_json(const PageTable& table) {
  Json titles = Json::array(), units = Json::array(), scales = Json::array(), values = Json::array();
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    const TableColumn& column = table.columns[c];
    titles.push_back(column.title);
    units.push_back(column.unit);
    scales.push_back(column.measure == Measure::percent ? 100 : 1);
    Json list;
    if (column.measure != Measure::text) {
      list = Json::array();
      for (const TableRow& row : table.rows) list.push_back(number(row.cells[c].value));
    }
    values.push_back(std::move(list));
  }
  return {{"name", table.name},
          {"titles", std::move(titles)},
          {"units", std::move(units)},
          {"scale", std::move(scales)},
          {"values", std::move(values)}};
}

/// Escapes `<`, so that a name that contains `</script>` cannot end the script.
std::string for_script(const Json& json) {
  // Invalid UTF-8, for example in a name from a log, is replaced instead of ending the report with an error.
  std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace), out;
  out.reserve(text.size());
  for (const char c : text) {
    if (c == '<')
      out += "\\u003c";
    else if (c == '>')
      out += "\\u003e";
    else if (c == '&')
      out += "\\u0026";
    else
      out += c;
  }
  return out;
}

}  // namespace

std::string page_json(const Page& page) {
  Json charts = Json::array(), tables = Json::array();
  for (const PageSection& s : page.sections)
    for (const PageBlock& block : s.blocks) {
      if (const auto* line = std::get_if<LineChart>(&block)) charts.push_back(chart_json(*line));
      if (const auto* scatter = std::get_if<ScatterChart>(&block))
        // The table is cut to the rows that the page shows, so that numbers of rows agree.
        charts.push_back(chart_json(*scatter, shown_rows(table_of(page, scatter->table))));
      if (const auto* table = std::get_if<PageTable>(&block)) tables.push_back(table_json(shown_rows(*table)));
    }
  return for_script({{"charts", std::move(charts)}, {"tables", std::move(tables)}});
}

}  // namespace fabricast
