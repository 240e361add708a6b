// Bayes' rule over causes: the probability of each, of pairs of them, and of something unknown.
//
// The numbers at the top of judge.cpp are the choices of docs/models/check.md, section "Which one".
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "fabricast/calibrate/check.hpp"
#include "likelihood.hpp"

namespace fabricast {

/// A symptom that was simulated, or two symptoms at once.
struct Tried {
  std::vector<Cause> causes;  ///< one or two
  Symptom symptom;
  std::vector<ResidualRow> rows;  ///< as forecast with it; the kind of system may differ from the healthy one
  std::vector<double> logs;       ///< ln(measured / forecast with it), by row
  double off = 0;                 ///< mean of `logs`
  double effect = 0;              ///< the largest |ln(forecast with it / without)| over the rows
};

/// \pre the arguments of the constructor outlive the object
class Judge {
 public:
  Judge(const SiteLikelihood& likelihood, const std::map<Cause, double>& weights)
      : likelihood_(likelihood), weights_(weights) {}
  /// Pairs of indices of symptoms to try at once: the best symptoms of the four likeliest causes, except pairs that set
  /// the same key of the scenario.
  std::vector<std::pair<std::size_t, std::size_t>> worth_pairing(const std::vector<Tried>& tried) const;
  /// The likeliest first; their probabilities add up to 1.
  /// \pre one entry of `tried` is `healthy`
  std::vector<Suspect> suspects(const std::vector<Tried>& tried) const;

 private:
  double density(const Tried& tried) const;
  double log_prior(const Tried& tried) const;
  double healthy_probability(const Tried& healthy) const;
  bool stated(const std::vector<Cause>& causes) const;

  const SiteLikelihood& likelihood_;
  const std::map<Cause, double>& weights_;
};

}  // namespace fabricast
