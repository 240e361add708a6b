// Stalls caused by flaps of a cable.
//
// A cable is down for a log-normal time L. Lost packets are sent again every T (the transport's timeout). After R
// retries the queue pair gives up and the job stops, which happens if L > R T. Otherwise traffic stalls for
//
//   T ceil(L / T)
//
// because only the first retry that finds the cable up succeeds. If there is another path, traffic continues after
// min(L, reroute), because packets that then arrive out of order are requested again at once.
#pragma once

#include "events.hpp"

namespace fabricast {

/// Statistics of flaps.
struct FlapMoments {
  double stops = 0;   ///< fraction of flaps that stop the job
  double stall = 0;   ///< s, mean stall of the other flaps
  double square = 0;  ///< s^2, mean square stall of the other flaps
};

/// \param reroute  s until traffic takes another path; infinite: there is no other path
FlapMoments flap_moments(const FlapSpec& spec, const Transport& transport, double reroute);

}  // namespace fabricast
