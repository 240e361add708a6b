// Groups of ranks as NCCL sees them: some GPUs of some NCCL nodes.
//
// Rank r is GPU r % g of the job's NCCL node r / g. Groups that use the same GPUs of the same number of nodes have the
// same
// *shape*: NCCL finds the same channels for them and plans their calls in the same way.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "fabricast/scenario/world.hpp"
#include "fabricast/workload/program.hpp"

namespace fabricast {

/// The part of a group that determines its plan.
struct TeamShape {
  std::vector<int> gpus;    ///< on each NCCL node; if nodes differ, on the first node of the group
  std::uint32_t nodes = 1;  ///< number of NCCL nodes
  friend auto operator<=>(const TeamShape&, const TeamShape&) = default;
};

/// A group of ranks.
struct Team {
  std::uint32_t shape = 0;               ///< index into TeamSet::shapes
  std::vector<std::uint32_t> nodes;      ///< NCCL nodes of the job, in the order of the group's ranks
  std::vector<std::uint32_t> placement;  ///< on the fabric, of the hosts with its ranks
};

/// A node as a member of a team.
struct TeamMember {
  std::uint32_t team = 0;
  std::uint32_t index = 0;  ///< of the node in Team::nodes
};

/// A set of groups.
struct TeamSet {
  std::vector<TeamShape> shapes;
  std::vector<Team> teams;
  std::vector<std::uint32_t> nodes;  ///< nodes of any team, ascending
  std::vector<std::uint32_t> first;  ///< by place in `nodes`: its first member; one entry more
  std::vector<TeamMember> members;
};

/// The teams of a set of groups. \param kind  a collective of these groups, for messages
/// \throws UserError if the ranks of a group are unevenly distributed over its nodes
TeamSet teams_of(const World& world, const RankGroups& groups, const CollectiveKind& kind);

}  // namespace fabricast
