#include "fabricast/calibrate/fit.hpp"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "fabricast/core/stop.hpp"

namespace fabricast {

namespace {

constexpr double quantile_95 = 1.645;  // of the normal distribution: intervals hold 90 %
constexpr double scale = 0.12;         // 12 %: beyond the repeatability of idle systems

class Fitter {
 public:
  Fitter(const std::vector<MeasuredCase>& cases, const Hardware& start, const FitOptions& options)
      : options_(options), hardware_(start) {
    for (const MeasuredCase& c : cases) {
      if (c.collective == "alltoall" || c.collective == "sendrecv") continue;
      if (std::find(options.left_out.begin(), options.left_out.end(), c.system) != options.left_out.end()) continue;
      runners_.emplace_back(c);
    }
    for (const auto& entry : hardware_.all_parameters()) {
      const std::string& path = entry.first;
      const ParameterRef& ref = entry.second;
      const bool wanted = options.parameters.empty() ||
                          std::any_of(options.parameters.begin(), options.parameters.end(),
                                      [&](const auto& p) { return path == p || path.starts_with(p + "."); });
      const bool used =
          std::any_of(runners_.begin(), runners_.end(), [&](const CaseRunner& r) { return r.uses(path); });
      // A value of zero has no logarithm: it says that an effect is absent.
      if (wanted && used && ref.parameter->value > 0) paths_.push_back(path), prior_.push_back(*ref.parameter);
    }
    forecasts_.resize(runners_.size());
  }

  Fit run() {
    evaluate_all(hardware_, forecasts_);
    index_rows();
    Fit fit;
    fit.loss_before = loss(hardware_, forecasts_);
    double damping = 1e-2, best = fit.loss_before;
    for (int iteration = 0; iteration < options_.iterations; ++iteration) {
      if (options_.progress) options_.progress(iteration, best);
      const auto [normal, gradient] = normal_equations();
      bool better = false;
      for (int attempt = 0; attempt < 6 && !better; ++attempt) {
        Eigen::MatrixXd damped = normal;
        damped.diagonal() += damping * normal.diagonal();
        const Eigen::VectorXd step = damped.ldlt().solve(-gradient);
        Hardware trial = hardware_;
        for (std::size_t j = 0; j < paths_.size(); ++j) {
          // A step of more than a factor two is a guess beyond the linear picture.
          const double move = std::clamp(step[static_cast<Eigen::Index>(j)], -0.7, 0.7);
          trial.find(paths_[j])->value *= std::exp(move);
        }
        std::vector<ForecastOfCase> forecasts(runners_.size());
        evaluate_all(trial, forecasts);
        if (const double l = loss(trial, forecasts); l < best) {
          better = true;
          const double gain = best - l;
          hardware_ = std::move(trial), forecasts_ = std::move(forecasts), best = l;
          damping = std::max(1e-6, damping / 5);
          if (gain < 1e-5 * best) iteration = options_.iterations;
        } else {
          damping *= 6;
        }
      }
      if (!better) break;
    }
    fit.loss_after = best;
    finish(fit);
    return fit;
  }

 private:
  struct RowRef {
    std::size_t runner, row;
    double weight;
  };

