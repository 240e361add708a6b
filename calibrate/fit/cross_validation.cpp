// Errors of forecasts for systems that the fit has not seen.
//
// The error to expect on an unknown cluster cannot come from cases that the fit has seen. Systems of one site share
// hosts, settings and scripts, so a site is left out as a whole. Fits without a group start at the fit of all systems
// and reuse its derivatives. docs/models/fit.md, "Leaving a site or a kind out", compares this start with fits from the
// priors.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "fabricast/calibrate/residuals.hpp"
#include "fabricast/core/error.hpp"
#include "fabricast/core/parallel.hpp"
#include "fabricast/hardware/device_names.hpp"
#include "stages.hpp"

namespace fabricast {

namespace {

/// Iterations of a fit without some systems. It starts where the fit of all ends, so more iterations change little.
constexpr int steps_without = 6;

/// The point with all parameters but the free ones at their prior.
Eigen::VectorXd held(const FitProblem& problem, const std::vector<std::size_t>& free, const Eigen::VectorXd& theta) {
  Eigen::VectorXd result = problem.prior_point();
  for (const std::size_t j : free) result[static_cast<Eigen::Index>(j)] = theta[static_cast<Eigen::Index>(j)];
  return result;
}

/// A case with the rows for which `keep` holds. Cases that are set aside count here: a calibration also learns the
/// settings of a system that a scenario cannot express.
template <class Keep>
MeasuredCase part_of_case(const MeasuredCase& whole, Keep keep) {
  MeasuredCase part = whole;
  part.rows.clear();
  part.set_aside.clear();
  for (std::size_t i = 0; i < whole.rows.size(); ++i)
    if (keep(i)) part.rows.push_back(whole.rows[i]);
  return part;
}

void forecast_cases(const std::vector<CaseRunner>& runners, const Hardware& hardware, std::vector<ErrorRow>& errors) {
  for (const CaseRunner& runner : runners) add_errors(runner.measured().system, runner.run(hardware), errors);
}

/// Calibrates each system with some of its own cases, and forecasts its others: more than two nodes from one and two,
/// and each third of the sizes from the other two.
class OwnCalibration {
 public:
  OwnCalibration(const std::vector<MeasuredCase>& cases, const FitOptions& options) : cases_(cases), options_(options) {
    // As `calibrate fit` of a user's own cases does by default. `left_out` would remove the very system to calibrate.
    options_.left_out.clear();
    options_.progress = {};
    options_.identified = 0;
    options_.iterations = 12;
  }

  void add(const std::string& system, const Hardware& before) {
    const auto all = [](std::size_t) { return true; };
    // Benchmarks on one and two nodes are what a site can measure before a large job gets the machine.
    constexpr int few = 2;
    std::vector<MeasuredCase> small, large;
    for (const MeasuredCase& c : cases_)
      if (c.system == system) (c.nodes <= few ? small : large).push_back(part_of_case(c, all));
    if (!small.empty() && !large.empty()) learn(small, large, before, larger_before_, larger_after_);
    constexpr std::size_t folds = 3;
    // Every third size is forecast from the other two thirds, so each row is forecast exactly once. Neighbours of a row
    // stay in the calibration: this tests interpolation in a sweep, not extrapolation.
    for (std::size_t fold = 0; fold < folds; ++fold) {
      std::vector<MeasuredCase> seen, unseen;
      for (const MeasuredCase& c : cases_) {
        if (c.system != system) continue;
        MeasuredCase own = part_of_case(c, [&](std::size_t i) { return i % folds != fold; });
        MeasuredCase other = part_of_case(c, [&](std::size_t i) { return i % folds == fold; });
        if (!own.rows.empty()) seen.push_back(std::move(own));
        if (!other.rows.empty()) unseen.push_back(std::move(other));
      }
      if (!seen.empty() && !unseen.empty()) learn(seen, unseen, before, sizes_before_, sizes_after_);
    }
  }

  Calibrated result() const {
    return {error_table(larger_before_), error_table(larger_after_), error_halves(larger_before_),
            error_halves(larger_after_), error_table(sizes_before_), error_table(sizes_after_)};
  }

 private:
  void learn(const std::vector<MeasuredCase>& seen, const std::vector<MeasuredCase>& unseen, const Hardware& before,
             std::vector<ErrorRow>& errors_before, std::vector<ErrorRow>& errors_after) const {
    const std::vector<CaseRunner> runners(unseen.begin(), unseen.end());
    forecast_cases(runners, before, errors_before);
    forecast_cases(runners, fit_parameters(seen, before, options_).hardware, errors_after);
  }

