// What a group takes of the fabric's links, from how often its connections cross them.
#include "count_store.hpp"
#include "fabricast/engine/group_time.hpp"
#include "fabricast/protocol/costs.hpp"
#include "loads.hpp"

namespace fabricast {

namespace {

void require_paths(const FabricCount& count) {
  for (const bool blocked : count.blocked())
    if (blocked) throw UserError::at("faults", "the fabric is cut for a while: connections of a group have no path");
}

}  // namespace

void for_each_fabric_use(const NetworkSetup& setup, const Router& router, const Plan& plan, const SharedCount* crossed,
                         const std::function<void(std::span<const FabricUse>)>& use) {
  const NetworkSegment& segment = setup.segments.front();
  Plan streams = plan;
  if (is_one_stream(plan.algorithm)) streams.channels = 1;
  const ProtocolCosts costs = protocol_costs(*setup.comm, streams);
  std::shared_ptr<const SharedCount> own;
  if (!crossed) {
    own = count_alone({*setup.comm, streams, *setup.fabric, router, segment, costs.tree_weight, setup.threads});
    crossed = own.get();
  }
  const FabricCount& count = crossed->count();
  require_paths(count);
  struct GroupUses {
    std::uint32_t begin = 0, end = 0;
  };
  std::vector<FabricUse> uses;    // of a resource
  std::vector<FabricUse> parts;   // of all groups
  std::vector<GroupUses> groups;  // where theirs are
  for (const FabricCount::Group& group : count.groups()) {
    const auto begin = static_cast<std::uint32_t>(parts.size());
    const double rate = rate_of(*setup.fabric, router, segment, group.resource);
    const auto connections = count.connections(group);
    for (std::uint32_t c = 0; c < connections.size(); ++c)
      if (connections[c] > 0) parts.push_back({c, group.resource, connections[c] * costs.wire / rate});
    groups.push_back({begin, static_cast<std::uint32_t>(parts.size())});
  }
  count.for_each([&](std::uint32_t resource, std::uint32_t group) {
    uses.assign(parts.begin() + groups[group].begin, parts.begin() + groups[group].end);
    for (FabricUse& u : uses) u.resource = resource;
    use(uses);
  });
}

}  // namespace fabricast
