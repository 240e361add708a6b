// Timeouts of lost packets in a step: every rank soon waits for a collective that waits, so a step takes as much longer.
//
//   step' = step + sum over calls of (timeouts of the call in series) x timeout
//
// Calls wait one after the other. Immutable after construction; threads may share it.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "fabricast/step/timeline.hpp"
#include "fabricast/traffic/overload.hpp"

namespace fabricast {

class LostPackets {
 public:
  /// On the sample of the network with this seed. Both outlive this object.
  LostPackets(const World& world, const Program& program, std::uint64_t seed);
  using Waits = std::array<Seconds, part_count>;
  /// What a step waits for timeouts, by the part that its calls belong to. Equal samples give equal times.
  Waits waits(std::uint64_t sample) const;
  /// Adds the timeouts of a step to its time and to the waiting of all its actors.
  void add_to(Timeline& timeline, std::uint64_t sample) const;

 private:
  const Program& program_;
  std::optional<LossModel> model_;
  std::vector<ExposedCall> calls_;  ///< by kind
};

}  // namespace fabricast