  void evaluate_all(const Hardware& hardware, std::vector<ForecastOfCase>& out) const {
    std::vector<std::size_t> all(runners_.size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
    evaluate(hardware, all, out);
  }

  void evaluate(const Hardware& hardware, const std::vector<std::size_t>& which,
                std::vector<ForecastOfCase>& out) const {
    const std::size_t threads = std::max(1U, std::thread::hardware_concurrency());
    std::vector<std::thread> pool;
    for (std::size_t t = 0; t < threads; ++t)
      pool.emplace_back([&, t] {
        for (std::size_t i = t; i < which.size() && !stop_requested; i += threads)
          out[which[i]] = runners_[which[i]].run(hardware);
      });
    for (std::thread& t : pool) t.join();
    stop_if_requested();
  }

  /// Rows that count, each system once in each band.
  void index_rows() {
    std::map<std::pair<std::string, std::size_t>, double> rows_of;
    const auto counts = [](const ForecastOfCase::Row& r) { return r.served && r.measured > 0; };
    for (std::size_t i = 0; i < runners_.size(); ++i)
      for (const auto& r : forecasts_[i].rows)
        if (counts(r)) rows_of[{runners_[i].measured().system, band_of(r.bytes)}] += 1;
    for (std::size_t i = 0; i < runners_.size(); ++i)
      for (std::size_t k = 0; k < forecasts_[i].rows.size(); ++k) {
        const auto& r = forecasts_[i].rows[k];
        // A system of many rows weighs a little more than one of few.
        if (counts(r))
          rows_.push_back({i, k, std::pow(rows_of[{runners_[i].measured().system, band_of(r.bytes)}], -0.75)});
      }
    double sum = 0;
    for (const RowRef& r : rows_) sum += r.weight;
    for (RowRef& r : rows_) r.weight *= static_cast<double>(rows_.size()) / sum;
  }

  double residual(const RowRef& r, const std::vector<ForecastOfCase>& forecasts) const {
    const auto& row = forecasts[r.runner].rows[r.row];
    return std::log(row.forecast / row.measured);
  }
  /// Cauchy's loss: a system that is not what its source says can not lead the others astray.
  static double robust(double r) { return scale * scale * std::log1p(r * r / (scale * scale)); }
  static double robust_weight(double r) { return 1 / (1 + r * r / (scale * scale)); }

  double sigma(std::size_t j) const {
    const Parameter& p = prior_[j];
    return std::max(0.05, std::log(std::max(p.high, p.value * 1.02) / std::max(p.low, p.value * 0.02)) / 2);
  }
  double prior_precision(std::size_t j) const {
    return options_.prior_weight * static_cast<double>(rows_.size()) / (sigma(j) * sigma(j));
  }

  double loss(const Hardware& hardware, const std::vector<ForecastOfCase>& forecasts) const {
    double sum = 0;
    for (const RowRef& r : rows_) sum += r.weight * robust(residual(r, forecasts));
    Hardware copy = hardware;
    for (std::size_t j = 0; j < paths_.size(); ++j) {
      const double d = std::log(copy.find(paths_[j])->value / prior_[j].value);
      sum += prior_precision(j) * d * d;
    }
    return sum / static_cast<double>(rows_.size());
  }

  std::pair<Eigen::MatrixXd, Eigen::VectorXd> normal_equations() {
    const auto n = static_cast<Eigen::Index>(paths_.size()), m = static_cast<Eigen::Index>(rows_.size());
    Eigen::MatrixXd jacobian = Eigen::MatrixXd::Zero(m, n);
    constexpr double h = 0.02;
    for (Eigen::Index j = 0; j < n; ++j) {
      const std::string& path = paths_[static_cast<std::size_t>(j)];
      std::vector<std::size_t> which;
      for (std::size_t i = 0; i < runners_.size(); ++i)
        if (runners_[i].uses(path)) which.push_back(i);
      Hardware moved = hardware_;
      moved.find(path)->value *= std::exp(h);
      std::vector<ForecastOfCase> forecasts = forecasts_;
      evaluate(moved, which, forecasts);
      for (Eigen::Index i = 0; i < m; ++i) {
        const RowRef& r = rows_[static_cast<std::size_t>(i)];
        jacobian(i, j) = (residual(r, forecasts) - residual(r, forecasts_)) / h;
      }
    }
    Eigen::VectorXd weight(m), value(m);
    for (Eigen::Index i = 0; i < m; ++i) {
      const RowRef& r = rows_[static_cast<std::size_t>(i)];
      value[i] = residual(r, forecasts_);
      weight[i] = r.weight * robust_weight(value[i]);
    }
    Eigen::MatrixXd normal = jacobian.transpose() * weight.asDiagonal() * jacobian;
    data_normal_ = normal;
    Eigen::VectorXd gradient = jacobian.transpose() * weight.asDiagonal() * value;
    for (Eigen::Index j = 0; j < n; ++j) {
      const auto k = static_cast<std::size_t>(j);
      normal(j, j) += prior_precision(k);
      gradient[j] += prior_precision(k) * std::log(hardware_.find(paths_[k])->value / prior_[k].value);
    }
    return {normal, gradient};
  }

  void finish(Fit& fit) {
    const Eigen::MatrixXd normal = normal_equations().first;
    const Eigen::MatrixXd covariance = normal.ldlt().solve(Eigen::MatrixXd::Identity(normal.rows(), normal.cols()));
    double squares = 0;
    for (const RowRef& r : rows_) squares += r.weight * robust(residual(r, forecasts_));
    // Rows of one system err together: count systems times bands as the number of independent data.
    std::map<std::pair<std::string, std::size_t>, int> groups;
    for (const RowRef& r : rows_)
      groups[{runners_[r.runner].measured().system, band_of(forecasts_[r.runner].rows[r.row].bytes)}] = 1;
    const double variance = squares / static_cast<double>(rows_.size()) * static_cast<double>(rows_.size()) /
                            static_cast<double>(groups.size());
    for (std::size_t j = 0; j < paths_.size(); ++j) {
      const auto k = static_cast<Eigen::Index>(j);
      FittedParameter p;
      p.path = paths_[j], p.before = prior_[j];
      p.error = std::sqrt(std::max(0.0, covariance(k, k)) * variance);
      p.error_by_data = data_normal_(k, k) > 0 ? std::sqrt(variance / data_normal_(k, k)) : INFINITY;
      p.after = *hardware_.find(paths_[j]);
      p.after.low = p.after.value * std::exp(-quantile_95 * p.error),
      p.after.high = p.after.value * std::exp(quantile_95 * p.error);
      fit.parameters.push_back(std::move(p));
    }
    fit.hardware = std::move(hardware_);
  }

  const FitOptions& options_;
  Hardware hardware_;
  std::vector<CaseRunner> runners_;
  std::vector<std::string> paths_;
  std::vector<Parameter> prior_;
  std::vector<ForecastOfCase> forecasts_;
  std::vector<RowRef> rows_;
  Eigen::MatrixXd data_normal_;
};

}  // namespace

Fit fit_parameters(const std::vector<MeasuredCase>& cases, const Hardware& start, const FitOptions& options) {
  Fit all = Fitter(cases, start, options).run();
  if (options.identified <= 0) return all;
  FitOptions some = options;
  some.parameters.clear();
  for (const FittedParameter& p : all.parameters)
    if (std::exp(quantile_95 * p.error_by_data) <= options.identified) some.parameters.push_back(p.path);
  return some.parameters.empty() ? all : Fitter(cases, start, some).run();
}

std::string profile_json(const Fit& fit, const std::string& source) {
  // One line per parameter, as in the shipped data.
  const auto quoted = [](const std::string& text) { return nlohmann::json(text).dump(); };
  std::map<std::string, std::map<std::string, std::vector<std::string>>> sections;
  for (const FittedParameter& p : fit.parameters) {
    const auto first = p.path.find('.');
    const std::string section = p.path.substr(0, first), rest = p.path.substr(first + 1);
    const auto second = section == "software" ? std::string::npos : rest.find('.');
    const std::string group = second == std::string::npos ? "" : rest.substr(0, second);
    const std::string name = second == std::string::npos ? rest : rest.substr(second + 1);
    sections[section][group].push_back(
        fmt::format("{}: {{\"value\": {:.4g}, \"low\": {:.4g}, \"high\": {:.4g}, \"source\": {}}}", quoted(name),
                    p.after.value, p.after.low, p.after.high, quoted(source)));
  }
  std::vector<std::string> blocks;
  for (const auto& [section, groups] : sections) {
    std::vector<std::string> inner;
    for (const auto& [group, lines] : groups) {
      if (group.empty())
        inner.push_back(fmt::format("    {}", fmt::join(lines, ",\n    ")));
      else
        inner.push_back(fmt::format("    {}: {{\n      {}\n    }}", quoted(group), fmt::join(lines, ",\n      ")));
    }
    blocks.push_back(fmt::format("  {}: {{\n{}\n  }}", quoted(section), fmt::join(inner, ",\n")));
  }
  return fmt::format("{{\n{}\n}}\n", fmt::join(blocks, ",\n"));
}

}  // namespace fabricast
