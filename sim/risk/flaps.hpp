// Stalls by flaps of a cable.
//
// A cable is down for a time L, log-normal. What is lost is sent again every T (the transport's timeout), until after R
// retries the queue pair gives up and the job stops: L > R T. Else traffic stalls for T ceil(L / T), since only the first
// retry that finds the cable up gets through. Where there is another way, traffic goes on after min(L, reroute): packets
// that then come out of order are asked for again at once.
#pragma once

#include "events.hpp"

namespace fabricast {

struct FlapMoments {
  double stops = 0;   ///< part of the flaps that stops the job
  double stall = 0;   ///< s, mean of the others
  double square = 0;  ///< s^2, mean square of the others
};

/// \param reroute  s; infinite: there is no other way
FlapMoments flap_moments(const FlapSpec& spec, const Transport& transport, double reroute);

}  // namespace fabricast
