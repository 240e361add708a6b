// Decides about the rows of a study: which are kept, the best of them, and the Pareto front (plan/decision.hpp,
// docs/plan.md).
//
// The decision is made once, after all rows are known, and from rounded values, so it does not depend on threads or
// ranks.
#include "fabricast/plan/decision.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "fabricast/plan/metric.hpp"

namespace fabricast {

namespace {

std::size_t known(std::string_view name) { return metric_named(name, "objective"); }

/// A value of which less is better.
double badness(const SweepRow& row, std::size_t metric) {
  const double value = *row.values[metric];
  return metrics()[metric].better == Better::higher ? -value : value;
}

bool has_all(const SweepRow& row, const std::vector<std::size_t>& wanted) {
  return row.state == RowState::done &&
         std::all_of(wanted.begin(), wanted.end(), [&](std::size_t m) { return row.values[m].has_value(); });
}

/// The rows on the Pareto front. In ascending order of the metrics, a row can only be beaten by an earlier one, so each
/// row is compared only with the front so far.
/// Rows with equal values in all metrics are all on the front: neither beats the other.
std::vector<bool> front_of(const std::vector<SweepRow>& rows, const std::vector<std::size_t>& wanted) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (has_all(rows[i], wanted)) order.push_back(i);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    for (const std::size_t m : wanted)
      if (badness(rows[a], m) != badness(rows[b], m)) return badness(rows[a], m) < badness(rows[b], m);
    return false;
  });
  std::vector<bool> on(rows.size(), false);
  std::vector<std::size_t> front;
  for (const std::size_t i : order) {
    const bool beaten = std::any_of(front.begin(), front.end(), [&](std::size_t f) {
      bool better = false;
      for (const std::size_t m : wanted) {
        if (badness(rows[f], m) > badness(rows[i], m)) return false;
        better |= badness(rows[f], m) < badness(rows[i], m);
      }
      return better;
    });
    if (!beaten) {
      front.push_back(i);
      on[i] = true;
    }
  }
  return on;
}

/// The default front: time and cost, or time and power if no row has a cost.
std::vector<std::size_t> usual_front(const std::vector<SweepRow>& rows) {
  const std::size_t cost = known("cost");
  const bool priced = std::any_of(rows.begin(), rows.end(), [&](const SweepRow& row) {
    return row.state == RowState::done && row.values[cost].has_value();
  });
  return {known("time_s"), priced ? cost : known("power_w")};
}

/// Among rows that do not differ in the objective: the cheapest, then the one with least power, then the fastest.
bool is_preferred(const SweepRow& a, const SweepRow& b) {
  for (const char* name : {"cost", "power_w", "time_s"}) {
    const auto &of_a = a.values[known(name)], &of_b = b.values[known(name)];
    if (of_a && of_b && std::abs(*of_a - *of_b) > tie_width * std::abs(*of_b)) return *of_a < *of_b;
  }
  return false;
}

/// Chooses among rows within `tie_width` of the lowest value, which is far less than any interval: they do not really
/// differ, so cost, power and then time decide.
/// \pre the first row in order is kept and has the objective's metric
void choose_best(const std::vector<SweepRow>& rows, Decision& d) {
  const std::size_t metric = d.objective.metric;
  const double least = *rows[d.order.front()].values[metric];
  for (const std::size_t i : d.order)
    if (d.kept[i] && rows[i].values[metric] && std::abs(*rows[i].values[metric] - least) <= tie_width * std::abs(least))
      d.ties.push_back(i);
  // What was not run may be better.
  if (d.not_run > 0) return;
  d.best = *std::min_element(d.ties.begin(), d.ties.end(),
                             [&](std::size_t a, std::size_t b) { return is_preferred(rows[a], rows[b]); });
  // The best row leads the order, so that tables and the answer agree. The others stay sorted by the metric.
  const auto place = std::find(d.order.begin(), d.order.end(), *d.best);
  std::rotate(d.order.begin(), place, place + 1);
}

}  // namespace

Objective objective_of(const Study& study) {
  const ObjectiveSpec& spec = study.objective;
  Objective objective;
  objective.minimize = spec.maximize.empty();
  const std::string& wanted = objective.minimize ? spec.minimize : spec.maximize;
  objective.metric = wanted.empty()
                         ? known("time_s")
                         : metric_named(wanted, objective.minimize ? "objective.minimize" : "objective.maximize");
  for (std::size_t i = 0; i < spec.keep.size(); ++i)
    objective.keep.push_back(parse_condition(spec.keep[i], fmt::format("objective.keep[{}]", i)));
  for (std::size_t i = 0; i < spec.pareto.size(); ++i) {
    const std::string path = fmt::format("objective.pareto[{}]", i);
    objective.front.push_back(metric_named(spec.pareto[i], path));
    if (metrics()[objective.front.back()].better == Better::neither)
      throw UserError::at(path, fmt::format("{} has no better direction", spec.pareto[i]));
  }
  return objective;
}

namespace {

bool uses(const Condition& condition, bool (*is)(std::size_t metric)) {
  for (const auto* side : {&condition.left, &condition.right})
    for (const Factor& f : *side)
      if (f.kind != Factor::Kind::number && is(f.metric)) return true;
  return false;
}

/// The first key of the objective that uses a metric of a kind; empty: none does.
std::string key_that_uses(const Objective& o, bool (*is)(std::size_t metric)) {
  if (is(o.metric)) return o.minimize ? "objective.minimize" : "objective.maximize";
  for (std::size_t i = 0; i < o.keep.size(); ++i)
    if (uses(o.keep[i], is)) return fmt::format("objective.keep[{}]", i);
  for (std::size_t i = 0; i < o.front.size(); ++i)
    if (is(o.front[i])) return fmt::format("objective.pareto[{}]", i);
  return {};
}

}  // namespace

bool asks_for_risk(const Objective& o) { return !key_that_uses(o, is_of_risk).empty(); }

std::string key_of_cost(const Objective& o) { return key_that_uses(o, is_of_prices); }

Decision decide(const Study& study, const std::vector<SweepRow>& rows) {
  Decision d;
  d.objective = objective_of(study);
  if (d.objective.front.empty()) d.objective.front = usual_front(rows);
  const Objective& o = d.objective;
  const auto best = best_values(rows);
  for (const SweepRow& row : rows) {
    d.kept.push_back(row.state == RowState::done && std::all_of(o.keep.begin(), o.keep.end(), [&](const Condition& c) {
                       return holds(c, row, best);
                     }));
    d.done += row.state == RowState::done;
    d.refused += row.state == RowState::refused;
    d.not_run += row.state == RowState::not_run;
    if (row.state == RowState::done) d.order.push_back(row.row);
  }
  d.on_front = front_of(rows, o.front);
  // Kept rows first, then rows that have the metric, then by its value. The sort is stable: equal rows keep the order
  // of the study.
  const auto rank = [&](std::size_t i) {
    const auto& value = rows[i].values[o.metric];
    return std::tuple(!d.kept[i], !value, value ? (o.minimize ? *value : -*value) : 0.0);
  };
  std::stable_sort(d.order.begin(), d.order.end(), [&](std::size_t a, std::size_t b) { return rank(a) < rank(b); });
  if (!d.order.empty() && d.kept[d.order.front()] && rows[d.order.front()].values[o.metric]) choose_best(rows, d);
  const std::size_t time = known("time_s");
  for (const SweepRow& row : rows)
    if (row.state == RowState::done && row.values[time] &&
        (!d.fastest || *row.values[time] < *rows[*d.fastest].values[time]))
      d.fastest = row.row;
  return d;
}

}  // namespace fabricast
