#include "fabricast/calibrate/levels.hpp"

#include <catch2/catch.hpp>
#include <cmath>

namespace fabricast {
namespace {

using Catch::Detail::Approx;

TEST_CASE("a factor per system removes the error that all its rows share", "[calibrate]") {
  // One system is a fifth above in both bands; the other is a tenth below in one band and half above in the other.
  const std::vector<ErrorRow> rows = {
      {"a", 0, std::log(1.2)}, {"a", 0, std::log(1.2)}, {"a", 3, std::log(1.2)},
      {"b", 0, std::log(0.9)}, {"b", 3, std::log(1.5)},
  };
  const Levels levels = levels_of(rows);
  CHECK(levels.as_is[3] == Approx((0.2 + 0.5) / 2));
  CHECK(levels.factor_per_band[0] == Approx(0).margin(1e-12));
  CHECK(levels.factor_per_band[3] == Approx(0).margin(1e-12));
  const double half = std::sqrt(1.5 / 0.9) - 1;  // b lies that far above and below its own factor
  CHECK(levels.one_factor[0] == Approx(half / 2));
  CHECK(levels.one_factor[3] == Approx(half / 2));
  CHECK(levels.nine_of_ten[3] == Approx(0.5));
  CHECK(levels.as_is[1] == 0);  // no rows
}

TEST_CASE("a system has a property if one of its cases has it", "[calibrate]") {
  MeasuredCase one, many;
  one.system = "one", one.nodes = 1, one.nccl_version = "2.20.5";
  many.system = "many", many.nodes = 2, many.harness = {{"ranks_per_process", "8"}};
  const std::vector<ErrorRow> rows = {{"one", 1, std::log(2.0)}, {"many", 1, std::log(0.5)}};
  const std::vector<LevelCause> causes = level_causes(rows, {one, many});
  REQUIRE(!causes.empty());
  CHECK(causes.front().name == "a process drives several GPUs");
  CHECK(causes.front().having[1] == 1);
  CHECK(causes.front().with[1] == Approx(-0.5));
  CHECK(causes.front().without[1] == Approx(1));
  CHECK(causes.front().having[0] == 0);
}

}  // namespace
}  // namespace fabricast
