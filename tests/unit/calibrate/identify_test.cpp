// What data tell apart, on information matrices made by hand.
#include "calibrate/fit/identify.hpp"

#include <catch2/catch.hpp>

namespace fabricast {
namespace {

using Catch::Detail::Approx;

/// Rows of 1 % noise; every parameter known to a factor 1.6 at one sigma before, and moving forecasts by as much.
Knowledge knowledge_of(const Eigen::MatrixXd& rows) {
  Knowledge k;
  for (Eigen::Index j = 0; j < rows.cols(); ++j) k.paths.push_back(std::string(1, static_cast<char>('a' + j)));
  k.prior = Eigen::VectorXd::Constant(rows.cols(), 0.5);
  k.effect = Eigen::VectorXd::Ones(rows.cols());
  k.data = rows.transpose() * rows * 1e4;
  return k;
}

TEST_CASE("two parameters that only their sum is told of", "[calibrate]") {
  const Knowledge k = knowledge_of(Eigen::MatrixXd{{1, 1, 0}, {0, 0, 1}});
  const std::vector<Untold> untold = untold_of(k);
  REQUIRE(untold.size() == 1);  // c is told
  CHECK(untold[0].told == Told::together);
  REQUIRE(untold[0].parameters.size() == 2);
  CHECK(untold[0].parameters[0].path == "a");
  CHECK(untold[0].parameters[1].path == "b");
  CHECK(untold[0].parameters[0].error == Approx(0.5 / std::sqrt(2)).epsilon(1e-3));
  CHECK(untold[0].powers[0] == Approx(0.5));
  CHECK(untold[0].powers[1] == Approx(0.5));
  CHECK(untold[0].error_together == Approx(0.005).epsilon(1e-3));  // of (a + b) / 2
}

TEST_CASE("two parameters that only their ratio is told of", "[calibrate]") {
  const std::vector<Untold> untold = untold_of(knowledge_of(Eigen::MatrixXd{{1, -1}}));
  REQUIRE(untold.size() == 1);
  CHECK(untold[0].powers[0] == Approx(-untold[0].powers[1]));
}

TEST_CASE("parameters not told, told little, and of no effect", "[calibrate]") {
  Knowledge k = knowledge_of(Eigen::MatrixXd{{1, 0, 0, 0}, {0, 0.02, 0, 0}});
  k.effect = Eigen::Vector4d(1, 1, 1, 0.01);
  const std::vector<Untold> untold = untold_of(k);
  REQUIRE(untold.size() == 2);
  CHECK(untold[0].told == Told::nothing);
  CHECK(untold[0].parameters[0].path == "c");
  CHECK(untold[0].parameters[0].effect == Approx(0.5));
  CHECK(untold[1].told == Told::little);
  CHECK(untold[1].parameters[0].path == "b");
  CHECK(untold[1].parameters[0].error == Approx(1 / std::sqrt(8)));  // 4 + 4 of information
}

TEST_CASE("four that are told as one are named as one", "[calibrate]") {
  const std::vector<Untold> untold = untold_of(knowledge_of(Eigen::MatrixXd{{1, 1, 1, 1, 0}}));
  REQUIRE(untold.size() == 2);
  CHECK(untold[0].told == Told::nothing);  // e: by nothing at all, so the least certain
  CHECK(untold[1].parameters.size() == 4);
  CHECK(untold[1].error_together < 0.01);
}

}  // namespace
}  // namespace fabricast
