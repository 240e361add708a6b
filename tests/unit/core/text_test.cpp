#include "fabricast/core/text.hpp"

#include <catch2/catch.hpp>

#include "fabricast/core/error.hpp"

namespace fabricast {
namespace {

using Words = std::vector<std::string>;

TEST_CASE("ASCII capitals become lower case, and nothing else changes", "[core]") {
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

TEST_CASE("printable text has nothing that a terminal interprets", "[core]") {
  CHECK(printable("plain \xc3\x84") == "plain \xc3\x84");
  CHECK(printable("a\033[31m\tb\nc\x7f") == "a [31m b c ");
  // U+009B, which begins a sequence as an escape does; U+00A0, which is a blank.
  CHECK(printable("\xc2\x9b"
                  "31m \xc2\xa0") == "?31m \xc2\xa0");
  CHECK(printable("\xff\xc3") == "??");
  CHECK(printable("") == "");
}

TEST_CASE("invalid UTF-8 is found, even if each byte alone is valid", "[core]") {
  CHECK(find_not_utf8("a\xc3\x84\xe2\x82\xac\xf0\x9f\x98\x80") == std::string_view::npos);
  CHECK(find_not_utf8("ab\xed\xa0\x80") == 2);  // half of a pair of UTF-16
  CHECK(find_not_utf8("\xe0\x80\x80") == 0);    // NUL in three bytes
  CHECK(find_not_utf8("\xf0\x80\x80\x80") == 0);
  CHECK(find_not_utf8("a\xf4\x90\x80\x80") == 1);  // beyond U+10FFFF
}

TEST_CASE("a message quotes the file on a single line", "[core]") {
  Diagnostic d;
  d.where = {"a\033.yaml", 1, 1, 1};
  d.path = "no\nde", d.message = "unknown '\033[31m'", d.hint = "b\xc2\x9b";
  CHECK(render(d, "x\033") == "a .yaml:1:1: error: no de: unknown ' [31m'\n    1 | x \n      | ^\n  hint: b?\n");
}

}  // namespace
}  // namespace fabricast
