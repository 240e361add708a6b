// Charts: round ticks, every value in its place, and SVG that is XML whatever the names.
#include "fabricast/page/chart.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cmath>

#include "fabricast/core/xml.hpp"
#include "fabricast/page/page.hpp"

namespace fabricast {
namespace {

std::vector<std::string> labels(const ChartAxis& axis, ChartRange range, int about = 6) {
  std::vector<std::string> all;
  for (const ChartTick& t : ticks_of(axis, range, about)) all.push_back(t.label);
  return all;
}

void collect(const XmlElement& e, const std::string& name, std::vector<XmlElement>& out) {
  if (e.name == name) out.push_back(e);
  for (const XmlElement& c : e.children) collect(c, name, out);
}
std::vector<XmlElement> elements(const std::string& svg, const std::string& name) {
  std::vector<XmlElement> out;
  collect(parse_xml(svg, "chart.svg"), name, out);
  return out;
}
double attribute(const XmlElement& e, const char* name) { return std::stod(*e.find(name)); }

constexpr const char* hostile = "a <script>alert(1)</script> & \"b\" 'c' \x01 ]]>";

LineChart some_lines() {
  LineChart chart;
  chart.name = "lines", chart.title = hostile;
  chart.x = {hostile, Measure::bytes, {}, ChartScale::logarithmic, false};
  chart.y = {"rate", Measure::number, "<GB/s>", ChartScale::linear, true};
  chart.at = {8, 1024, 1 << 20, 1 << 30};
  chart.series = {{hostile, {1, 10, 100, 300}, {{hostile, {0.5, 8, 80, 250}, {2, 12, 130, 400}}}}};
  chart.marks = {{1024, hostile}};
  return chart;
}

TEST_CASE("ticks of a linear axis are round and within its range", "[page]") {
  const ChartAxis plain{"x", Measure::number, {}, ChartScale::linear, true};
  const ChartRange range = range_of(plain, {3, 317.2});
  CHECK(range.low == 0);
  CHECK(range.high == 400);
  CHECK(labels(plain, range) == std::vector<std::string>{"0", "100", "200", "300", "400"});
  CHECK(labels(plain, {0, 0.3}) == std::vector<std::string>{"0", "0.05", "0.1", "0.15", "0.2", "0.25", "0.3"});
  const ChartAxis far{"x", Measure::seconds, {}, ChartScale::linear, false};
  const ChartRange narrow = range_of(far, {0.0871, 0.0879});
  CHECK(narrow.low <= 0.0871);
  CHECK(narrow.high >= 0.0879);
  CHECK(narrow.high - narrow.low < 0.002);
}

TEST_CASE("ticks of a logarithmic axis are powers", "[page]") {
  const ChartAxis bytes{"size", Measure::bytes, {}, ChartScale::logarithmic, false};
  CHECK(labels(bytes, range_of(bytes, {8, 8589934592.0})) ==
        std::vector<std::string>{"32 B", "1 KiB", "32 KiB", "1 MiB", "32 MiB", "1 GiB"});
  const ChartAxis time{"time", Measure::seconds, {}, ChartScale::logarithmic, false};
  const ChartRange range = range_of(time, {17e-6, 0.053});
  CHECK(labels(time, range) == std::vector<std::string>{"10 us", "100 us", "1 ms", "10 ms", "100 ms"});
  // Within three decades there would be too few powers.
  CHECK(labels(time, range_of(time, {0.3, 4})) == std::vector<std::string>{"200 ms", "500 ms", "1 s", "2 s", "5 s"});
}

TEST_CASE("a range is never empty, whatever the values", "[page]") {
  const double nan = std::nan("");
  for (const ChartScale scale : {ChartScale::linear, ChartScale::logarithmic})
    for (const bool from_zero : {true, false})
      for (const Measure measure : {Measure::number, Measure::bytes, Measure::seconds, Measure::percent})
        for (const std::vector<double>& values : {std::vector<double>{},
                                                  {0},
                                                  {1},
                                                  {-1},
                                                  {nan},
                                                  {5, 5},
                                                  {1e-300},
                                                  {1e300},
                                                  {0, 1e-9},
                                                  {-3, 8},
                                                  {1e9, 1e9 + 1}}) {
          const ChartAxis axis{"x", measure, {}, scale, from_zero};
          const ChartRange range = range_of(axis, values);
          CAPTURE(static_cast<int>(scale), from_zero, name_of(measure), values, range.low, range.high);
          CHECK(range.low < range.high);
          CHECK(ticks_of(axis, range).size() < 40);
        }
}

TEST_CASE("charts are XML whatever their names", "[page]") {
  BarChart bars;
  bars.name = "bars", bars.title = hostile, bars.value = {hostile, Measure::seconds, {}, ChartScale::linear, true};
  bars.bars = {hostile}, bars.parts = {{hostile, {1}}, {"other", {2}}}, bars.marks = {{2, hostile}};
  PageTable table;
  table.name = "t",
  table.columns = {{hostile, Measure::text, {}, {}}, {"x", Measure::number, {}, {}}, {"y", Measure::number, {}, {}}};
  table.rows = {{{TableCell::of(std::string(hostile)), TableCell::of(1), TableCell::of(2)}, true, true, {}}};
  const ScatterChart scatter{"s", hostile, {}, "t", 1, 2, ChartScale::linear, ChartScale::linear, 0};
  for (const bool standalone : {true, false})
    for (const std::string& svg :
         {chart_svg(some_lines(), standalone), chart_svg(bars, standalone), chart_svg(scatter, table, standalone)}) {
      CHECK(parse_xml(svg, "chart.svg").name == "svg");
      CHECK(elements(svg, "script").empty());
      CHECK(svg.find('\x01') == std::string::npos);
    }
}

TEST_CASE("a curve has a point for each value, and gaps elsewhere", "[page]") {
  LineChart chart = some_lines();
  CHECK(elements(chart_svg(chart), "circle").size() == 4);
  chart.series[0].y[1] = std::nan("");
  CHECK(elements(chart_svg(chart), "circle").size() == 3);
  chart.y.scale = ChartScale::logarithmic, chart.series[0].y = {1, 0, -5, 100};
  CHECK(elements(chart_svg(chart), "circle").size() == 2);
  const auto points = elements(chart_svg(some_lines()), "circle");
  for (std::size_t i = 1; i < points.size(); ++i) {
    CHECK(attribute(points[i], "cx") > attribute(points[i - 1], "cx"));
    CHECK(attribute(points[i], "cy") < attribute(points[i - 1], "cy"));
  }
}

TEST_CASE("bars are as long as their values", "[page]") {
  BarChart chart;
  chart.name = "bars", chart.value = {"time", Measure::number, "s", ChartScale::linear, true};
  chart.bars = {"one", "two"}, chart.parts = {{"a", {1, 2}}, {"b", {3, 0}}};
  std::vector<XmlElement> rects = elements(chart_svg(chart), "rect");
  REQUIRE(rects.size() == 3 + 2);  // of the legend two
  CHECK(attribute(rects[1], "width") == Approx(3 * attribute(rects[0], "width")).epsilon(0.01));
  CHECK(attribute(rects[2], "width") == Approx(2 * attribute(rects[0], "width")).epsilon(0.01));
  CHECK(attribute(rects[1], "x") == Approx(attribute(rects[0], "x") + attribute(rects[0], "width")).margin(0.2));
}

TEST_CASE("a cumulative chart counts its samples", "[page]") {
  const LineChart chart =
      cumulative_chart("c", "t", {"time", Measure::seconds, {}, ChartScale::linear, false}, {3, 1, 1, 2});
  CHECK(chart.at == std::vector<double>{1, 2, 3});
  CHECK(chart.series[0].y == std::vector<double>{0.5, 0.75, 1});
  CHECK(chart.marks.size() == 3);
  CHECK(cumulative_chart("c", "t", {}, {7}).marks.at(0).label == "best, median, worst");
  CHECK(cumulative_chart("c", "t", {}, std::vector<double>(21, 7)).marks.at(0).label == "p5, median, p95");
}

TEST_CASE("a histogram holds every sample once", "[page]") {
  std::vector<double> samples;
  for (int i = 0; i <= 100; ++i) samples.push_back(i);
  const BarChart chart = histogram_chart("h", "t", {"x", Measure::number, "s", ChartScale::linear, true}, samples, 10);
  REQUIRE(chart.bars.size() == 10);
  double all = 0;
  for (const double v : chart.parts[0].values) all += v;
  CHECK(all == 101);
  CHECK(chart.parts[0].values[0] == 10);
  CHECK(chart.bars[0] == "0 to 10 s");
  CHECK(histogram_chart("h", "t", {}, {4, 4, 4}).parts[0].values == std::vector<double>{3});
}

TEST_CASE("numbers are written with units and as short as possible", "[page]") {
  CHECK(number_text(316.24) == "316.2");
  CHECK(number_text(10240) == "10,240");
  CHECK(number_text(-1234567) == "-1,234,567");
  CHECK(number_text(175692, 3) == "176,000");
  CHECK(number_text(999.97) == "1,000");
  CHECK(number_text(0.00123456) == "0.001235");
  CHECK(value_text(8589934592.0, Measure::bytes) == "8 GiB");
  CHECK(value_text(100000, Measure::bytes) == "100 KB");
  CHECK(value_text(1536, Measure::bytes) == "1,536 B");
  CHECK(value_text(12.5e-6, Measure::seconds) == "12.5 us");
  CHECK(value_text(0, Measure::seconds) == "0 s");
  CHECK(value_text(90'000, Measure::seconds) == "25 h");
  CHECK(value_text(0.4523, Measure::percent) == "45.2 %");
  CHECK(value_text(3.25, Measure::number, "kW") == "3.25 kW");
  CHECK(value_text(std::nan(""), Measure::seconds) == "unknown");
  CHECK(range_text(231.4, 433.1, Measure::number, "GB/s") == "231 to 433 GB/s");
  CHECK(range_text(0.5e-3, 1.5, Measure::seconds) == "500 us to 1.5 s");
  CHECK(value_text(TableCell::of(316.2, 231, 433), {"busbw", Measure::number, "GB/s", {}}) ==
        "316.2 GB/s (231 to 433 GB/s)");
}

}  // namespace
}  // namespace fabricast
