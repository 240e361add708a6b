// Tail probabilities of Student's t, compared with tables, and of several samples, compared with sums by hand.
#include "fabricast/residual/tails.hpp"

#include <catch2/catch.hpp>
#include <cmath>

namespace fabricast {
namespace {

using Catch::Detail::Approx;

Residual residual_of(double freedom, double scale = 1, double median = 0) { return {median, scale, freedom, 0}; }

struct TableRow {
  double freedom, hundredth, thousandth;
};
// Upper points of Student's t, as printed in tables.
constexpr TableRow student[] = {
    {1, 31.821, 318.309}, {3, 4.541, 10.215}, {10, 2.764, 4.144}, {30, 2.457, 3.385}, {120, 2.358, 3.160}};

TEST_CASE("tail probabilities match tables of Student's t", "[residual]") {
  for (const TableRow& row : student) {
    const Residual t = residual_of(row.freedom);
    CHECK(share_above(t, row.hundredth) == Approx(0.01).epsilon(1e-3));
    CHECK(share_above(t, row.thousandth) == Approx(0.001).epsilon(2e-3));
    CHECK(share_above(t, -row.thousandth) == Approx(0.999).epsilon(2e-6));
    CHECK(t.quantile(0.999) == Approx(row.thousandth).epsilon(2e-4));
    CHECK(t.quantile(0.001) == Approx(-row.thousandth).epsilon(2e-4));
  }
  CHECK(share_above(residual_of(3, 0.2, 0.5), 0.5 + 0.2 * 4.541) == Approx(0.01).epsilon(1e-3));
}

TEST_CASE("with one sample the ceiling is the quantile, and the median counts once", "[residual]") {
  for (const TableRow& row : student) {
    const Residual t = residual_of(row.freedom, 0.05, 0.3);  // the median is already in the samples
    CHECK(time_exceeded_by(t, {Seconds{2e-3}}, 0.001).value ==
          Approx(2e-3 * std::exp(0.05 * row.thousandth)).epsilon(1e-4));
    CHECK(time_exceeded_by(t, {Seconds{2e-3}, Seconds{2e-3}}, 0.01).value ==
          Approx(2e-3 * std::exp(0.05 * row.hundredth)).epsilon(1e-4));
    CHECK(time_exceeded_by(t, {Seconds{2e-3}}, 0.5).value == Approx(2e-3));
  }
}

TEST_CASE("a rarer ceiling is higher", "[residual]") {
  const Residual t = residual_of(3, 0.1);
  const std::vector<Seconds> samples = {Seconds{1e-3}, Seconds{1.1e-3}, Seconds{1.7e-3}};
  Seconds before;
  for (double share = 0.5; share > 1e-9; share /= 3) {
    const Seconds ceiling = time_exceeded_by(t, samples, share);
    CHECK(ceiling > before);
    CHECK(share_slower(t, samples, ceiling) == Approx(share).epsilon(1e-6));
    before = ceiling;
  }
}

TEST_CASE("the probability is the mean over samples", "[residual]") {
  // The error is tiny, and one sample of four is twice as slow: a quarter of runs exceed any time in between.
  const Residual t = residual_of(30, 1e-6);
  const std::vector<Seconds> samples = {Seconds{1e-3}, Seconds{1e-3}, Seconds{1e-3}, Seconds{2e-3}};
  CHECK(share_slower(t, samples, Seconds{1.5e-3}) == Approx(0.25));
  CHECK(time_exceeded_by(t, samples, 0.2).value == Approx(2e-3).epsilon(1e-4));
  CHECK(time_exceeded_by(t, samples, 0.3).value == Approx(1e-3).epsilon(1e-4));
  // A ceiling for one in a thousand rows is exceeded by one in 250 rows of the slow sample.
  CHECK(share_above(t, std::log(time_exceeded_by(t, samples, 0.001) / Seconds{2e-3})) == Approx(0.004).epsilon(1e-3));
}

}  // namespace
}  // namespace fabricast
