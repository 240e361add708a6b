// The data of a fit: measured rows, the parameters that they depend on, and derivatives of their errors.
//
// A point theta is the vector of the logarithms of all parameters. NCCL's choices do not depend on parameters, so the
// rows that count and their protocols are determined once, in the constructor. An object is immutable afterwards.
#pragma once

#include <Eigen/Dense>
#include <string>
#include <vector>

#include "fabricast/calibrate/cases.hpp"

namespace fabricast {

class FitProblem {
 public:
  struct Row {
    std::size_t runner, row;  ///< index of the case, and of the row in it
    std::string system;
    std::size_t band;
    Seconds measured;
    Algorithm algorithm;
    Protocol protocol;
  };

  /// Rows count if their algorithm has a schedule. Parameters count if they are above zero, have an interval, and some
  /// row depends on them. Zero means that an effect is absent, and a constant is not to be fitted. Cases that are set
  /// aside and alltoall on more than 256 ranks are left out.
  /// \pre `cases` outlive the object
  /// \throws UserError if a case cannot run
  FitProblem(const std::vector<MeasuredCase>& cases, const Hardware& prior);

  const std::vector<Row>& rows() const { return rows_; }
  const MeasuredCase& measured(const Row& row) const { return runners_[row.runner].measured(); }
  const std::vector<std::string>& parameters() const { return paths_; }
  const std::vector<Parameter>& priors() const { return priors_; }
  /// The number of rows that depend on the parameter.
  std::size_t rows_of(std::size_t parameter) const;
  /// Whether a row of positive weight depends on the parameter.
  bool matters(std::size_t parameter, const Eigen::VectorXd& weights) const;

  /// Logarithms of the priors' values.
  Eigen::VectorXd prior_point() const;
  /// The hardware with parameters exp(theta).
  Hardware hardware(const Eigen::VectorXd& theta) const;
  /// ln(forecast / measured) of the rows of positive weight; zero for the others.
  Eigen::VectorXd residuals(const Eigen::VectorXd& theta, const Eigen::VectorXd& weights) const;
  /// Writes forward differences of the residuals for the given parameters into their columns of `jacobian`.
  /// \param residuals  at theta
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
