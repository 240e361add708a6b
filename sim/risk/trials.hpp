// Forecasts the workload of a scenario on its fabric with some links degraded or down.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "fabricast/risk/risk.hpp"

namespace fabricast {

/// The time of a workload.
struct Timed {
  double seconds = 0;
  double computing = 0;  ///< s of computation on the busiest stage; 0 for a collective
};

/// A pool of worlds of one scenario. `run` may be called concurrently; each call uses one world.
class Trials {
 public:
  /// \param world  must outlive the trials
  explicit Trials(const World& world);
  int network_samples() const { return samples_.count; }
  /// Forecasts the workload. Faults of the scenario remain in effect.
  /// \param network_sample  index of the sample of the network, from 0
  /// \param links           links that have only the fraction `left` of their rate
  /// \returns empty if the fabric is cut
  /// \throws UserError if the workload cannot run even without the failure
  std::optional<Timed> run(int network_sample, std::span<const LinkId> links, double left);
  /// What is timed: `training step`, `all_reduce of 1GiB`.
  std::string what() const;

 private:
  struct Lent;
  std::unique_ptr<World> take();

  const World& base_;
  Samples samples_;
  std::vector<NetworkSegment> segments_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<World>> idle_;
};

}  // namespace fabricast
