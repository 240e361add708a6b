// The least-squares core on the nonlinear regression problems of NIST's Statistical Reference Datasets
// (tests/data/nist; https://www.itl.nist.gov/div898/strd/nls/nls_main.shtml), from both of their starts.
#include "calibrate/fit/least_squares.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <numbers>
#include <sstream>
#include <string>
#include <unsupported/Eigen/AutoDiff>
#include <vector>

namespace fabricast {
namespace {

using Eigen::Index, Eigen::MatrixXd, Eigen::VectorXd;
using Dual = Eigen::AutoDiffScalar<VectorXd>;
using Duals = std::vector<Dual>;

struct Dataset {
  MatrixXd starts;                ///< [start][parameter]
  VectorXd certified, deviation;  ///< [parameter]
  double squares = 0;
  MatrixXd rows;  ///< y and predictors
};

/// The numbers of a line, after `=` or `:` if there is one.
std::vector<double> numbers_of(const std::string& line) {
  std::istringstream in(line.substr(line.find_first_of("=:") == std::string::npos ? 0 : line.find_first_of("=:") + 1));
  std::vector<double> numbers;
  for (double x = 0; in >> x;) numbers.push_back(x);
  return numbers;
}

Dataset read_dataset(const std::string& name) {
  std::ifstream in(NIST_DATA "/" + name + ".dat");
  REQUIRE(in);
  std::vector<std::vector<double>> parameters, rows;
  Dataset d;
  constexpr int heading = 60;  // lines
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    const bool data = ++number > heading;
    if (line.starts_with("Residual Sum of Squares:")) d.squares = numbers_of(line).at(0);
    if (data && !numbers_of(line).empty()) rows.push_back(numbers_of(line));
    if (!data && line.starts_with("  b") && line.find('=') != std::string::npos) parameters.push_back(numbers_of(line));
  }
  const auto n = static_cast<Index>(parameters.size());
  d.starts.resize(2, n), d.certified.resize(n), d.deviation.resize(n);
  for (Index j = 0; j < n; ++j) {
    const auto& p = parameters[static_cast<std::size_t>(j)];
    REQUIRE(p.size() == 4);
    d.starts(0, j) = p[0], d.starts(1, j) = p[1], d.certified[j] = p[2], d.deviation[j] = p[3];
  }
  REQUIRE(!rows.empty());
  d.rows.resize(static_cast<Index>(rows.size()), static_cast<Index>(rows.at(0).size()));
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (std::size_t k = 0; k < rows[i].size(); ++k) d.rows(static_cast<Index>(i), static_cast<Index>(k)) = rows[i][k];
  return d;
}

/// The model: y as a function of parameters and predictors.
using Model = Dual (*)(const Duals& b, const VectorXd& x);

struct Problem {
  const char* name;
  Model model;
  bool logarithm = false;  ///< log y is fitted
};

constexpr double pi = std::numbers::pi;
Dual power(const Dual& x, const Dual& y) { return exp(y * log(x)); }

const Problem problems[] = {
    {"Misra1a", [](const Duals& b, const VectorXd& x) -> Dual { return b[0] * (1 - exp(-b[1] * x[0])); }},
    {"Misra1b", [](const Duals& b, const VectorXd& x) -> Dual { return b[0] * (1 - pow(1 + b[1] * x[0] / 2, -2.)); }},
    {"Misra1c", [](const Duals& b, const VectorXd& x) -> Dual { return b[0] * (1 - pow(1 + 2 * b[1] * x[0], -.5)); }},
    {"Misra1d", [](const Duals& b, const VectorXd& x) -> Dual { return b[0] * b[1] * x[0] / Dual(1 + b[1] * x[0]); }},
    {"Chwirut1",
     [](const Duals& b, const VectorXd& x) -> Dual { return exp(-b[0] * x[0]) / Dual(b[1] + b[2] * x[0]); }},
    {"Chwirut2",
     [](const Duals& b, const VectorXd& x) -> Dual { return exp(-b[0] * x[0]) / Dual(b[1] + b[2] * x[0]); }},
    {"DanWood", [](const Duals& b, const VectorXd& x) -> Dual { return b[0] * exp(b[1] * std::log(x[0])); }},
    {"Lanczos1",
     [](const Duals& b, const VectorXd& x) -> Dual {
       return b[0] * exp(-b[1] * x[0]) + b[2] * exp(-b[3] * x[0]) + b[4] * exp(-b[5] * x[0]);
     }},
    {"Lanczos2",
     [](const Duals& b, const VectorXd& x) -> Dual {
       return b[0] * exp(-b[1] * x[0]) + b[2] * exp(-b[3] * x[0]) + b[4] * exp(-b[5] * x[0]);
     }},
    {"Lanczos3",
     [](const Duals& b, const VectorXd& x) -> Dual {
       return b[0] * exp(-b[1] * x[0]) + b[2] * exp(-b[3] * x[0]) + b[4] * exp(-b[5] * x[0]);
     }},
    {"Gauss1",
     [](const Duals& b, const VectorXd& x) -> Dual {
       const Dual first = (x[0] - b[3]) / b[4], second = (x[0] - b[6]) / b[7];
       return b[0] * exp(-b[1] * x[0]) + b[2] * exp(-first * first) + b[5] * exp(-second * second);
     }},
    {"Gauss2",
     [](const Duals& b, const VectorXd& x) -> Dual {
       const Dual first = (x[0] - b[3]) / b[4], second = (x[0] - b[6]) / b[7];
       return b[0] * exp(-b[1] * x[0]) + b[2] * exp(-first * first) + b[5] * exp(-second * second);
     }},
    {"Gauss3",
     [](const Duals& b, const VectorXd& x) -> Dual {
       const Dual first = (x[0] - b[3]) / b[4], second = (x[0] - b[6]) / b[7];
       return b[0] * exp(-b[1] * x[0]) + b[2] * exp(-first * first) + b[5] * exp(-second * second);
     }},
    {"Kirby2",
     [](const Duals& b, const VectorXd& x) -> Dual {
       return Dual(b[0] + x[0] * (b[1] + b[2] * x[0])) / Dual(1 + x[0] * (b[3] + b[4] * x[0]));
     }},
    {"Hahn1",
     [](const Duals& b, const VectorXd& x) -> Dual {
       return Dual(b[0] + x[0] * (b[1] + x[0] * (b[2] + b[3] * x[0]))) /
              Dual(1 + x[0] * (b[4] + x[0] * (b[5] + b[6] * x[0])));
     }},
    {"Thurber",
     [](const Duals& b, const VectorXd& x) -> Dual {
       return Dual(b[0] + x[0] * (b[1] + x[0] * (b[2] + b[3] * x[0]))) /
              Dual(1 + x[0] * (b[4] + x[0] * (b[5] + b[6] * x[0])));
     }},
    {"Nelson", [](const Duals& b, const VectorXd& x) -> Dual { return b[0] - b[1] * x[0] * exp(-b[2] * x[1]); }, true},
    {"MGH09",
     [](const Duals& b, const VectorXd& x) -> Dual {
       return b[0] * (x[0] * x[0] + x[0] * b[1]) / Dual(x[0] * x[0] + x[0] * b[2] + b[3]);
     }},
    {"MGH10", [](const Duals& b, const VectorXd& x) -> Dual { return b[0] * exp(b[1] / Dual(x[0] + b[2])); }},
    {"MGH17",
     [](const Duals& b, const VectorXd& x) -> Dual {
       return b[0] + b[1] * exp(-x[0] * b[3]) + b[2] * exp(-x[0] * b[4]);
     }},
    {"BoxBOD", [](const Duals& b, const VectorXd& x) -> Dual { return b[0] * (1 - exp(-b[1] * x[0])); }},
    {"Roszman1",
     [](const Duals& b, const VectorXd& x) -> Dual {
       // The arc tangent of a quotient, on the branch of the certified values.
       const Dual ratio = b[2] / Dual(x[0] - b[3]);
       const double value = std::atan(ratio.value());
       return b[0] - b[1] * x[0] - Dual(value, ratio.derivatives() / (1 + ratio.value() * ratio.value())) / pi;
     }},
    {"Rat42", [](const Duals& b, const VectorXd& x) -> Dual { return b[0] / Dual(1 + exp(b[1] - b[2] * x[0])); }},
    {"Rat43",
     [](const Duals& b, const VectorXd& x) -> Dual {
       return b[0] / power(Dual(1 + exp(b[1] - b[2] * x[0])), Dual(1 / b[3]));
     }},
    {"Bennett5",
     [](const Duals& b, const VectorXd& x) -> Dual { return b[0] * power(Dual(b[1] + x[0]), Dual(-1 / b[2])); }},
    {"Eckerle4",
     [](const Duals& b, const VectorXd& x) -> Dual {
       const Dual z = (x[0] - b[2]) / b[1];
       return b[0] / b[1] * exp(-0.5 * z * z);
     }},
    {"ENSO",
     [](const Duals& b, const VectorXd& x) -> Dual {
       const Dual second = 2 * pi * x[0] / b[3], third = 2 * pi * x[0] / b[6];
       return b[0] + b[1] * std::cos(2 * pi * x[0] / 12) + b[2] * std::sin(2 * pi * x[0] / 12) + b[4] * cos(second) +
              b[5] * sin(second) + b[7] * cos(third) + b[8] * sin(third);
     }},
};

/// Residuals and their derivatives.
std::pair<VectorXd, MatrixXd> residuals_of(const Problem& problem, const Dataset& data, const VectorXd& x) {
  const Index n = x.size(), m = data.rows.rows();
  Duals b;
  for (Index j = 0; j < n; ++j) b.emplace_back(x[j], n, j);
  VectorXd residuals(m);
  MatrixXd derivatives(m, n);
  for (Index i = 0; i < m; ++i) {
    const Dual y = problem.model(b, data.rows.row(i).tail(data.rows.cols() - 1).transpose());
    residuals[i] = y.value() - (problem.logarithm ? std::log(data.rows(i, 0)) : data.rows(i, 0));
    derivatives.row(i) = y.derivatives().transpose();
  }
  return {residuals, derivatives};
}

LeastSquares task_of(const Problem& problem, const Dataset& data) {
  LeastSquares task;
  task.residuals = [&](const VectorXd& x) { return residuals_of(problem, data, x).first; };
  task.derivatives = [&](const VectorXd& x, const VectorXd&) { return residuals_of(problem, data, x).second; };
  task.damping = 30, task.tolerance = 1e-15, task.iterations = 20000;  // some starts are far off
  return task;
}

TEST_CASE("the least-squares core solves NIST's nonlinear regression problems", "[calibrate]") {
  for (const Problem& problem : problems) {
    const Dataset data = read_dataset(problem.name);
    const LeastSquares task = task_of(problem, data);
    for (const Index start : {0, 1}) {
      CAPTURE(problem.name, start);
      const Minimum found = minimize(task, evaluate(task, data.starts.row(start).transpose()));
      double worst = 0;
      for (Index j = 0; j < found.x.size(); ++j) worst = std::max(worst, std::abs(found.x[j] / data.certified[j] - 1));
      CHECK(worst < 1e-6);
      // Doubles cannot distinguish the certified sums of Lanczos1 from zero.
      if (data.squares > 1e-20) CHECK(found.loss == Catch::Detail::Approx(data.squares).epsilon(1e-8));
      // Standard deviations from the normal matrix.
      const MatrixXd normal = information_at(task, found, task.derivatives(found.x, found.residuals));
      const double variance = data.squares / static_cast<double>(data.rows.rows() - found.x.size());
      const VectorXd lengths = normal.diagonal().cwiseSqrt();  // parameters span many orders of magnitude
      const MatrixXd scaled = lengths.cwiseInverse().asDiagonal() * normal * lengths.cwiseInverse().asDiagonal();
      const VectorXd covariance = scaled.inverse().diagonal().cwiseQuotient(normal.diagonal()) * variance;
      for (Index j = 0; j < found.x.size(); ++j)
        CHECK(std::sqrt(covariance[j]) == Catch::Detail::Approx(data.deviation[j]).epsilon(1e-3));
    }
  }
}

}  // namespace
}  // namespace fabricast
