// The routing of a scenario that states none. A pure function.
#pragma once

#include <string_view>

#include "fabricast/fabric/link.hpp"

namespace fabricast {

/// The usual routing of a kind of network.
/// InfiniBand and Slingshot switches route adaptively, and EFA's SRD protocol sprays packets. Other networks hash
/// flows.
inline std::string_view usual_routing(LinkKind kind) {
  switch (kind) {
    case LinkKind::infiniband:
    case LinkKind::slingshot: return "adaptive";
    case LinkKind::efa: return "spray";
    default: return "ecmp";
  }
}

}  // namespace fabricast
