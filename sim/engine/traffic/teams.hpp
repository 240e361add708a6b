// Groups of ranks as NCCL sees them: some GPUs of some NCCL nodes.
//
// Rank r is GPU r % g of the job's NCCL node r / g. Groups that use the same GPUs of as many nodes have one *shape*:
// NCCL finds the same channels for them, and plans their calls alike.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "fabricast/scenario/world.hpp"
#include "fabricast/workload/program.hpp"

namespace fabricast {

struct TeamShape {
  std::vector<int> gpus;    ///< of a NCCL node; where nodes differ, of the group's first
  std::uint32_t nodes = 1;  ///< NCCL nodes
  friend auto operator<=>(const TeamShape&, const TeamShape&) = default;
};

struct Team {
  std::uint32_t shape = 0;
  std::vector<std::uint32_t> nodes;      ///< NCCL nodes of the job, in the order of the group's ranks
  std::vector<std::uint32_t> placement;  ///< of the hosts that hold its ranks, on the fabric
};

/// A node's part in a team.
struct TeamMember {
  std::uint32_t team = 0;
  std::uint32_t index = 0;  ///< which of the team's nodes
};

struct TeamSet {
  std::vector<TeamShape> shapes;
  std::vector<Team> teams;
  std::vector<std::uint32_t> nodes;  ///< that are in some team, rising
  std::vector<std::uint32_t> first;  ///< of members, by place in `nodes`; one entry more
  std::vector<TeamMember> members;
};

/// \param kind  that has these groups: for messages
/// \throws UserError if a group's ranks are spread unevenly over its nodes.
TeamSet teams_of(const World& world, const RankGroups& groups, const CollectiveKind& kind);

}  // namespace fabricast
