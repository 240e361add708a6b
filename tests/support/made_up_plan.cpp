#include "support/made_up_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace fabricast {

namespace {

PageTable made_up_table(std::size_t rows) {
  constexpr std::array<const char*, 3> kinds = {"fat_tree", "rail_optimized", "rail_only"};
  PageTable table;
  table.name = "plan", table.filter = true;
  table.columns = {{"fabric", Measure::text, {}, "fabric.kind"},
                   {"nodes", Measure::number, {}, "cluster.nodes"},
                   {"oversubscription", Measure::number, {}, {}},
                   {"routing", Measure::text, {}, {}},
                   {"step", Measure::number, "s", "time of a training step"},
                   {"busbw", Measure::number, "GB/s", {}},
                   {"cost", Measure::number, "million USD", "made up"},
                   {"power", Measure::number, "kW", {}},
                   {"cost per token", Measure::number, "USD/million", {}},
                   {"switches", Measure::number, {}, {}},
                   {"cables", Measure::number, {}, {}},
                   {"goodput", Measure::percent, {}, "of a month"}};
  for (std::size_t i = 0; i < rows; ++i) {
    const double nodes = 32 * std::pow(2, static_cast<double>(i / 3 % 6)),
                 over = std::pow(2, static_cast<double>(i / 18 % 4));
    // Spread without a generator: the same on every machine.
    const double wobble = static_cast<double>(i * 7919 % 1000) / 1000;
    const double step = 3.0 * 64 / nodes * (1 + 0.2 * (over - 1)) * (0.9 + 0.3 * wobble) + 0.4;
    const double cost = nodes * (0.25 + 0.05 / over + 0.01 * static_cast<double>(i % 3)) * (1 + 0.1 * wobble);
    TableRow row;
    row.cells = {TableCell::of(std::string(kinds[i % 3])),
                 TableCell::of(nodes),
                 TableCell::of(over),
                 TableCell::of(std::string(i % 2 ? "ecmp" : "spray")),
                 TableCell::of(step, step / 1.1, step * 1.1),
                 TableCell::of(300 / over, 250 / over, 350 / over),
                 TableCell::of(cost),
                 TableCell::of(nodes * 10.5),
                 TableCell::of(cost * step / 100),
                 TableCell::of(std::ceil(nodes / 4)),
                 TableCell::of(nodes * 16),
                 TableCell::of(i % 50 == 7 ? std::nan("") : 0.99 - nodes * 1e-5)};
    if (cost > 310) row.dropped = "cost <= 310 million USD";
    table.rows.push_back(std::move(row));
  }
  return table;
}

/// Nothing that is kept is both cheaper and faster; the best is the cheapest within 5 % of the fastest.
void mark(PageTable& table, std::size_t step, std::size_t cost) {
  const auto value = [&](const TableRow& r, std::size_t c) { return r.cells[c].value; };
  double fastest = 1e300;
  for (const TableRow& r : table.rows)
    if (r.dropped.empty()) fastest = std::min(fastest, value(r, step));
  TableRow* best = nullptr;
  for (TableRow& r : table.rows) {
    if (!r.dropped.empty()) continue;
    r.front = std::none_of(table.rows.begin(), table.rows.end(), [&](const TableRow& o) {
      return o.dropped.empty() && value(o, step) < value(r, step) && value(o, cost) < value(r, cost);
    });
    if (value(r, step) <= 1.05 * fastest && (!best || value(r, cost) < value(*best, cost))) best = &r;
  }
  if (best) best->best = true;
}

}  // namespace

Page made_up_plan(std::size_t rows, bool hostile) {
  Page page;
  page.title =
      hostile ? "Made up: </title><script>alert('title')</script> & \"quotes\"" : "A plan with made-up numbers";
  page.context =
      fmt::format("{} configurations of {}", rows, hostile ? "<b>a made-up cluster</b>" : "a made-up cluster");
  page.answer = hostile
                    ? "The cheapest within 5 % of the fastest is </p><script>alert('answer')</script> of 1,024 nodes."
                    : "The cheapest within 5 % of the fastest is a rail_optimized fabric of 1,024 nodes.";
  page.figures = {{"step", "0.55 s", "90 % interval 0.5 to 0.6 s"}, {"cost", "280 million USD", "made up"}};
  page.warnings = {hostile ? "prices are <placeholders>" : "Prices and times are made up."};
  PageTable table = made_up_table(rows);
  mark(table, 4, 6);
  ScatterChart front;
  front.name = "front", front.title = "Cost and time";
  front.note = "Each point is a row of the table.";
  front.table = table.name, front.x = 6, front.y = 4, front.group = 0;
  front.x_scale = front.y_scale = ChartScale::logarithmic;
  LineChart lines;
  lines.name = "scaling", lines.title = hostile ? "Time by nodes <script>alert('chart')</script>" : "Time by nodes";
  lines.x = {"nodes", Measure::number, {}, ChartScale::logarithmic, false};
  lines.y = {"step", Measure::seconds, {}, ChartScale::linear, true};
  lines.at = {32, 64, 128, 256, 512, 1024};
  lines.series = {{"fat_tree",
                   {6.4, 3.4, 1.9, 1.15, 0.8, 0.6},
                   {{"90 % interval", {6, 3, 1.7, 1, 0.7, 0.5}, {7, 4, 2.2, 1.3, 0.9, 0.7}}}},
                  {"rail_only", {6.9, 3.9, 2.2, std::nan(""), 1.1, 0.9}, {}}};
  page.sections = {{"plan", "Cost and time", {std::move(front), std::move(table)}},
                   {"scaling", "By nodes", {std::move(lines)}}};
  page.command = "fabricast plan 'a </script> b.yaml' --html plan.html";
  page.scenario = "fabricast: 1\nname: \"</pre><script>alert('scenario')</script>\"\n";
  page.version = "0.1.0", page.fingerprint = "0123456789abcdef";
  return page;
}

}  // namespace fabricast