  const std::vector<MeasuredCase>& cases_;
  FitOptions options_;
  std::vector<ErrorRow> larger_before_, larger_after_, sizes_before_, sizes_after_;
};

}  // namespace

std::map<std::string, std::string> left_out_with(const std::vector<MeasuredCase>& cases, const Hardware& hardware,
                                                 LeftOut by) {
  std::map<std::string, std::string> with;
  std::set<std::string> sites;
  for (const MeasuredCase& c : cases) sites.insert(c.site);
  // Sites are numbered by name, so the fifths do not depend on the order of cases in the file.
  const auto place = [&](const std::string& site) { return std::distance(sites.begin(), sites.find(site)); };
  for (const MeasuredCase& c : cases) {
    if (by == LeftOut::system) with[c.system] = c.system;
    if (by == LeftOut::site) with[c.system] = c.site;
    if (by == LeftOut::fifth) with[c.system] = fmt::format("{} of 5", place(c.site) % 5 + 1);
    if (by != LeftOut::kind) continue;
    // Some case with a network decides the kind; systems on one node are of the kind of their GPUs' connection.
    const bool network = c.nodes > 1 && !c.link.empty();
    // The architecture and not the GPU: H100 and H200 share the parameters that a fit moves.
    const GpuKind& gpu = *gpu_called(hardware, c.gpu).kind;
    const std::string kind = fmt::format("{} {}", gpu.architecture, network ? c.link : c.intranode);
    if (network || !with.contains(c.system)) with[c.system] = kind;
  }
  return with;
}

CrossValidation leave_out(const std::vector<MeasuredCase>& cases, const Hardware& prior, const FitOptions& options,
                          LeftOut by, bool calibrated, bool intervals) {
  // One problem serves all fits. Leaving systems out sets their weights to zero, and neither NCCL's choices nor the set
  // of rows that depends on a parameter change.
  const FitProblem problem(cases, prior);
  std::map<std::string, std::vector<std::string>> together;  // systems
  for (const auto& [system, name] : left_out_with(cases, prior, by)) together[name].push_back(system);
  std::set<std::string> fitted_systems;
  for (const FitProblem::Row& row : problem.rows()) fitted_systems.insert(row.system);
  if (together.size() < 2 || fitted_systems.size() < 2)
    throw UserError(fmt::format("leaving one {} out needs cases of at least two", name_of(by)));
  const TwoFits all = fit_twice(problem, options);
  // All cases are forecast, including those that no fit uses.
  const std::vector<CaseRunner> runners(cases.begin(), cases.end());
  const auto forecast_into = [&](std::vector<CaseResult>& results, const std::string& system, const Hardware& hardware,
                                 bool residuals) {
    std::vector<const CaseRunner*> its;
    for (const CaseRunner& runner : runners)
      if (runner.measured().system == system) its.push_back(&runner);
    const std::size_t first = results.size();
    results.resize(first + its.size());
    in_parallel(its.size(), thread_count(0), [&](std::size_t i) {
      results[first + i] = {its[i]->measured().id, system, its[i]->run(hardware, residuals)};
    });
  };
  // Only the bootstrap gives parameters their posterior intervals and samples, which learning the model of errors
  // needs.
  const auto hardware_at = [&](const FitTask& task, const FitPoint& point, const Linearization& derivatives) {
    return intervals ? fit_at(problem, task, point, derivatives, options.seed).hardware : problem.hardware(point.theta);
  };
  const auto fit_without = [&](const std::vector<std::string>& systems) {
    FitOptions without = options;
    without.left_out = systems;
    without.iterations = std::min(options.iterations, steps_without);
    FitTask task = task_of(problem, without);
    if (options.identified > 0) {
      Linearization first_derivatives = all.first_derivatives;
      const FitPoint first =
          solve(problem, task, evaluate(problem, task, held(problem, task.free, all.first.theta)), first_derivatives);
      // The remaining systems alone decide which parameters move in the second stage, as they would if the group did
      // not exist.
      task.free = identified(task, errors_by_data(problem, task, first, first_derivatives), options.identified);
    }
    // A copy: each fit starts with the derivatives of the fit of all, so results do not depend on the order of the
    // groups.
    Linearization derivatives = all.derivatives;
    const FitPoint start = evaluate(problem, task, held(problem, task.free, all.last.theta));
    const FitPoint best = solve(problem, task, start, derivatives);
    return hardware_at(task, best, derivatives);
  };
  const Hardware whole = hardware_at(all.task, all.last, all.derivatives);
  OwnCalibration own(cases, options);
  std::vector<CaseResult> in_sample, left_out;
  for (const auto& [name, systems] : together) {
    // A group whose systems no fit uses (set aside, or only alltoall on many ranks) changes nothing when it is left
    // out.
    const bool fitted =
        std::any_of(systems.begin(), systems.end(), [&](const auto& s) { return fitted_systems.contains(s); });
    const Hardware others = fitted ? fit_without(systems) : whole;
    for (const std::string& system : systems) {
      forecast_into(in_sample, system, whole, false);
      forecast_into(left_out, system, others, intervals);
      if (calibrated) own.add(system, others);
    }
  }
  std::optional<LeftOutErrors> off;
  if (intervals) add_intervals(left_out, off.emplace(left_out_errors(left_out, cases)));
  const std::vector<ErrorRow> errors = errors_of(left_out);
  CrossValidation v{{by, error_table(errors_of(in_sample)), error_table(errors), levels_of(errors),
                     level_causes(errors, cases), std::move(left_out)},
                    std::move(off),
                    std::nullopt};
  if (calibrated) v.calibrated = own.result();
  return v;
}

}  // namespace fabricast
