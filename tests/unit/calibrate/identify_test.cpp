// What data determine, on information matrices made by hand.
#include "calibrate/fit/identify.hpp"

#include <catch2/catch.hpp>

namespace fabricast {
namespace {

using Catch::Detail::Approx;

/// Rows with 1 % noise. Each parameter has a prior of a factor 1.6 at one sigma, and changes forecasts in proportion.
Knowledge knowledge_of(const Eigen::MatrixXd& rows) {
  Knowledge k;
  for (Eigen::Index j = 0; j < rows.cols(); ++j) k.paths.push_back(std::string(1, static_cast<char>('a' + j)));
  k.prior = Eigen::VectorXd::Constant(rows.cols(), 0.5);
  k.effect = Eigen::VectorXd::Ones(rows.cols());
  k.data = rows.transpose() * rows * 1e4;
  return k;
}

TEST_CASE("two parameters of which only the product is determined", "[calibrate]") {
  const Knowledge k = knowledge_of(Eigen::MatrixXd{{1, 1, 0}, {0, 0, 1}});
  const std::vector<Unstated> unstated = unstated_of(k);
  REQUIRE(unstated.size() == 1);  // c is determined
  CHECK(unstated[0].stated == Stated::together);
  REQUIRE(unstated[0].parameters.size() == 2);
  CHECK(unstated[0].parameters[0].path == "a");
  CHECK(unstated[0].parameters[1].path == "b");
  CHECK(unstated[0].parameters[0].error == Approx(0.5 / std::sqrt(2)).epsilon(1e-3));
  CHECK(unstated[0].powers[0] == Approx(0.5));
  CHECK(unstated[0].powers[1] == Approx(0.5));
  CHECK(unstated[0].error_together == Approx(0.005).epsilon(1e-3));  // of (a + b) / 2
}

TEST_CASE("two parameters of which only the ratio is determined", "[calibrate]") {
  const std::vector<Unstated> unstated = unstated_of(knowledge_of(Eigen::MatrixXd{{1, -1}}));
  REQUIRE(unstated.size() == 1);
  CHECK(unstated[0].powers[0] == Approx(-unstated[0].powers[1]));
}

TEST_CASE("parameters not determined, poorly determined, and without effect", "[calibrate]") {
  Knowledge k = knowledge_of(Eigen::MatrixXd{{1, 0, 0, 0}, {0, 0.02, 0, 0}});
  k.effect = Eigen::Vector4d(1, 1, 1, 0.01);
  const std::vector<Unstated> unstated = unstated_of(k);
  REQUIRE(unstated.size() == 2);
  CHECK(unstated[0].stated == Stated::nothing);
  CHECK(unstated[0].parameters[0].path == "c");
  CHECK(unstated[0].parameters[0].effect == Approx(0.5));
  CHECK(unstated[1].stated == Stated::little);
  CHECK(unstated[1].parameters[0].path == "b");
  CHECK(unstated[1].parameters[0].error == Approx(1 / std::sqrt(8)));  // 4 + 4 of information
}

TEST_CASE("four parameters determined as one are listed as one", "[calibrate]") {
  const std::vector<Unstated> unstated = unstated_of(knowledge_of(Eigen::MatrixXd{{1, 1, 1, 1, 0}}));
  REQUIRE(unstated.size() == 2);
  CHECK(unstated[0].stated == Stated::nothing);  // e: by nothing at all, so the least certain
  CHECK(unstated[1].parameters.size() == 4);
  CHECK(unstated[1].error_together < 0.01);
}

}  // namespace
}  // namespace fabricast
