// Classes of cables (cables.hpp).
#include "cables.hpp"

#include <algorithm>

namespace fabricast {

FabricBuilder::TierClasses nic_classes(const FabricBasics& basics, const FabricDemand& demand, BytesPerSecond reached,
                                       BytesPerSecond offered) {
  const Seconds wire = propagation(basics.cable);
  const BytesPerSecond rate = std::min(reached, offered * demand.cables_per_port) * demand.header_efficiency;
  return {{demand.kind, rate, wire + basics.switch_box.latency}, {demand.kind, rate, wire}};
}

LinkClass between_switches(const FabricBasics& basics, const FabricDemand& demand, Metres cable) {
  return {demand.kind, basics.switch_box.rate * demand.header_efficiency,
          propagation(cable) + basics.switch_box.latency};
}

}  // namespace fabricast
