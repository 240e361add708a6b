// UGAL: each packet, or queue pair, takes a minimal path or a detour over another switch, whichever has less load
// [Kim2008]. Slingshot's switches choose like this [DeSensi2020].
//
// Detours are those of Valiant's routing (detours.hpp). Which part of the flows takes them follows from all flows of a
// collective call (detours_by_load.cpp): none as long as minimal paths carry them at the rate of NIC ports, and otherwise
// what makes the most loaded link carry least. A flow whose companions are not known stays minimal, as in an empty
// network: flows of `background`, and the load that calls of other groups put on the same links.
#include <fmt/format.h>

#include "detours.hpp"
#include "fabricast/core/error.hpp"

namespace fabricast {

struct UgalSpec {
  DetourChoice choice = DetourChoice::packet;
  std::int64_t seed = 1;
  int seeds = 16;
};

void visit_fields(FieldVisitor& visit, UgalSpec& spec) {
  visit("choice", spec.choice, "what chooses between minimal paths and detours: each packet, or each queue pair");
  if (spec.choice == DetourChoice::packet) return;
  visit("seed", spec.seed, "seed of the first sample", at_least(0));
  visit("seeds", spec.seeds, "number of samples", between(1, 100000));
}

Samples samples(const UgalSpec& spec) {
  if (spec.choice == DetourChoice::packet) return {};
  return {static_cast<std::uint64_t>(spec.seed), spec.seeds};
}
PathKind paths_of(const UgalSpec& spec) {
  return spec.choice == DetourChoice::queue_pair ? PathKind::by_chance : PathKind::by_load;
}

std::unique_ptr<Router> make_router(const UgalSpec& spec, const Fabric& fabric, const LinkState& state,
                                    std::uint64_t seed) {
  require_detours(fabric, "ugal");
  if (fabric.switches() > most_detoured_switches)
    throw UserError::at("routing.kind",
                        fmt::format("loads are balanced over at most {} switches, and there are {}",
                                    most_detoured_switches, fabric.switches()),
                        "use adaptive for minimal paths, or valiant with a fraction of your choice");
  const DetourParts none(0.0);
  return spec.choice == DetourChoice::packet ? make_detour_spreader(fabric, state, none, true)
                                             : make_detour_router(fabric, state, none, seed, true);
}

RoutingPolicy ugal_routing() {
  return make_routing_policy<UgalSpec>("ugal", "minimal paths or detours over another switch, by load", "[Kim2008]");
}

}  // namespace fabricast
