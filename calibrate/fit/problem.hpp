// What a fit works on: measured rows, the parameters they depend on, and derivatives of their errors.
//
// A point is a vector theta with the logarithms of all parameters. Plans do not depend on parameters, so which rows
// count and which protocol each takes is found once.
#pragma once

#include <Eigen/Dense>
#include <string>
#include <vector>

#include "fabricast/calibrate/cases.hpp"

namespace fabricast {

class FitProblem {
 public:
  struct Row {
    std::size_t runner, row;
    std::string system;
    std::size_t band;
    double measured;  ///< s
    Algorithm algorithm;
    Protocol protocol;
  };

  /// Rows count whose algorithm has a schedule. Parameters are those above zero that some row depends on and that have an
  /// interval: a value of zero has no logarithm, it says that an effect is absent, and so does a constant.
  FitProblem(const std::vector<MeasuredCase>& cases, const Hardware& prior);

  const std::vector<Row>& rows() const { return rows_; }
  const MeasuredCase& measured(const Row& row) const { return runners_[row.runner].measured(); }
  const std::vector<std::string>& parameters() const { return paths_; }
  const std::vector<Parameter>& priors() const { return priors_; }
  /// How many rows depend on the parameter.
  std::size_t rows_of(std::size_t parameter) const;
  /// Whether a row of positive weight depends on the parameter.
  bool matters(std::size_t parameter, const Eigen::VectorXd& weights) const;

  Eigen::VectorXd prior_point() const;
  Hardware hardware(const Eigen::VectorXd& theta) const;
  /// ln(forecast / measured) of the rows of positive weight; zero for the others.
  Eigen::VectorXd residuals(const Eigen::VectorXd& theta, const Eigen::VectorXd& weights) const;
  /// Differences of the residuals of all rows of positive weight for the given parameters, into their columns.
  void differentiate(const Eigen::VectorXd& theta, const Eigen::VectorXd& residuals, const Eigen::VectorXd& weights,
                     const std::vector<std::size_t>& parameters, Eigen::MatrixXd& jacobian) const;

 private:
  /// Rows of one case that depend on a parameter.
  struct Dependents {
    std::size_t runner;
    std::vector<std::size_t> rows;
  };
  void run(const Hardware& hardware, const Dependents& job, Eigen::Ref<Eigen::VectorXd> out) const;

  Hardware prior_;
  std::vector<CaseRunner> runners_;
  std::vector<Row> rows_;
  std::vector<Dependents> all_;  ///< every row, by case
  std::vector<std::string> paths_;
  std::vector<Parameter> priors_;
  std::vector<std::vector<Dependents>> dependents_;  ///< by parameter
};

}  // namespace fabricast
