// Bayes' rule over causes, and the probability that the cluster is healthy:
//
//   P(healthy)        = o / (1 + o),   o = 4 B(p) (priors) / (priors with the log's factors),  B(p) = min(1, -e p ln p)
//   P(cause | rows)   ~ prior(cause) x factor of the log x mean over symptoms of density^0.75
//
// p is the one-sided tail probability of all rows. Health is tested and not compared with causes by Bayes' rule,
// because the alternative is unknown: the table may not hold the cause. The causes share 1 - P(healthy).
#include "judge.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace fabricast {

namespace {

/// Exponent of the likelihood. Rows of a sweep are less independent than the distribution of errors assumes, and the
/// fine structure that remains with a cause comes from the model. With this power, stated probabilities held on real
/// systems (docs/models/check.md).
constexpr double power = 0.75;
/// Prior of two causes at once, relative to the product of their priors.
constexpr double both = 0.05;
/// Prior of a cause that is not in the table, relative to the sum of all that are.
constexpr double unknown = 0.06;
/// By how many times the errors of a site with an unknown problem exceed those of other sites.
constexpr std::array unknown_apart = {3.0, 6.0, 12.0};
/// Tail probability below which a cause is marked `leaves_too_much`.
constexpr double least_tail = 0.02;
/// A marked cause keeps at most this fraction of the winner's probability, because it may be part of the problem.
constexpr double kept = 0.2;
/// Prior odds that a checked cluster is healthy.
constexpr double healthy_odds = 4;
constexpr std::size_t most_paired = 4;
/// Probability from which on a cluster is called healthy.
constexpr double healthy_enough = 0.5;

/// Uncertainties of the effects of two causes at once add in squares.
double spread_of(const Tried& tried) {
  double squares = 0;
  for (const Cause cause : tried.causes) squares += std::pow(kind_of(cause).spread, 2);
  return std::sqrt(squares);
}

/// Densities of many rows underflow, so the largest is factored out before they are added.
double log_of_mean(const std::vector<double>& logs) {
  const double most = *std::max_element(logs.begin(), logs.end());
  double sum = 0;
  for (const double log : logs) sum += std::exp(log - most);
  return most + std::log(sum / static_cast<double>(logs.size()));
}

}  // namespace

double Judge::density(const Tried& tried) const {
  return power * likelihood_.log_density(tried.rows, tried.logs, spread_of(tried));
}

double Judge::log_prior(const Tried& tried) const {
  double log = tried.causes.size() > 1 ? std::log(both) : 0;
  for (const Cause cause : tried.causes) {
    const auto it = weights_.find(cause);
    // For a pair, the product of the priors is reduced by `both`: two independent faults on one cluster are rare.
    log += std::log(kind_of(cause).prior * (it == weights_.end() ? 1 : it->second));
  }
  return log;
}

bool Judge::stated(const std::vector<Cause>& causes) const {
  // Between the factor of a hint (50) and that of a statement (1e12).
  constexpr double beyond_doubt = 1e6;
  return std::any_of(causes.begin(), causes.end(), [&](Cause cause) {
    const auto it = weights_.find(cause);
    return it != weights_.end() && it->second >= beyond_doubt;
  });
}

std::vector<std::pair<std::size_t, std::size_t>> Judge::worth_pairing(const std::vector<Tried>& tried) const {
  // One symptom per cause: pairs of all symptoms would be thousands of simulations.
  std::map<Cause, std::pair<double, std::size_t>> best;
  for (std::size_t i = 0; i < tried.size(); ++i) {
    const Cause cause = tried[i].causes.front();
    if (cause == Cause::healthy) continue;
    const double value = log_prior(tried[i]) + density(tried[i]);
    const auto [it, fresh] = best.try_emplace(cause, value, i);
    if (!fresh && value > it->second.first) it->second = {value, i};
  }
  std::vector<std::pair<double, std::size_t>> order;
  for (const auto& [cause, entry] : best) order.push_back(entry);
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  order.resize(std::min(order.size(), most_paired));
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  for (std::size_t a = 0; a < order.size(); ++a)
    for (std::size_t b = a + 1; b < order.size(); ++b) {
      const auto key = [](const std::string& word) { return word.substr(0, word.find('=')); };
      const auto& sa = tried[order[a].second].symptom.set;
      const auto& sb = tried[order[b].second].symptom.set;
      // Two symptoms that set one key cannot both apply.
      const bool clash = std::any_of(sa.begin(), sa.end(), [&](const std::string& w) {
        return std::any_of(sb.begin(), sb.end(), [&](const std::string& v) { return key(v) == key(w); });
      });
      if (!clash) pairs.emplace_back(order[a].second, order[b].second);
    }
  return pairs;
}

