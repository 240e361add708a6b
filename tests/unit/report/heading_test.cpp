// What a user's name may do to the first line of a text.
#include <catch2/catch.hpp>

#include "fabricast/report/report.hpp"

namespace {

using namespace fabricast;

TEST_CASE("a name cannot break the line that it stands in", "[report]") {
  const std::string start = "# fabricast " + version_text();
  CHECK(heading_line("64 nodes, fat tree") == start + "   64 nodes, fat tree\n");
  CHECK(heading_line("") == start + "\n");
  CHECK(heading_line("two\nlines\r\x1b[31m") == start + "   two lines  [31m\n");
  CHECK(heading_line("Zürich, \xff") == start + "   Zürich, ?\n");
  CHECK(heading_line(std::string(1000, 'x')) == start + "   " + std::string(100, 'x') + "\n");
}

}  // namespace
