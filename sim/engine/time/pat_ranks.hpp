// What it adds to PAT that its messages meet unlike links: a recurrence over all ranks.
//
// pat_recurrence.hpp follows one rank in place of all, which is right where all their links are alike. Where they are
// not, a rank is held up by the slowest of those that it hears of. With the seconds per byte of what rank r sends at
// place i, u = max(NIC of r, crowd of (c, i, r), NIC of the receiver), m messages of b bytes in all, b1 in the first and bm in the
// last of them, o and k the overhead and the copying of a GPU, p the proxy thread's and L the latency,
//
//   ready  = max( S[r], R[r] at place i-1 )                 S: when its sender is free, R: when it has received
//   begin  = max( N[r], ready + o + b1 k + p )               N: when its NIC is free
//   S[r]   = ready + m o + b k
//   leave  = max( S[r] + p + bm u,  begin + b u )
//   N[r]   = the same at the pace of the NIC alone
//   R[to]  = max( leave + L + o + bm k,  max( R[to], begin + b1 u + L ) + m o + b k )                              (1)
//
// The answer is the largest R of all ranks, less what (1) gives where u is the same for all.
//
// Not modelled: that a message meets those of other dimensions of ranks that are early or late.
#pragma once

#include "../count/pat_contention.hpp"
#include "pat_recurrence.hpp"
#include "services.hpp"

namespace fabricast {

/// What all ranks have in common.
struct PatNetwork {
  double nic = 0;      ///< s per byte, at the fastest of the ports
  double latency = 0;  ///< s; of the fabric, the mean over all messages
};
PatNetwork pat_network(const ChannelView& view);

/// s. \param channels  the plan's numbers of the run's channels
double pat_delay(const ChannelView& view, const PatRun& run, const std::vector<int>& channels);

}  // namespace fabricast
