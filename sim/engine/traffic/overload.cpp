// Packets and overloads of collectives (traffic/overload.hpp): planned for each shape of group once, counted for all groups.
#include "fabricast/traffic/overload.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "communicators.hpp"
#include "fabricast/scenario/lossy.hpp"

namespace fabricast {

std::vector<ExposedCall> exposed_calls(const World& world, const LossModel& model, const Program& program,
                                       std::uint64_t seed, bool overloads) {
  std::vector<ExposedCall> calls;
  Communicators communicators(world);
  std::map<std::uint32_t, TeamSet> sets;  // by groups
  for (const CollectiveKind& kind : program.collectives) {
    ExposedCall call;
    call.packets.chains = 0;
    auto known = sets.find(kind.groups);
    if (known == sets.end())
      known = sets.emplace(kind.groups, teams_of(world, program.groups[kind.groups], kind)).first;
    const TeamSet& set = known->second;
    std::vector<std::optional<CallPackets>> of_shape(set.shapes.size());
    for (const Team& team : set.teams) {
      const TeamShape& shape = set.shapes[team.shape];
      if (shape.nodes < 2 || kind.direct.is_on()) continue;
      std::optional<CallPackets>& packets = of_shape[team.shape];
      if (!packets) {
        const Planner& planner = communicators.of(shape, team, 0);
        const Plan plan = communicators.plan(planner, kind);
        packets = packets_of(call_shape(planner.comm, planner.buffers, plan), model.packet);
        const Overload overload = overloads ? overload_of(communicators.setup(planner, kind), plan, seed) : Overload{};
        if (overload.ratio > call.overload.ratio) call.overload = overload;
      }
      call.packets.packets += packets->packets;
      call.packets.chains += packets->chains;
      call.packets.last += packets->last;
      call.packets.connections += packets->connections;
    }
    call.packets.chains = std::max(1.0, call.packets.chains);
    calls.push_back(call);
  }
  return calls;
}

}  // namespace fabricast
