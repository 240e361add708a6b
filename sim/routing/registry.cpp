#include <array>

#include "fabricast/routing/routing.hpp"

namespace fabricast {

#define FABRICAST_ROUTING(name) RoutingPolicy name##_routing();
#include "policies.inc"
#undef FABRICAST_ROUTING

std::span<const RoutingPolicy> routing_policies() {
  static const std::array table = {
#define FABRICAST_ROUTING(name) name##_routing(),
#include "policies.inc"
#undef FABRICAST_ROUTING
  };
  return table;
}

}  // namespace fabricast
