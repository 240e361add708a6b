// Chooses runs that narrow the parameters which a fit leaves open.
//
// The fit is linearized at its result, so the gain of a run follows from its derivatives and no time of it is needed:
//
//   V      = ( P^-1 + sum over data I + sum over runs I )^-1       covariance of the logarithms of the parameters
//   regret = sum over parameters j of  e_j^2 V_jj                  e_j: effect of parameter j on forecasts
//
// Each chosen run is the one that lowers the regret most (A-optimal design [Chaloner1995]). information.hpp gives I and e,
// identify.hpp gives V, and candidates.hpp lists the runs to choose from.
#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "candidates.hpp"
#include "fabricast/calibrate/advice.hpp"
#include "identify.hpp"
#include "information.hpp"

namespace fabricast {

namespace {

using Eigen::Index;

constexpr std::size_t most_systems = 3, most_runs = 3;
constexpr double least_gain = 0.1;      // fraction of the remaining uncertainty that another run must remove
constexpr double nearly = 0.8;          // fraction of the best run's gain at which an earlier candidate is preferred
constexpr double stated_by_rest = 0.9;  // fraction of a run's gain that must remain when sizes at its ends are dropped
constexpr double least_narrowed = 0.9;  // a parameter is narrowed if its error falls below this fraction
constexpr std::size_t most_narrowed = 3;

bool contains(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// The systems with the least certain forecasts. Runs on other systems would give less information.
std::vector<std::string> uncertain_systems(const LinearRows& data, const Eigen::MatrixXd& columns,
                                           const Eigen::MatrixXd& covariance) {
  std::map<std::string, std::pair<double, double>> sums;
  for (std::size_t i = 0; i < data.problem.rows().size(); ++i) {
    // Variance of the row's logarithm by first-order error propagation: g V g', with g the row's derivatives.
    auto& [variance, rows] = sums[data.problem.rows()[i].system];
    const auto row = columns.row(static_cast<Index>(i));
    variance += row * covariance * row.transpose();
    ++rows;
  }
  std::vector<std::pair<double, std::string>> order;
  // The mean, not the sum: a system with many rows is not less certain than one with few.
  for (const auto& [system, sum] : sums) order.emplace_back(-sum.first / sum.second, system);
  std::sort(order.begin(), order.end());
  std::vector<std::string> systems;
  for (std::size_t i = 0; i < std::min(most_systems, order.size()); ++i) systems.push_back(order[i].second);
  return systems;
}

std::vector<MeasuredCase> candidates_on(const std::vector<MeasuredCase>& cases,
                                        const std::vector<std::string>& systems) {
  std::vector<MeasuredCase> runs;
  // The systems are listed one after the other, least certain first. RunChoice prefers early candidates of equal worth,
  // so the order of systems and, inside each, of nodes decides between them.
  for (const std::string& system : systems) {
    std::vector<MeasuredCase> some;
    std::copy_if(cases.begin(), cases.end(), std::back_inserter(some),
                 [&](const MeasuredCase& c) { return c.system == system; });
    for (MeasuredCase& run : candidate_runs(some)) runs.push_back(std::move(run));
  }
  return runs;
}

/// Standard deviation of a parameter of one system before the fit. The prior's interval is of the value that systems
/// share. Single systems differ from it by about as much as forecasts of held-out systems are wrong.
double prior_of(const std::string& path, const Fit& fit, Hardware& hardware) {
  constexpr double between_systems = 0.2;
  for (const FittedParameter& p : fit.parameters)
    if (p.path == path) return std::hypot(prior_deviation(p.before), between_systems);
  return std::hypot(prior_deviation(*hardware.find(path)), between_systems);
}

/// Picks runs one at a time. The criterion is the sum of the variances of the parameters, each multiplied by the square
/// of its effect on forecasts (A-optimality, [Chaloner1995]).
class RunChoice {
 public:
  RunChoice(Knowledge knowledge, Information information)
      : knowledge_(std::move(knowledge)), information_(std::move(information)) {}

  struct Pick {
    std::size_t candidate;
    std::set<std::size_t> bands;
    Eigen::VectorXd before, after;  ///< errors of the parameters
  };
  /// The first candidate with nearly the gain of the best; none if no candidate removes a tenth of the uncertainty.
  /// Candidates of a system are ordered by number of nodes, so small runs are preferred.
  std::optional<Pick> next() {
    // What remains uncertain without another run. All gains are differences from it.
    const double now = left_after({});
    std::map<std::size_t, double> gains;
    double most = 0;
    for (const auto& [run, by_band] : information_) most = std::max(most, gains[run] = now - left_after(by_band));
    if (most <= least_gain * now) return {};
    const auto best =
        std::find_if(gains.begin(), gains.end(), [&](const auto& g) { return g.second >= nearly * most; });
    const std::size_t candidate = best->first;
    const double gain = best->second;
    // A sweep over all sizes costs time on the cluster. Bands at its ends are dropped while the rest keeps 90 % of the
    // gain. Only ends are dropped, because nccl-tests runs a contiguous range of sizes (-b to -e). The largest sizes go
    // first: they take the most time.
    auto stated = information_.at(candidate);
    const auto drop_while_stated = [&](bool from_short) {
      while (stated.size() > 1) {
        auto fewer = stated;
        fewer.erase(from_short ? fewer.begin() : std::prev(fewer.end()));
        if (now - left_after(fewer) < stated_by_rest * gain) return;
        stated = std::move(fewer);
      }
    };
    drop_while_stated(false);
    drop_while_stated(true);
    Pick pick{candidate, {}, errors(), {}};
    for (const auto& [band, matrix] : stated) pick.bands.insert(band);
    // Later runs are chosen as if this one had been made. Its times are not known, but in a linear model the covariance
    // depends only on the derivatives.
    knowledge_.data += sum_of(stated, knowledge_.data.rows());
    pick.after = errors();
    information_.erase(candidate);
    return pick;
  }

 private:
  Eigen::VectorXd errors() const { return covariance_of(knowledge_).diagonal().cwiseSqrt(); }
  double left_after(const std::map<std::size_t, Eigen::MatrixXd>& by_band) const {
    Knowledge then = knowledge_;
    then.data += sum_of(by_band, then.data.rows());
    return covariance_of(then).diagonal().dot(then.effect.cwiseAbs2());
  }

  Knowledge knowledge_;
  Information information_;  ///< of the runs that were not picked yet
};

std::vector<Narrowed> narrowed_by(const RunChoice::Pick& pick, const Knowledge& knowledge) {
  std::vector<std::pair<double, Index>> order;
  // Sorted by what the narrower interval contributes to the criterion, not by how much it narrows: a parameter without
  // effect on forecasts may narrow most.
  for (Index j = 0; j < pick.before.size(); ++j)
    if (pick.after[j] < least_narrowed * pick.before[j])
      order.emplace_back(-std::pow(knowledge.effect[j], 2) * (std::pow(pick.before[j], 2) - std::pow(pick.after[j], 2)),
                         j);
  std::sort(order.begin(), order.end());
  std::vector<Narrowed> narrows;
  for (std::size_t i = 0; i < std::min(most_narrowed, order.size()); ++i) {
    const Index j = order[i].second;
    narrows.push_back({knowledge.paths[static_cast<std::size_t>(j)], pick.before[j], pick.after[j]});
  }
  return narrows;
}

std::vector<std::size_t> all_rows(const LinearRows& linear) {
  std::vector<std::size_t> rows(linear.problem.rows().size());
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

/// Rows that run the algorithm and protocol that their run forces.
std::vector<std::size_t> obedient_rows(const LinearRows& candidates) {
  std::vector<std::size_t> rows = all_rows(candidates);
  // Where a forced choice is not available, the row runs another one. It then repeats another candidate, and to count
  // it would credit this run with information about a choice that it does not make.
  std::erase_if(rows, [&](std::size_t i) {
    const FitProblem::Row& row = candidates.problem.rows()[i];
    return !is_as_forced(candidates.problem.measured(row), row.algorithm, row.protocol);
  });
  return rows;
}

/// Effects of the parameters on the measured rows, and on candidates with NCCL's own choice for the same collectives.
Eigen::VectorXd effects_of(const LinearRows& data, const LinearRows& candidates, const std::vector<std::string>& paths,
                           const std::function<bool(const std::string& system)>& counts) {
  std::set<std::string> collectives;
  Effects effects;
  const Eigen::MatrixXd measured = data.columns(paths), possible = candidates.columns(paths);
  for (const std::size_t i : all_rows(data)) {
    const FitProblem::Row& row = data.problem.rows()[i];
    collectives.insert(data.problem.measured(row).collective);
    if (counts(row.system)) effects.add(data, measured, i);
  }
  for (const std::size_t i : all_rows(candidates)) {
    const MeasuredCase& run = candidates.problem.measured(candidates.problem.rows()[i]);
    if (is_free(run) && collectives.contains(run.collective)) effects.add(candidates, possible, i);
  }
  return effects.largest(static_cast<Index>(paths.size()));
}

/// Parameters on which the data or some candidate depends. A parameter that only a candidate uses is one that the data
/// do not determine at all, so it must be in the list.
std::vector<std::string> parameters_of(const LinearRows& data, const LinearRows& candidates,
                                       const FitOptions& options) {
  std::set<std::string> paths;
  for (const LinearRows* linear : {&data, &candidates})
    for (const std::string& path : linear->problem.parameters())
      if (options.takes(path)) paths.insert(path);
  return {paths.begin(), paths.end()};
}

std::vector<MeasuredCase> cases_that_count(std::vector<MeasuredCase> cases, const FitOptions& options) {
  std::erase_if(cases,
                [&](const MeasuredCase& c) { return !c.set_aside.empty() || contains(options.left_out, c.system); });
  return cases;
}

}  // namespace

FitAdvice advise(const std::vector<MeasuredCase>& cases, const Fit& fit, const FitOptions& options) {
  const std::vector<MeasuredCase> kept = cases_that_count(cases, options);
  Hardware hardware = fit.hardware;
  // `hardware` holds the result of the fit, so LinearRows linearizes there and its "prior point" is the optimum.
  const LinearRows data(kept, hardware, options);
  const double noise = noise_of(data, options.scale);
  // What the data say about a list of parameters. It is computed twice: first for the parameters of the data, to find
  // the least certain systems, and then with the parameters of the candidates on those systems as well.
  const auto knowledge_on = [&](const std::vector<std::string>& paths) {
    const auto size = static_cast<Index>(paths.size());
    Knowledge k{paths, Eigen::VectorXd(size), Eigen::VectorXd::Zero(size), Eigen::MatrixXd::Zero(size, size)};
    for (Index j = 0; j < size; ++j) k.prior[j] = prior_of(paths[static_cast<std::size_t>(j)], fit, hardware);
    for (const auto& [run, by_band] : information_of(data, data.columns(paths), all_rows(data), noise, options.scale))
      k.data += sum_of(by_band, size);
    return k;
  };
  const auto& own = data.problem.parameters();
  const std::vector<std::string> systems = uncertain_systems(data, data.columns(own), covariance_of(knowledge_on(own)));
  const std::vector<MeasuredCase> runs = candidates_on(kept, systems);
  const LinearRows candidates(runs, hardware, options);
  Knowledge knowledge = knowledge_on(parameters_of(data, candidates, options));
  knowledge.effect = effects_of(data, candidates, knowledge.paths, [](const std::string&) { return true; });
  FitAdvice advice{unstated_of(knowledge), {}};

  // Runs on these systems are judged by effects on these systems only.
  knowledge.effect = effects_of(data, candidates, knowledge.paths,
                                [&](const std::string& system) { return contains(systems, system); });
  // Rows of candidates have no times, so no row is an outlier: an infinite scale gives all of them full weight.
  RunChoice choice(knowledge, information_of(candidates, candidates.columns(knowledge.paths), obedient_rows(candidates),
                                             noise, std::numeric_limits<double>::infinity()));
  while (advice.runs.size() < most_runs) {
    const auto pick = choice.next();
    if (!pick) break;
    AdvisedRun advised{runs[pick->candidate], {}, narrowed_by(*pick, knowledge)};
    // A run whose gain is spread so thinly that no parameter narrows by a tenth is not worth its time.
    if (advised.narrows.empty()) break;
    std::erase_if(advised.run.rows, [&](const MeasuredRow& r) {
      return band_of(r.bytes) < *pick->bands.begin() || band_of(r.bytes) > *pick->bands.rbegin();
    });
    advised.command = command_of(advised.run);
    advice.runs.push_back(std::move(advised));
  }
  return advice;
}

}  // namespace fabricast
