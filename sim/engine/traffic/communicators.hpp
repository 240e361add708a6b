// The communicators of teams: NCCL's search and plans, once for each shape, and the network that they run on.
//
// Thousands of groups have a few shapes. Where a team lies on the fabric changes nothing that NCCL searches for, so it
// is written into the planner of its shape for as long as the team is timed.
#pragma once

#include <map>
#include <memory>

#include "teams.hpp"

namespace fabricast {

class Communicators {
 public:
  explicit Communicators(const World& world);

  /// The planner of a team, its communicator placed where the team is: until the next call.
  /// \param number  of the communicator at each of its NICs: its queue pairs come after those of lower numbers
  Planner& of(const TeamShape& shape, const Team& team, std::uint32_t number);
  /// NCCL's plan for a call.
  Plan plan(const Planner& planner, const CollectiveKind& kind) const;
  /// The network as such a call finds it.
  NetworkSetup setup(const Planner& planner, CollectiveOp op) const;
  /// Whether a team holds a node with a fault inside.
  bool is_faulty(const Team& team) const;

 private:
  const World& world_;
  std::map<TeamShape, std::unique_ptr<Planner>> planners_;
};

}  // namespace fabricast
