// The timed event graph of a ring: when a channel is done, given how long each GPU and each network hop keeps a slice.
//
// All nodes are alike except for their network hops. So the ring is folded to the positions p = 0..g-1 of one node:
// what the last position sends arrives at the first, as if from the previous node. At step s and slice k [Baccelli1992]
//
//   start(p; s, k) = max( end of p's previous operation,
//                         arrival of (s-1, k) from p-1            if s > 0,
//                         consumption of the slice `slots` before  at p+1 )
//   end(p; s, k)   = max( start + op_p, previous end + round_p )   (or a receive for the last step)
//   arrival at p+1 = end + hop                                     inside the node
//                  = max(end + pass, previous leave + gap) + latency   over the network                             (1)
//
// Max-plus recurrences become periodic: x(s + W) = x(s) + lambda for all components. Once this is observed over a whole
// history of the slots, the remaining steps are skipped. The same holds for loops. So the cost does not grow with the
// number of ranks or bytes.
//
// If the network hops of a ring differ (ECMP, distances), `pass` and `latency` are their means, because all data pass
// all hops in turn. `gap` is the maximum, because the whole ring moves at the pace of its slowest hop. So is the round
// trip of a slot, latency + credit.
#pragma once

#include <cstdint>
#include <vector>

namespace fabricast {

struct NetworkHop {
  double pass = 0;     ///< s; time of a message that meets no queue
  double gap = 0;      ///< s; minimum between two messages; may be more or less than `pass`
  double latency = 0;  ///< s; from the end of `pass` to the next GPU
  double credit = 0;   ///< s; latency of a slot's return
};

/// One kind of loop: slices of one size.
struct RingLoop {
  int slices = 1;
  std::vector<double> op;     ///< s, by position in the node
  std::vector<double> round;  ///< s, by position: minimum between two slices
  double receive = 0;         ///< s; the last step, which only receives
  NetworkHop hop;
};

struct Ring {
  std::int64_t sends = 0;  ///< sending steps of a loop; one that only receives follows
  double hop_inside = 0;   ///< s
  bool network = false;
  int slots = 8;
  std::int64_t loops = 0;
  RingLoop loop, tail;  ///< tail.slices == 0: none
};

/// s; when the last rank is done.
double ring_makespan(const Ring& ring);

}  // namespace fabricast
