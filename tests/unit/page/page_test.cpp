// Pages: nothing of the user's gets in as code, the same bytes each time, small enough to send.
#include "fabricast/page/page.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "support/made_up_plan.hpp"

namespace fabricast {
namespace {

std::size_t count(const std::string& text, std::string_view words) {
  std::size_t n = 0;
  for (std::size_t at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) ++n;
  return n;
}

nlohmann::json data_of(const std::string& html) {
  const std::string begin = "<script type=\"application/json\" id=\"data\">";
  const auto at = html.find(begin) + begin.size();
  return nlohmann::json::parse(html.substr(at, html.find("</script>", at) - at));
}

TEST_CASE("names that contain code stay text", "[page]") {
  const std::string html = page_html(made_up_plan(30));
  CHECK(html.find("<script>alert") == std::string::npos);
  CHECK(html.find("<b>a made-up") == std::string::npos);
  CHECK(html.find("<placeholders>") == std::string::npos);
  CHECK(html.find("&lt;script&gt;alert(&#39;answer&#39;)") != std::string::npos);
  // The data, uPlot where it is built in, and the page's own script: no other begins or ends.
  const std::size_t scripts = uplot_version().empty() ? 2 : 3;
  CHECK(count(html, "<script") == scripts);
  CHECK(count(html, "</script") == scripts);
  CHECK(count(html, "<title>Made up") == 1);
  CHECK(data_of(html)["charts"][1]["name"] == "scaling");
}

TEST_CASE("a page loads nothing", "[page]") {
  const std::string html = page_html(made_up_plan(30));
  CHECK(html.find("Content-Security-Policy") != std::string::npos);
  for (const char* loads : {" src=", "<link", "@import", "url(", "<iframe", "<img", "fetch(", "XMLHttpRequest"})
    CHECK(html.find(loads) == std::string::npos);
}

TEST_CASE("a page is complete without scripts", "[page]") {
  const std::string html = page_html(made_up_plan(30));
  CHECK(count(html, "<tr") == 31);
  CHECK(count(html, "<svg") == 2);
  CHECK(count(html, "class=\"badge\">best") == 1);
  CHECK(html.find("0.5 to 0.6") != std::string::npos);
}

TEST_CASE("the same page gives the same bytes", "[page]") {
  CHECK(page_html(made_up_plan(200)) == page_html(made_up_plan(200)));
}

TEST_CASE("a plan of a thousand rows is below 2 MB; with more rows the best row and the front stay", "[page]") {
  const std::string thousand = page_html(made_up_plan(1000));
  CHECK(thousand.size() < 2'000'000);
  CHECK(count(thousand, "<tr") == 1001);
  Page many = made_up_plan(5000);
  auto& table = std::get<PageTable>(many.sections[0].blocks[1]);
  std::size_t front = 0;
  for (TableRow& r : table.rows) r.best = false, front += r.front;
  table.rows.back().best = true, table.rows.back().front = true, ++front;
  const std::string html = page_html(many);
  CHECK(count(html, "<tr") == most_page_rows + 1);
  CHECK(count(html, "class=\"badge\">best") == 1);
  CHECK(count(html, "class=\"badge\">front") == front);
  CHECK(html.find("2,000 of 5,000 rows") != std::string::npos);
  CHECK(data_of(html)["tables"][0]["values"][1].size() == most_page_rows);
}

TEST_CASE("a plan of many columns is below 2 MB, too", "[page]") {
  Page page = made_up_plan(3000);
  auto& table = std::get<PageTable>(page.sections[0].blocks[1]);
  for (int c = 0; c < 40; ++c) {
    table.columns.push_back({fmt::format("metric {}", c), Measure::number, "GB/s", {}});
    for (TableRow& row : table.rows) row.cells.push_back(TableCell::of(123.4 + c, 100.1 + c, 150.2 + c));
  }
  CHECK(page_html(page).size() < 2'000'000);
}

TEST_CASE("unknown values are null for the script and written as unknown", "[page]") {
  const std::string html = page_html(made_up_plan(30));
  CHECK(data_of(html)["tables"][0]["values"][11][7].is_null());
  CHECK(html.find("<td class=\"n\">unknown</td>") != std::string::npos);
}

TEST_CASE("charts of a page are found by name", "[page]") {
  const Page page = made_up_plan(10);
  CHECK(chart_names(page) == std::vector<std::string>{"front", "scaling"});
  for (const std::string& name : chart_names(page)) CHECK(page_chart_svg(page, name).starts_with("<svg"));
}

}  // namespace
}  // namespace fabricast
