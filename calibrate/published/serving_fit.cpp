// Fits the parameters of serving engines to published rows.
//
// Only `serving.*` moves: GEMMs, attention and networks are fitted to steps and collectives, whose measurements isolate
// them. A figure of serving cannot distinguish a slow GEMM from a slow scheduler. The least-squares problem is that of
// fit/log_problem.hpp.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "../fit/log_problem.hpp"
#include "fabricast/calibrate/published_serving_validation.hpp"
#include "fabricast/core/error.hpp"
#include "fabricast/core/stop.hpp"
#include "fabricast/core/thin.hpp"
#include "fabricast/scenario/scenario.hpp"

namespace fabricast {

namespace serving {

namespace {

/// Per source, engine and kind of model.
constexpr std::size_t most_scenarios = 16;
/// Typical relative errors of forecasts of known engines, and the number of independent figures that those of a source,
/// metric and kind of model count as.
constexpr double noise_of_steps = 0.06, noise_of_waits = 0.2, figures_worth = 6;
/// Kernels timed in isolation determine their own parameters best, so they get more weight.
constexpr double noise_of_kernels = 0.1, kernels_worth = 36;
/// Step of finite differences in the logarithm of a parameter. Queue events make a forecast rough on a finer scale.
constexpr double derivative_step = 0.05;

/// Rows of one scenario.
struct FittedScenario {
  std::vector<const MappedServing*> rows;
  std::string stack;
};

bool has_figures(const FittedScenario& s) {
  try {
    const ServingFigures figures = serving_figures(s.rows.front()->scenario, s.rows.front()->id);
    return std::all_of(s.rows.begin(), s.rows.end(),
                       [&](const MappedServing* row) { return figures[static_cast<std::size_t>(row->metric)] > 0; });
  } catch (const UserError&) { return false; }
}

/// Whether the fit may move a parameter. The memory that an engine uses is a setting, which times do not determine.
bool may_move(std::string_view path) { return path.starts_with("serving.") && !path.ends_with(".memory"); }

std::vector<FittedScenario> scenarios_of(const std::vector<MappedServing>& rows) {
  std::map<std::string_view, FittedScenario> by_scenario;
  std::vector<std::string_view> order;
  for (const MappedServing& row : rows) {
    // The table itself marks these rows as doubtful.
    if (row.scenario.empty() || row.row.confidence == "low") continue;
    // Equal text means one configuration. It is forecast once per evaluation for all its rows.
    const auto [it, is_new] = by_scenario.try_emplace(row.scenario);
    if (is_new) order.push_back(it->first);
    it->second.rows.push_back(&row);
  }
  std::map<std::tuple<std::string, std::string, bool>, std::vector<FittedScenario>> groups;
  for (const std::string_view text : order) {
    FittedScenario& s = by_scenario[text];
    const Scenario scenario = parse_scenario(std::string(text), s.rows.front()->id).scenario;
    // A collective of NCCL depends on no parameter of an engine.
    if (scenario.workload.kind != WorkloadKind::inference) continue;
    // No source states how much of the weights lies in host memory.
    if (scenario.workload.inference.offload_weights > 0) continue;
    s.stack = scenario.workload.inference.stack;
    groups[{s.rows.front()->row.source, s.stack, s.rows.front()->experts}].push_back(std::move(s));
  }
  std::vector<FittedScenario> chosen;
  for (auto& [group, list] : groups)
    for (const std::size_t i : spread_over(list.size(), most_scenarios)) {
      stop_if_requested();
      if (has_figures(list[i])) chosen.push_back(std::move(list[i]));
    }
  return chosen;
}

double noise_of(ServingMetric metric) {
  if (metric == ServingMetric::allreduce_us) return noise_of_kernels;
  // Waits depend on how full a queue is, which amplifies errors of the step.
  return metric == ServingMetric::ttft_ms || metric == ServingMetric::kv_transfer_ms ? noise_of_waits : noise_of_steps;
}

double worth_of(ServingMetric metric) { return metric == ServingMetric::allreduce_us ? kernels_worth : figures_worth; }

/// ln(forecast / measured) of each row of a scenario.
std::vector<double> ratios_of(const FittedScenario& s, const Hardware& hardware) {
  const ServingFigures figures = serving_figures(s.rows.front()->scenario, s.rows.front()->id, hardware);
  std::vector<double> ratios;
  for (const MappedServing* row : s.rows)
    ratios.push_back(std::log(figures[static_cast<std::size_t>(row->metric)] / row->row.value));
  return ratios;
}

/// The cases of the least-squares problem. Noise grows with the number of figures, so that all sources count alike.
std::vector<LogCase> cases_of(const std::vector<FittedScenario>& scenarios, const Hardware& prior) {
  std::map<std::tuple<std::string, ServingMetric, bool>, double> counts;
  const auto group = [](const MappedServing& row) { return std::tuple(row.row.source, row.metric, row.experts); };
  for (const FittedScenario& s : scenarios)
    for (const MappedServing* row : s.rows) counts[group(*row)] += 1;
  std::vector<LogCase> cases;
  for (const FittedScenario& s : scenarios) {
    LogCase c;
    c.ratios = [&s](const Hardware& hardware) { return ratios_of(s, hardware); };
    for (const MappedServing* row : s.rows)
      c.noise.push_back(noise_of(row->metric) * std::sqrt(std::max(1.0, counts[group(*row)] / worth_of(row->metric))));
    // A case depends only on the parameters of its own engine and of those that this inherits from.
    c.parameters = prior.parameters_of("serving", s.stack);
    cases.push_back(std::move(c));
  }
  return cases;
}

/// Gives the rows of each source intervals that are learned from the other sources.
void set_intervals_without_own(std::vector<ServingResult>& results, const std::set<std::string>& sources,
                               const Hardware& prior) {
  for (const std::string& source : sources) {
    std::vector<ServingResult> others;
    for (const ServingResult& r : results)
      if (r.mapped.row.source != source) others.push_back(r);
    // The interval of a source must not know its own errors.
    Hardware learned = prior;
    for (const FittedParameter& p : learned_spread(others, prior)) *learned.find(p.path) = p.after;
    for (ServingResult& r : results)
      if (r.mapped.row.source == source) set_interval(r, learned.serving_spread);
  }
}

}  // namespace

}  // namespace serving

Fit fit_serving(const std::vector<MappedServing>& rows, const Hardware& prior, const ServingFitOptions& options) {
  const std::vector<serving::FittedScenario> scenarios = serving::scenarios_of(rows);
  if (scenarios.empty()) throw UserError("there are no rows of serving to fit to");
  LogProblem problem(serving::cases_of(scenarios, prior), prior, serving::may_move, serving::derivative_step);
  LeastSquares task = problem.task(options.iterations);
  task.progress = options.progress;
  const Minimum start = evaluate(task, problem.centre());
  return problem.posterior(task, start.loss, minimize(task, start));
}

std::vector<ServingResult> leave_out_serving(const std::vector<MappedServing>& rows, const Hardware& prior,
                                             const Hardware& fitted, const ServingFitOptions& options,
                                             const std::function<void(double)>& progress) {
  const std::vector<serving::FittedScenario> scenarios = serving::scenarios_of(rows);
  LogProblem problem(serving::cases_of(scenarios, prior), prior, serving::may_move, serving::derivative_step);
  // One source moves the minimum only a little. Each fit therefore starts at the minimum of all rows, with the
  // derivatives there.
  const LeastSquares all = problem.task(options.iterations);
  const Minimum whole = evaluate(all, problem.place(fitted));
  problem.forget_derivatives();
  const Eigen::MatrixXd derivatives = problem.derivatives(whole.x, whole.residuals);
  std::set<std::string> sources;
  for (const MappedServing& row : rows) sources.insert(row.row.source);
  std::vector<ServingResult> results(rows.size());
  double done = 0;
  for (const std::string& source : sources) {
    Eigen::VectorXd weights = Eigen::VectorXd::Ones(static_cast<Eigen::Index>(problem.figures()));
    for (std::size_t c = 0; c < scenarios.size(); ++c)
      if (scenarios[c].rows.front()->row.source == source)
        weights
            .segment(static_cast<Eigen::Index>(problem.first_figure(c)),
                     static_cast<Eigen::Index>(scenarios[c].rows.size()))
            .setZero();
    // Each fit starts from the same derivatives, so results do not depend on the order of sources.
    problem.restart(derivatives, whole.x);
    const LeastSquares task = problem.task(options.iterations, weights);
    const Minimum found = minimize(task, evaluate(task, whole.x));
    const Hardware without = problem.hardware(found.x);
    std::vector<MappedServing> mine;
    std::vector<std::size_t> where;
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (rows[i].row.source == source) {
        mine.push_back(rows[i]);
        where.push_back(i);
      }
    std::vector<ServingResult> its = validate_serving(mine, without);
    for (std::size_t i = 0; i < its.size(); ++i) results[where[i]] = std::move(its[i]);
    if (progress) progress(++done / static_cast<double>(sources.size()));
  }
  serving::set_intervals_without_own(results, sources, prior);
  return results;
}

}  // namespace fabricast
