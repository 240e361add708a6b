// The page of a study: the answer, the front as a chart, metrics over a numeric axis, all rows, and the refused ones
// with their reasons. Chart and table are of the same rows, and are filtered together.
#include "fabricast/page/plan_page.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "fabricast/plan/metric.hpp"
#include "fabricast/report/report.hpp"
#include "report_parts.hpp"

namespace fabricast {

namespace {

/// How a metric is written. The unit follows from the end of its name, so the order of `endings` matters.
struct Written {
  std::string_view ending;
  Measure measure;
  const char* unit;
  double factor;  ///< from the unit of the metric to that of the measure
};
constexpr std::array endings = {
    Written{"_us", Measure::seconds, "", 1e-6},  Written{"_gbps", Measure::number, "GB/s", 1},
    Written{"_w", Measure::number, "W", 1},      Written{"tokens_per_s", Measure::number, "tokens/s", 1},
    Written{"_per_gpu", Measure::number, "", 1}, Written{"_s", Measure::seconds, "", 1},
    Written{"_s_p95", Measure::seconds, "", 1},  Written{"_s_worst", Measure::seconds, "", 1},
    Written{"mfu", Measure::percent, "", 1},     Written{"exposed", Measure::percent, "", 1},
    Written{"bubble", Measure::percent, "", 1},  Written{"memory", Measure::percent, "", 1},
    Written{"goodput", Measure::percent, "", 1},
};
Written written(std::string_view metric) {
  for (const Written& w : endings)
    if (metric.ends_with(w.ending)) return w;
  return {"", Measure::number, "", 1};
}

/// Whether the interval of the forecast time applies: to times, and to what is proportional or inverse to them.
bool has_interval(std::string_view metric) {
  constexpr std::array names = {"time_s",       "time_us", "busbw_gbps",    "algbw_gbps",      "step_s",
                                "tokens_per_s", "mfu",     "cost_per_step", "cost_per_mtokens"};
  return std::find(names.begin(), names.end(), metric) != names.end();
}

/// The usual columns, and the metrics of the front. The interval has no column: each value shows its own.
std::vector<std::size_t> columns_of(const PlanReport& r) {
  std::vector<std::size_t> shown = shown_metrics(r);
  for (const std::size_t m : r.decision.objective.front)
    if (std::find(shown.begin(), shown.end(), m) == shown.end()) shown.push_back(m);
  const auto interval = find_metric("interval");
  std::erase_if(shown, [&](std::size_t m) { return m == interval; });
  return shown;
}

// A metric without a value is an empty text, not a 0, which would look like a result.
TableCell cell_of(const SweepRow& row, std::size_t metric) {
  if (!row.values[metric]) return TableCell::of(std::string());
  const std::string_view name = metrics()[metric].name;
  const double value = *row.values[metric] * written(name).factor;
  const auto interval = find_metric("interval");
  return has_interval(name) && row.values[*interval] ? with_factor(value, *row.values[*interval])
                                                     : TableCell::of(value);
}

// In the order of the decision, so that the best is on the first screen.
PageTable rows_table(const PlanReport& r, const std::vector<std::size_t>& shown) {
  PageTable table;
  table.name = "rows";
  table.title = "All forecast rows";
  table.filter = true;
  table.note = "Best configurations first. Small numbers are the ends of the 90 % interval.";
  for (const SweepAxis& axis : r.study.axes)
    table.columns.push_back({axis.name, Measure::text, {}, "axis of the sweep"});
  for (const std::size_t m : shown) {
    const Written w = written(metrics()[m].name);
    table.columns.push_back({std::string(metrics()[m].name), w.measure, w.unit, std::string(metrics()[m].summary)});
  }
  for (const std::size_t number : r.decision.order) {
    TableRow row;
    const std::vector<std::size_t> choices = choices_of(r.study, number);
    for (std::size_t a = 0; a < choices.size(); ++a)
      row.cells.push_back(TableCell::of(r.study.axes[a].values[choices[a]].label));
    for (const std::size_t m : shown) row.cells.push_back(cell_of(r.rows[number], m));
    row.best = r.decision.best == number;
    row.front = r.decision.on_front[number];
    if (!r.decision.kept[number]) row.dropped = "does not satisfy the conditions";
    table.rows.push_back(std::move(row));
  }
  return table;
}

PageTable refused_table(const PlanReport& r) {
  PageTable table;
  table.name = "refused";
  table.title = "Refused";
  table.note = "Configurations that are inconsistent or do not fit in memory.";
  for (const SweepAxis& axis : r.study.axes) table.columns.push_back({axis.name, Measure::text, {}, {}});
  table.columns.push_back({"reason", Measure::text, {}, {}});
  for (const SweepRow& row : r.rows) {
    if (row.state != RowState::refused) continue;
    TableRow line;
    const std::vector<std::size_t> choices = choices_of(r.study, row.row);
    for (std::size_t a = 0; a < choices.size(); ++a)
      line.cells.push_back(TableCell::of(r.study.axes[a].values[choices[a]].label));
    line.cells.push_back(TableCell::of(row.why));
    table.rows.push_back(std::move(line));
  }
  return table;
}

/// What an objective with one metric is drawn against: what a configuration costs, as far as that is known.
std::size_t against(std::size_t metric, const std::vector<std::size_t>& shown) {
  for (const char* name : {"cost", "power_w", "switches", "gpus"})
    if (const auto m = find_metric(name); m && *m != metric && std::find(shown.begin(), shown.end(), *m) != shown.end())
      return *m;
  return metric;
}

/// The first metric of the front against the last. With two metrics, which is the default, these are all of them.
PageSection front_section(const PlanReport& r, const std::vector<std::size_t>& shown) {
  const auto column = [&](std::size_t metric) {
    return r.study.axes.size() +
           static_cast<std::size_t>(std::find(shown.begin(), shown.end(), metric) - shown.begin());
  };
  const std::vector<std::size_t>& front = r.decision.objective.front;
  const bool one = front.front() == front.back();
  const std::size_t x = one ? against(front.front(), shown) : front.back();
  PageSection section{"front", one ? "Configurations" : "Pareto front", {}};
  ScatterChart chart;
  chart.name = "front";
  chart.table = "rows";
  chart.x = column(x);
  chart.y = column(front.front());
  chart.title = fmt::format("{} versus {}", metrics()[front.front()].name, metrics()[x].name);
  if (!one && front.size() == 2)
    chart.note = "The line joins the Pareto front: no other configuration is better in both.";
  if (front.size() > 2) {
    std::vector<std::string_view> names;
    for (const std::size_t m : front) names.push_back(metrics()[m].name);
    chart.note = fmt::format("The line joins the Pareto front: no other configuration is better in all of {}.",
                             fmt::join(names, ", "));
  }
  // The first axis varies slowest and usually is the question.
  if (!r.study.axes.empty()) {
    chart.group = 0;
    chart.note += fmt::format("{}Colours: {}.", chart.note.empty() ? "" : " ", r.study.axes.front().name);
  }
  section.blocks.emplace_back(std::move(chart));
  return section;
}

/// The number that a label begins with, and the rest: `400Gbps` is 400 and `Gbps`.
struct AxisNumber {
  double value = 0;
  std::string unit;
};
/// Empty if the label does not begin with a number.
std::optional<AxisNumber> axis_number(const std::string& label) {
  AxisNumber number;
  const auto [end, code] = std::from_chars(label.data(), label.data() + label.size(), number.value);
  number.unit.assign(end, label.data() + label.size());
  return code == std::errc() ? std::optional(number) : std::nullopt;
}

/// The first axis with three or more numbers of one unit in ascending order.
/// Curves need an axis with a meaning between its values. Labels such as `fat_tree` have none.
std::optional<std::size_t> numeric_axis(const Study& study) {
  constexpr std::size_t least = 3;
  for (std::size_t a = 0; a < study.axes.size(); ++a) {
    const std::vector<SweepValue>& all = study.axes[a].values;
    std::vector<double> values;
    for (const SweepValue& value : all)
      if (const auto number = axis_number(value.label); number && number->unit == axis_number(all.front().label)->unit)
        values.push_back(number->value);
      else
        break;
    if (values.size() == all.size() && values.size() >= least && std::is_sorted(values.begin(), values.end())) return a;
  }
  return std::nullopt;
}

/// Whether two curves look the same: their values differ by less than 0.1 %, and they have the same gaps.
bool same_curve(const ChartSeries& a, const ChartSeries& b) {
  return std::equal(a.y.begin(), a.y.end(), b.y.begin(), b.y.end(), [](double u, double v) {
    return std::isnan(u) ? std::isnan(v) : std::abs(u - v) <= 1e-3 * std::abs(u);
  });
}

/// Joins curves that would hide each other. Their names are joined, too: `a = b`, or `a = b (and 3 more)`.
void join_same_curves(std::vector<ChartSeries>& series) {
  std::vector<ChartSeries> joined;
  std::vector<std::size_t> count;
  constexpr std::size_t most_names = 2;
  for (ChartSeries& s : series) {
    const auto same = std::find_if(joined.begin(), joined.end(), [&](const auto& j) { return same_curve(j, s); });
    if (same == joined.end()) {
      joined.push_back(std::move(s));
      count.push_back(1);
    } else if (++count[static_cast<std::size_t>(same - joined.begin())] <= most_names) {
      same->name += " = " + s.name;
    }
  }
  for (std::size_t i = 0; i < joined.size(); ++i)
    if (count[i] > most_names) joined[i].name += fmt::format(" (and {} more)", count[i] - most_names);
  series = std::move(joined);
}

/// A metric over one axis, with a curve for each combination of the other axes. Equal curves are joined, and only the
/// first eight are shown: more curves cannot be distinguished by colour.
LineChart chart_over(const PlanReport& r, std::size_t axis, std::size_t metric) {
  constexpr std::size_t most_lines = 8;
  const Written w = written(metrics()[metric].name);
  const SweepAxis& along = r.study.axes[axis];
  LineChart chart;
  chart.name = metrics()[metric].name;
  chart.title = fmt::format("{} over {}", metrics()[metric].name, along.name);
  chart.note = fmt::format("{}: {}.", metrics()[metric].name, metrics()[metric].summary);
  for (const SweepValue& value : along.values) chart.at.push_back(axis_number(value.label)->value);
  const double first = chart.at.front(), last = chart.at.back();
  chart.x = {along.name, Measure::number, axis_number(along.values.front().label)->unit,
             // Values that double from one to the next are evenly spaced on a logarithmic axis.
             first > 0 && last >= 8 * first ? ChartScale::logarithmic : ChartScale::linear, false};
  chart.y = {std::string(metrics()[metric].name), w.measure, w.unit, ChartScale::linear, true};
  // Rows of one curve have the same choices of the other axes. Names may repeat, choices do not.
  std::map<std::vector<std::size_t>, std::size_t> curves;
  for (std::size_t row = 0; row < r.rows.size(); ++row) {
    const std::vector<std::size_t> choices = choices_of(r.study, row);
    std::vector<std::size_t> others = choices;
    others[axis] = 0;
    const auto [curve, added] = curves.emplace(std::move(others), chart.series.size());
    if (added) {
      std::vector<std::string> labels;
      for (std::size_t a = 0; a < choices.size(); ++a)
        if (a != axis) labels.push_back(r.study.axes[a].values[choices[a]].label);
      const double unknown = std::numeric_limits<double>::quiet_NaN();
      chart.series.push_back(
          {fmt::format("{}", fmt::join(labels, " / ")), std::vector<double>(chart.at.size(), unknown), {}});
    }
    const SweepRow& found = r.rows[row];
    if (found.state == RowState::done && found.values[metric])
      chart.series[curve->second].y[choices[axis]] = *found.values[metric] * w.factor;
  }
  std::vector<std::string_view> names;
  for (std::size_t a = 0; a < r.study.axes.size(); ++a)
    if (a != axis) names.emplace_back(r.study.axes[a].name);
  std::erase_if(chart.series, [](const ChartSeries& s) {
    return std::all_of(s.y.begin(), s.y.end(), [](double v) { return std::isnan(v); });
  });
  const std::size_t all = chart.series.size();
  join_same_curves(chart.series);
  if (!names.empty()) chart.note += fmt::format(" Curves: {}.", fmt::join(names, " / "));
  if (chart.series.size() < all) chart.note += " Curves that differ by less than 0.1 % are drawn as one.";
  if (chart.series.size() > most_lines) {
    // In the title, because a chart by itself has no note.
    chart.title += fmt::format(": the first {} of {} curves", most_lines, chart.series.size());
    chart.note += " The table has the values of all.";
    chart.series.resize(most_lines);
  }
  return chart;
}

/// Whether two charts of a section would show the same curves.
bool same_chart(const LineChart& a, const LineChart& b) {
  return a.y.measure == b.y.measure && a.y.unit == b.y.unit &&
         std::equal(a.series.begin(), a.series.end(), b.series.begin(), b.series.end(),
                    [](const ChartSeries& s, const ChartSeries& t) { return s.name == t.name && same_curve(s, t); });
}

/// The metrics of the front and the objective over the numeric axis. Equal charts are drawn once.
std::optional<PageSection> axis_section(const PlanReport& r) {
  const auto axis = numeric_axis(r.study);
  if (!axis) return std::nullopt;
  std::vector<std::size_t> wanted = r.decision.objective.front;
  wanted.push_back(r.decision.objective.metric);
  std::vector<LineChart> charts;
  for (const std::size_t metric : wanted) {
    LineChart chart = chart_over(r, *axis, metric);
    const auto same = std::find_if(charts.begin(), charts.end(), [&](const auto& c) { return same_chart(c, chart); });
    if (same == charts.end())
      charts.push_back(std::move(chart));
    else if (same->name != chart.name)
      same->note += fmt::format(" {} has the same values.", chart.name);
  }
  PageSection section{"axis", fmt::format("Over {}", r.study.axes[*axis].name), {}};
  for (LineChart& chart : charts) section.blocks.emplace_back(std::move(chart));
  return section;
}

std::vector<KeyFigure> figures_of(const PlanReport& r, const std::vector<std::size_t>& shown) {
  std::vector<KeyFigure> figures;
  if (!r.decision.best) return figures;
  const SweepRow& best = r.rows[*r.decision.best];
  constexpr std::size_t most = 4;
  for (const std::size_t m : shown) {
    if (!best.values[m] || metrics()[m].better == Better::neither || figures.size() == most) continue;
    const Written w = written(metrics()[m].name);
    const TableCell cell = cell_of(best, m);
    figures.push_back(
        {std::string(metrics()[m].name), value_text(cell.value, w.measure, w.unit),
         cell.has_interval() ? "90 % interval " + range_text(cell.low, cell.high, w.measure, w.unit) : std::string()});
  }
  return figures;
}

}  // namespace

Page plan_page(const PlanReport& r, std::string command) {
  const std::vector<std::size_t> shown = columns_of(r);
  const Decision& d = r.decision;
  Page page;
  page.title = r.study.name.empty() ? r.study.file : r.study.name;
  std::vector<std::string> axes;
  for (const SweepAxis& axis : r.study.axes) axes.push_back(fmt::format("{} ({})", axis.name, axis.values.size()));
  page.context = fmt::format("{} configurations of {}: {} forecast, {} refused", r.rows.size(), fmt::join(axes, " x "),
                             d.done, d.refused);
  if (d.not_run > 0) page.context += fmt::format(", {} not run", d.not_run);
  page.answer = answer_text(r) + ".";
  page.answer.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(page.answer.front())));
  page.figures = figures_of(r, shown);
  page.warnings = r.notes;
  page.sections.push_back(front_section(r, shown));
  if (auto section = axis_section(r)) page.sections.push_back(std::move(*section));
  page.sections.push_back({"rows-section", "Every configuration", {rows_table(r, shown)}});
  if (d.refused > 0) page.sections.push_back({"refused-section", "Refused configurations", {refused_table(r)}});
  page.command = std::move(command);
  page.scenario = r.study.text;
  page.study = true;
  page.version = version_text();
  return page;
}

}  // namespace fabricast
