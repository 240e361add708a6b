// What a failure does to the step, by a sample of each class.
#pragma once

#include <map>
#include <tuple>

#include "elements.hpp"
#include "trials.hpp"

namespace fabricast {

/// Of one class at one rate.
struct Effect {
  bool stops = false;             ///< one of the sample at least cuts the job's network
  std::vector<double> slowdowns;  ///< by trial, at least 1: what a new draw of the hash gains is luck
  double mean = 1, worst = 1;
  std::string example;  ///< of the worst
  double carries = 1;   ///< part of the sample that traffic crosses; only of cables between switches
};

/// A class of elements, by number, and what is left of its rate.
struct EffectKey {
  std::size_t elements = 0;
  double left = 0;
  auto operator<=>(const EffectKey&) const = default;
};
using Effects = std::map<EffectKey, Effect>;

/// \param healthy  seconds by draw of the network
/// \param wanted   all to find out; each once
Effects find_effects(const World& world, Trials& trials, const Elements& elements, const std::vector<double>& healthy,
                     const std::vector<EffectKey>& wanted, const RiskOptions& options);

}  // namespace fabricast
