// Which groups of links between switches carry flows of several NIC ports, and so can be congested.
//
// Senders that react to congestion keep a contended link busy for a fraction of the time
// (NetworkSegment::contended, docs/models/congestion.md). A link that a single port has for itself is not contended:
// nothing queues where a port sends no faster than the link.
//
//   contended(l)  if  sum over c of m_lc  >  max over NIC ports p of  sum over c on l of m_pc                         (1)
//
// m is the number of connections of channel c (fabric_count.hpp), and c is on l if m_lc > 0. A port that has no more
// connections of these channels cannot have sent all that cross l. In sends and receives a port spreads its pairs over
// all links, so its part of a link is small; there m_pc counts times C_l / C_p where the link is slower than the port.
//
// The test is on the safe side: flows of two ports that carry no more connections than one port has count as one.
#pragma once

#include <vector>

#include "fabric_count.hpp"

namespace fabricast {

/// By group of the count: (1). False for all if `segment.contended` is 1.
std::vector<bool> contended_groups(const FabricCount& count, const Plan& plan, const Fabric& fabric,
                                   const Router& router, const NetworkSegment& segment);

}  // namespace fabricast
