#include "fabricast/core/text.hpp"

#include <catch2/catch.hpp>

namespace fabricast {
namespace {

using Words = std::vector<std::string>;

TEST_CASE("capitals of ASCII become small, and nothing else changes", "[core]") {
  CHECK(lower_case("NVLS_Tree 128 \xc3\x84[@Z]") == "nvls_tree 128 \xc3\x84[@z]");
}

TEST_CASE("a text is split at every separator", "[core]") {
  CHECK(split("a,b", ',') == Words{"a", "b"});
  CHECK(split(",a,,b,", ',') == Words{"", "a", "", "b", ""});
  CHECK(split("", ',') == Words{""});
  CHECK(split("a;b", ',') == Words{"a;b"});
}

TEST_CASE("a quoted text doubles its own quotes", "[core]") {
  CHECK(double_quoted("a \"b\", c") == "\"a \"\"b\"\", c\"");
  CHECK(double_quoted("") == "\"\"");
}

}  // namespace
}  // namespace fabricast
