// Bayes' rule over causes: how likely each is, that it is two of them, and that it is none.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "fabricast/calibrate/check.hpp"
#include "likelihood.hpp"

namespace fabricast {

/// A symptom that was forecast. Two causes: both at once.
struct Tried {
  std::vector<Cause> causes;
  Symptom symptom;
  std::vector<ResidualRow> rows;  ///< as it has them: a rack whose hosts talk by NICs is off as other networks are
  std::vector<double> logs;       ///< ln(measured / forecast with it), by row
  double off = 0;                 ///< their mean
  double effect = 0;              ///< the largest |ln(forecast with it / without)|
};

class Judge {
 public:
  Judge(const SiteLikelihood& likelihood, const std::map<Cause, double>& weights)
      : likelihood_(likelihood), weights_(weights) {}
  /// Indices of the symptoms that leave least, of different causes: two of which may be there at once.
  std::vector<std::pair<std::size_t, std::size_t>> worth_pairing(const std::vector<Tried>& tried) const;
  /// The likeliest first. \pre one of those tried is that nothing is wrong
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
