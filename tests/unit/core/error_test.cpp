#include "fabricast/core/error.hpp"

#include <catch2/catch.hpp>

#include "fabricast/core/stop.hpp"

namespace fabricast {
namespace {

TEST_CASE("a diagnostic looks like a compiler's", "[core]") {
  Diagnostic d;
  d.where = {"a.yaml", 12, 9, 4};
  d.path = "fabric.switch.rate", d.message = "'400' has no unit", d.hint = "write 400Gbps";
  CHECK(render(d, "  rate:  400x") ==
        "a.yaml:12:9: error: fabric.switch.rate: '400' has no unit\n"
        "   12 |   rate:  400x\n"
        "      |         ^^^^\n"
        "  hint: write 400Gbps\n");
  d.severity = Diagnostic::Severity::warning, d.hint.clear(), d.path.clear();
  CHECK(render(d) == "a.yaml:12:9: warning: '400' has no unit\n");
  d.where = {"a.yaml", 0, 0, 1};
  CHECK(render(d, "ignored") == "a.yaml: warning: '400' has no unit\n");
  d.where = {};
  CHECK(render(d) == "warning: '400' has no unit\n");
  d.where = {"a.yaml", 3, 1, 0};
  CHECK(render(d, "x") == "a.yaml:3:1: warning: '400' has no unit\n    3 | x\n      | ^\n");
}

TEST_CASE("a user error holds all of its diagnostics", "[core]") {
  const UserError one = UserError::at("cluster.nodes", "must be positive", "write 1");
  REQUIRE(one.diagnostics().size() == 1);
  CHECK(one.diagnostics()[0].path == "cluster.nodes");
  CHECK(std::string(one.what()) == "error: cluster.nodes: must be positive\n  hint: write 1");
  const UserError two({one.diagnostics()[0], one.diagnostics()[0]});
  CHECK(std::string(two.what()) == std::string(one.what()) + "\n" + one.what());
  CHECK(std::string(UserError("no file").what()) == "error: no file");
}

TEST_CASE("a failed check is an internal error with its place", "[core]") {
  int evaluated = 0;
  const auto message = [&] {
    ++evaluated;
    return std::string("seven");
  };
  CHECK_NOTHROW([&] { FABRICAST_CHECK(1 + 1 == 2, message()); }());
  CHECK(evaluated == 0);
  const auto fails = [&] { FABRICAST_CHECK(1 + 1 == 3, message()); };
  CHECK_THROWS_AS(fails(), InternalError);
  CHECK_THROWS_WITH(fails(), Catch::Contains("error_test.cpp:") && Catch::Contains("check '1 + 1 == 3' failed: seven"));
}

TEST_CASE("a requested stop throws", "[core]") {
  CHECK_NOTHROW(stop_if_requested());
  stop_requested = true;
  CHECK_THROWS_AS(stop_if_requested(), Interrupted);
  stop_requested = false;
}

}  // namespace
}  // namespace fabricast
