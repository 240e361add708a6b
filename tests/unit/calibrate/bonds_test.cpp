// Bonds between unknowns, compared with normal equations that are solved by hand.
#include <catch2/catch.hpp>

#include "calibrate/fit/least_squares.hpp"
#include "fabricast/calibrate/fit.hpp"

namespace fabricast {
namespace {

using Eigen::MatrixXd, Eigen::VectorXd;

/// One row determines x_0 = 1 with weight w; both unknowns have a prior at 0 with precision q.
LeastSquares one_row(double w, double q) {
  LeastSquares problem;
  problem.residuals = [](const VectorXd& x) { return VectorXd::Constant(1, x[0] - 1); };
  problem.derivatives = [](const VectorXd&, const VectorXd&) { return MatrixXd{{1, 0}}; };
  problem.weights = VectorXd::Constant(1, w);
  problem.prior = VectorXd::Zero(2);
  problem.precision = VectorXd::Constant(2, q);
  problem.damping = 1e-9;
  return problem;
}

VectorXd solution(const LeastSquares& problem) { return minimize(problem, evaluate(problem, VectorXd::Zero(2))).x; }

TEST_CASE("an unknown without rows follows its sibling by the strength of the bond", "[calibrate]") {
  const double w = 4, q = 0.5;
  for (const double b : {0.0, 0.3, 2.0, 50.0}) {
    CAPTURE(b);
    LeastSquares problem = one_row(w, q);
    if (b > 0) problem.bonds = std::sqrt(b) * MatrixXd{{0.5, -0.5}, {-0.5, 0.5}};
    // (w + q + b/2) x_0 - b/2 x_1 = w,   (q + b/2) x_1 - b/2 x_0 = 0
    const double h = b / 2, x0 = w * (q + h) / ((w + q + h) * (q + h) - h * h), x1 = x0 * h / (q + h);
    const VectorXd x = solution(problem);
    CHECK(x[0] == Approx(x0));
    CHECK(x[1] == Approx(x1).margin(1e-9));
    const double loss = w * (x0 - 1) * (x0 - 1) + q * (x0 * x0 + x1 * x1) + b / 2 * (x0 - x1) * (x0 - x1);
    CHECK(evaluate(problem, x).loss == Approx(loss));
  }
}

TEST_CASE("a kind without cases moves as its siblings do", "[calibrate]") {
  // Hops in LL take twice as long as by the prior on an A100 host. No case has LL on H100 over the network.
  Hardware truth = prior_hardware();
  for (const char* path : {"architectures.ampere.hop_ll", "architectures.volta.hop_ll"}) truth.find(path)->value *= 2;
  std::vector<MeasuredCase> cases;
  const auto measure = [&](const char* gpu, std::int64_t least) {
    MeasuredCase c;
    c.id = c.system = c.gpu = gpu, c.collective = "all_reduce", c.intranode = "nvswitch",
    c.harness = {{"tool", "nccl_tests"}};
    c.nodes = 1, c.gpus_per_node = 8, c.nccl_version = "2.21";
    for (std::int64_t bytes = least; bytes < 64 * least; bytes *= 2) c.rows.push_back({bytes, 1});
    const ForecastOfCase forecast = CaseRunner(c).run(truth);
    for (std::size_t i = 0; i < c.rows.size(); ++i) c.rows[i].time_us = microseconds(forecast.rows[i].forecast);
    cases.push_back(std::move(c));
  };
  measure("a100-sxm", 64);
  measure("h100-sxm", std::int64_t{16} << 10);
  const auto moved = [&](double sibling_weight) {
    FitOptions options;
    options.parameters = {"architectures.ampere.hop_ll", "architectures.hopper.hop_ll128", "architectures.volta.hop_ll",
                          "architectures.hopper.hop_ll"};
    options.sibling_weight = sibling_weight;
    Hardware before = prior_hardware(), after = fit_parameters(cases, before, options).hardware;
    const char* path = "architectures.ampere.hop_ll";
    return after.find(path)->value / before.find(path)->value;
  };
  // The bond changes little of what the data determine.
  CHECK(moved(0) == Approx(2).epsilon(0.05));
  CHECK(moved(1e-4) == Approx(2).epsilon(0.15));
  CHECK(moved(10) < 1.7);
}

}  // namespace
}  // namespace fabricast