double Judge::healthy_probability(const Tried& healthy) const {
  // A tail probability p below 1/e lowers the odds of health by -e p ln p at most, whatever the alternative
  // [Sellke2001].
  const double p = likelihood_.slow_tail(healthy.rows, healthy.logs);
  const double factor = p < 1 / std::numbers::e ? -std::numbers::e * p * std::log(p) : 1;
  // Statements of a log for a cause also raise the prior that something is wrong.
  double priors = 0, weighted = 0;
  for (const CauseKind& kind : cause_kinds()) {
    if (kind.cause == Cause::healthy) continue;
    const auto it = weights_.find(kind.cause);
    priors += kind.prior;
    weighted += kind.prior * (it == weights_.end() ? 1 : std::max(1.0, it->second));
  }
  // The floor keeps the odds positive when p underflows. Factors below 1 do not count in `weighted`: a log that rules a
  // cause out does not show that the cluster is healthy.
  const double odds = healthy_odds * std::max(factor, 1e-12) * priors / weighted;
  return odds / (1 + odds);
}

std::vector<Suspect> Judge::suspects(const std::vector<Tried>& tried) const {
  struct Entry {
    double log;
    Suspect suspect;
  };
  // The likelihood of a cause is the mean over its symptoms, so that many symptoms are no advantage.
  std::map<std::vector<Cause>, std::vector<std::size_t>> by_cause;
  for (std::size_t i = 0; i < tried.size(); ++i) by_cause[tried[i].causes].push_back(i);
  std::vector<double> densities(tried.size());
  for (std::size_t i = 0; i < tried.size(); ++i) densities[i] = density(tried[i]);
  std::vector<Entry> entries;
  const Tried* healthy = nullptr;
  for (const auto& [causes, indices] : by_cause) {
    std::vector<double> logs;
    for (const std::size_t i : indices) logs.push_back(densities[i]);
    // The report shows the symptom that fits best, but the probability of the cause is the mean over all of its
    // symptoms.
    const Tried& best =
        tried[indices[static_cast<std::size_t>(std::max_element(logs.begin(), logs.end()) - logs.begin())]];
    if (causes.front() == Cause::healthy) {
      healthy = &best;
      continue;
    }
    Suspect suspect{causes.front(), 0, best.symptom, std::exp(best.off), {}, false};
    if (causes.size() > 1) suspect.with = causes[1];
    // Times cannot outweigh a statement of the log.
    suspect.leaves_too_much = !stated(causes) && likelihood_.tail(best.rows, best.logs, spread_of(best)) < least_tail;
    entries.push_back({log_prior(best) + log_of_mean(logs), std::move(suspect)});
  }
  double priors = 0;
  for (const CauseKind& kind : cause_kinds())
    if (kind.cause != Cause::healthy) priors += kind.prior;
  // An unknown problem is a site whose errors have 3, 6 or 12 times the usual scale. The mean over the three is its
  // likelihood, as for symptoms.
  std::vector<double> unknowns;
  for (const double apart : unknown_apart)
    unknowns.push_back(power * likelihood_.log_density(healthy->rows, healthy->logs, 0, apart));
  Suspect none{Cause::none_of_these, 0, {}, std::exp(healthy->off), {}, false};
  none.symptom.what = "something that is not in this table";
  entries.push_back({std::log(unknown * priors) + log_of_mean(unknowns), std::move(none)});
  // Causes that leave too much rank behind all that do not.
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    if (a.suspect.leaves_too_much != b.suspect.leaves_too_much) return b.suspect.leaves_too_much;
    return a.log > b.log;
  });
  const double well = healthy_probability(*healthy), top = entries.front().log;
  double sum = 0;
  for (Entry& e : entries) {
    // A marked cause may have a larger likelihood than the winner, which min(0, ...) caps. It cannot win.
    e.suspect.probability = std::exp(std::min(0.0, e.log - top)) * (e.suspect.leaves_too_much ? kept : 1);
    sum += e.suspect.probability;
  }
  std::vector<Suspect> list;
  for (Entry& e : entries) {
    e.suspect.probability *= (1 - well) / sum;
    list.push_back(std::move(e.suspect));
  }
  Suspect fine{Cause::healthy, well, healthy->symptom, std::exp(healthy->off), {}, false};
  // Many causes share the probability that `healthy` does not have. Below one half, `healthy` is therefore last, even
  // if no single cause is more probable.
  list.insert(well < healthy_enough ? list.end() : list.begin(), std::move(fine));
  return list;
}

}  // namespace fabricast
