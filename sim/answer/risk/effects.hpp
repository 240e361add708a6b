// The effect of failures on the step, from a simulated sample of each class of components.
#pragma once

#include <map>
#include <tuple>

#include "elements.hpp"
#include "trials.hpp"

namespace fabricast {

/// The effect of one class of elements at one remaining rate.
struct Effect {
  bool stops = false;  ///< at least one element of the sample cuts the network of the job
  /// For each trial, at least 1: a rehash may reduce the time, but not because of the failure.
  std::vector<double> slowdowns;
  double mean = 1, worst = 1;
  std::string example;  ///< name of the worst element
  double carries = 1;   ///< fraction of the sample that carries traffic; below 1 only for cables between switches
};

/// A class of elements (index into Elements::classes) and the remaining fraction of its rate.
struct EffectKey {
  std::size_t elements = 0;
  double left = 0;
  auto operator<=>(const EffectKey&) const = default;
};
using Effects = std::map<EffectKey, Effect>;

/// Simulates the wanted effects.
/// \param healthy  s without failures, for each sample of the network
/// \param wanted   the effects to simulate, each once
/// \throws Interrupted on Ctrl-C
Effects find_effects(const World& world, Trials& trials, const Elements& elements, const std::vector<double>& healthy,
                     const std::vector<EffectKey>& wanted, const RiskOptions& options);

}  // namespace fabricast
