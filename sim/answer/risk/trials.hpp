// Forecasts the workload of a scenario on its fabric with some links degraded or down.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string>

#include "fabricast/risk/risk.hpp"

namespace fabricast {

/// The time of a workload.
struct Timed {
  double seconds = 0;
  double computing = 0;  ///< s of computation on the busiest stage; 0 for a collective
};

/// Forecasts of one scenario with failures. `run` may be called concurrently.
class Trials {
 public:
  explicit Trials(const World& world);
  int network_samples() const { return std::max(1, world_.samples().count); }
  /// Forecasts the workload. Faults of the scenario remain in effect.
  /// \param network_sample  index of the sample of the network, from 0
  /// \param links           links that have only the fraction `left` of their rate
  /// \returns empty if the fabric is cut
  /// \throws UserError if the workload cannot run even without the failure
  std::optional<Timed> run(int network_sample, std::span<const LinkId> links, double left) const;
  /// What is timed: `training step`, `all_reduce of 1GiB`.
  std::string what() const;

 private:
  World world_;
};

}  // namespace fabricast
