// What differences between links add to the time of PAT: a recurrence over all ranks.
//
// pat_recurrence.hpp follows one rank in place of all, which is right if all links are alike. If they are not, a rank
// is delayed by the slowest rank that it receives from, directly or indirectly. Let u be the time per byte of what rank
// r sends on the i-th dimension: u = max( NIC of r, contention of (c, i, r), NIC of the receiver ). With m messages of
// b bytes in total, b1 in the first and bm in the last one, overhead o and copying k of a GPU, p for the proxy thread,
// and the latency L,
//
//   ready  = max( S[r], R[r] on dimension i-1 )             S: when its sender is free, R: when it has received
//   begin  = max( N[r], ready + o + b1 k + p )               N: when its NIC is free
//   S[r]   = ready + m o + b k
//   leave  = max( S[r] + p + bm u,  begin + b u )
//   N[r]   = the same at the pace of the NIC alone
//   R[to]  = max( leave + L + o + bm k,  max( R[to], begin + b1 u + L ) + m o + b k )                              (1)
//
// The result is the largest R of all ranks, minus the result of (1) with the same u for all.
//
// Not modelled: contention with messages of other dimensions, from ranks that are early or late.
#pragma once

#include "../count/pat_contention.hpp"
#include "pat_recurrence.hpp"
#include "services.hpp"

namespace fabricast {

/// What all ranks have in common. Zeros on a single node.
struct PatNetwork {
  double nic = 0;      ///< s per byte, at the fastest of the ports
  double latency = 0;  ///< s; of the fabric, the mean over all messages
};
PatNetwork pat_network(const ChannelView& view);

/// s; what differences between links add. \param channels  numbers, in the plan, of the run's channels
double pat_delay(const ChannelView& view, const PatRun& run, const std::vector<int>& channels);

}  // namespace fabricast
