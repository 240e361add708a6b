// The communicators of teams: NCCL's search and plans, once for each shape, and the network that they run on.
//
// Thousands of groups have a few shapes. The place of a team on the fabric does not change the result of NCCL's search,
// so it is written into the planner of the shape while the team is timed. Not thread-safe.
#pragma once

#include <map>
#include <memory>
#include <utility>

#include "teams.hpp"

namespace fabricast {

/// The planners of a world's shapes.
class Communicators {
 public:
  /// \throws UserError if the scenario has settings that steps do not support
  explicit Communicators(const World& world);

  /// The planner of a shape, with its communicator placed where the team is. Valid until the next call.
  /// \param number  of the communicator at each of its NICs; its queue pairs follow those of lower numbers
  /// \param direct  its transfers use the NICs of a rail, without detours through other GPUs
  Planner& of(const TeamShape& shape, const Team& team, std::uint32_t number,
              const CollectiveKind::Direct& direct = {});
  /// NCCL's plan for a collective.
  Plan plan(const Planner& planner, const CollectiveKind& kind) const;
  /// The network for a collective of this planner's communicator.
  NetworkSetup setup(const Planner& planner, const CollectiveKind& kind) const;
  /// Whether a team has a node with a fault inside.
  bool is_faulty(const Team& team) const;

 private:
  World world_;
  std::map<std::pair<TeamShape, int>, std::unique_ptr<Planner>> planners_;  ///< by shape and rail
};

}  // namespace fabricast
