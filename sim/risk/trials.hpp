// The time of a workload on a fabric of which some links are degraded or down.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "fabricast/risk/risk.hpp"

namespace fabricast {

/// What a workload takes.
struct Timed {
  double seconds = 0;
  double computing = 0;  ///< s of it that the busiest stage computes; 0 of a collective
};

/// Worlds of one scenario, each used by one thread at a time.
class Trials {
 public:
  /// \throws UserError if the scenario can not run
  explicit Trials(const World& world);
  int network_samples() const { return samples_.count; }
  /// \param draw  of the network, counted from 0
  /// \param links which have `left` of their rate; faults of the scenario stay
  /// \returns nothing if the fabric is cut
  std::optional<Timed> run(int network_sample, std::span<const LinkId> links, double left);
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
