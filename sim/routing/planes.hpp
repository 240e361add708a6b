// Routers on fabrics of several planes (fabric/planes.hpp).
//
// A flow is given by the ports of its NICs in plane 0. It takes the path that a router of the policy finds in each
// plane between the ports there: with equal parts on all of them (`packet`), or on one by a hash of its queue pairs
// (`queue_pair`). A plane in which the flow has no path is left out, as a NIC does whose port is down. Numbers of flows
// between switches are those between leaves of plane 0, and stand for all planes.
#pragma once

#include <memory>

#include "fabricast/fabric/planes.hpp"
#include "fabricast/routing/routing.hpp"

namespace fabricast {

/// \param inside  of the same fabric and state, which connects ports of one plane
std::unique_ptr<Router> make_plane_router(const PlaneDistances& planes, const LinkState& state,
                                          std::unique_ptr<Router> inside);

/// The router itself, or one over all planes if the fabric has several.
inline std::unique_ptr<Router> over_planes(const Fabric& fabric, const LinkState& state,
                                           std::unique_ptr<Router> inside) {
  const PlaneDistances* planes = planes_of(fabric);
  return planes ? make_plane_router(*planes, state, std::move(inside)) : std::move(inside);
}

}  // namespace fabricast
