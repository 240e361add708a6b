// The data of the fit of collectives: which measured rows count, which parameters each depends on, and forward
// differences.
//
// Knowing the dependencies is what makes the fit fast. A row on InfiniBand with protocol LL does not change with a rate
// of Simple or a parameter of RoCE, so neither is run again for it. The fit itself is in solve.cpp.
#include "problem.hpp"

#include <algorithm>
#include <cmath>

#include "fabricast/collective/algorithm.hpp"
#include "fabricast/core/parallel.hpp"
#include "log_parameters.hpp"

namespace fabricast {

namespace {

/// Whether a parameter belongs only to other algorithms, as those of NVLS do.
bool is_of_others(std::string_view parameter, Algorithm algorithm) {
  const auto named = [&](std::string_view part) { return parameter.find(part) != std::string_view::npos; };
  const CollectiveAlgorithm& asked = *find_by_algorithm(algorithm);
  const auto lists = [&](const CollectiveAlgorithm& a) {
    return std::any_of(a.own_parameters.begin(), a.own_parameters.end(), named);
  };
  const auto all = collective_algorithms();
  // A parameter that some algorithm lists as its own belongs to those that list it, and to no other.
  if (std::any_of(all.begin(), all.end(), lists)) return !lists(asked);
  // `message` is the cost of a message of a ring or tree. Sends and receives have `peer` parameters instead.
  return asked.in_pairs && named(".message");
}

/// Whether a row can depend on a parameter. Names such as `hop_ll` and `rate_simple` belong to one protocol.
bool serves(const std::string& parameter, Algorithm algorithm, Protocol protocol) {
  if (is_of_others(parameter, algorithm)) return false;
  for (const std::string_view name : EnumNames<Protocol>::names)
    if (parameter.ends_with("_" + std::string(name))) return name == name_of(protocol);
  return true;
}

/// An alltoall on more ranks takes too long for a fit and adds no other information.
constexpr int most_pairs = 256;
bool is_long(const MeasuredCase& c) { return c.collective == "alltoall" && c.nodes * c.gpus_per_node > most_pairs; }

}  // namespace

FitProblem::FitProblem(const std::vector<MeasuredCase>& cases, const Hardware& prior) : prior_(prior) {
  // Cases that are set aside are forecast by the validation only.
  for (const MeasuredCase& c : cases)
    if (!is_long(c) && c.set_aside.empty()) runners_.emplace_back(c);
  std::vector<ForecastOfCase> forecasts(runners_.size());
  in_parallel(runners_.size(), thread_count(0), [&](std::size_t i) { forecasts[i] = runners_[i].run(prior_); });
  for (std::size_t i = 0; i < runners_.size(); ++i) {
    Dependents job{i, {}};
    for (std::size_t k = 0; k < forecasts[i].rows.size(); ++k) {
      const auto& r = forecasts[i].rows[k];
      // NCCL chooses an algorithm there for which the simulator has no schedule. Another stands in, and its error says
      // nothing about parameters.
      if (!r.served) continue;
      job.rows.push_back(rows_.size());
      rows_.push_back({i, k, runners_[i].measured().system, band_of(r.bytes), r.measured, r.algorithm, r.protocol});
    }
    if (!job.rows.empty()) all_.push_back(std::move(job));
  }
  for (const auto& [path, ref] : prior_.all_parameters()) {
    // Zero means that the effect is absent, and has no logarithm. A value without an interval is a constant.
    if (!(ref.parameter->value > 0) || ref.parameter->low == ref.parameter->high) continue;
    std::vector<Dependents> dependents;
    for (const Dependents& job : all_) {
      if (!runners_[job.runner].uses(path)) continue;
      Dependents some{job.runner, {}};
      for (const std::size_t i : job.rows)
        if (serves(path, rows_[i].algorithm, rows_[i].protocol)) some.rows.push_back(i);
      if (!some.rows.empty()) dependents.push_back(std::move(some));
    }
    if (dependents.empty()) continue;
    paths_.push_back(path);
    priors_.push_back(*ref.parameter);
    dependents_.push_back(std::move(dependents));
  }
}

std::size_t FitProblem::rows_of(std::size_t parameter) const {
  std::size_t count = 0;
  for (const Dependents& job : dependents_[parameter]) count += job.rows.size();
  return count;
}

bool FitProblem::matters(std::size_t parameter, const Eigen::VectorXd& weights) const {
  for (const Dependents& job : dependents_[parameter])
    for (const std::size_t i : job.rows)
      if (weights[static_cast<Eigen::Index>(i)] > 0) return true;
  return false;
}

Eigen::VectorXd FitProblem::prior_point() const { return centre_of(priors_); }

Hardware FitProblem::hardware(const Eigen::VectorXd& theta) const { return hardware_at(prior_, paths_, theta); }

void FitProblem::run(const Hardware& hardware, const Dependents& job, Eigen::Ref<Eigen::VectorXd> out) const {
  std::vector<std::size_t> which;
  for (const std::size_t i : job.rows) which.push_back(rows_[i].row);
  const std::vector<Seconds> times = runners_[job.runner].times(hardware, which);
  for (std::size_t k = 0; k < times.size(); ++k)
    out[static_cast<Eigen::Index>(job.rows[k])] = std::log(times[k] / rows_[job.rows[k]].measured);
}

Eigen::VectorXd FitProblem::residuals(const Eigen::VectorXd& theta, const Eigen::VectorXd& weights) const {
  const Hardware at = hardware(theta);
  Eigen::VectorXd out = Eigen::VectorXd::Zero(static_cast<Eigen::Index>(rows_.size()));
  in_parallel(all_.size(), thread_count(0), [&](std::size_t task) {
    // Weights are by system, so all rows of a case have a positive weight or none has.
    if (weights[static_cast<Eigen::Index>(all_[task].rows.front())] > 0) run(at, all_[task], out);
  });
  return out;
}

void FitProblem::differentiate(const Eigen::VectorXd& theta, const Eigen::VectorXd& residuals,
                               const Eigen::VectorXd& weights, const std::vector<std::size_t>& parameters,
                               Eigen::MatrixXd& jacobian) const {
  // 2 % is far above the rounding of event times and small against the curvature of the logarithms. Derivatives count
  // as fresh until their parameter has moved by as much (solve.cpp).
  constexpr double h = 0.02;
  struct Task {
    std::size_t column;
    const Hardware* moved;
    const Dependents* job;
  };
  std::vector<Hardware> moved;
  // Tasks hold pointers into `moved`, which must not reallocate.
  moved.reserve(parameters.size());
  std::vector<Task> tasks;
  for (const std::size_t j : parameters) {
    Eigen::VectorXd there = theta;
    there[static_cast<Eigen::Index>(j)] += h;
    moved.push_back(hardware(there));
    jacobian.col(static_cast<Eigen::Index>(j)).setZero();
    for (const Dependents& job : dependents_[j])
      if (weights[static_cast<Eigen::Index>(job.rows.front())] > 0) tasks.push_back({j, &moved.back(), &job});
  }
  // A task is a parameter and a case, not a parameter: single cases on many ranks would otherwise keep one core busy at
  // the end. Tasks write to disjoint elements of the Jacobian.
  in_parallel(tasks.size(), thread_count(0), [&](std::size_t t) {
    const auto column = static_cast<Eigen::Index>(tasks[t].column);
    run(*tasks[t].moved, *tasks[t].job, jacobian.col(column));
    for (const std::size_t i : tasks[t].job->rows) {
      const auto k = static_cast<Eigen::Index>(i);
      jacobian(k, column) = (jacobian(k, column) - residuals[k]) / h;
    }
  });
}

}  // namespace fabricast
