// The timed event graph of a ring: given how long each GPU and each network hop keeps a slice, when is the channel
// done?
//
// All nodes are alike but for their network hop, so the ring is folded to the positions p = 0..g-1 of one node; what
// the last position sends comes back to the first as the previous node's would. At step s and slice k [Baccelli1992]
//
//   start(p; s, k) = max( end of p's previous operation,
//                         arrival of (s-1, k) from p-1            if s > 0,
//                         consumption of the slice `slots` before  at p+1 )
//   end(p; s, k)   = max( start + op_p, previous end + round_p )   (or a receive for the last step)
//   arrival at p+1 = end + hop                                     inside the node
//                  = max(end + pass, previous leave + gap) + latency   over the network                             (1)
//
// Max-plus recurrences become periodic: x(s + W) = x(s) + lambda for all components. Once that is observed over a whole
// history of the slots, the remaining steps are skipped; likewise for loops. So the cost does not grow with the number
// of ranks or bytes.
//
// Where the network hops of a ring differ (ECMP, other distances), `pass` and `latency` are their means, as every datum
// meets all hops in turn; `gap` is the worst, as the whole ring moves at the pace of its slowest hop, and so is the
// round trip of a slot, latency + credit.
#pragma once

#include <cstdint>
#include <vector>

namespace fabricast {

struct NetworkHop {
  double pass = 0;     ///< s; of a message that meets no queue
  double gap = 0;      ///< s; least time between two messages, >= or <= pass
  double latency = 0;  ///< s; from its end to the next GPU
  double credit = 0;   ///< s; of a slot on its way back
};

/// One kind of loop: slices of one size.
struct RingLoop {
  int slices = 1;
  std::vector<double> op;     ///< s, by position in the node
  std::vector<double> round;  ///< s, by position: least time between two slices
  double receive = 0;         ///< s, of the last, receive-only step
  NetworkHop hop;
};

struct Ring {
  std::int64_t sends = 0;  ///< steps of a loop; a receive-only one follows
  double hop_inside = 0;
  bool network = false;
  int slots = 8;
  std::int64_t loops = 0;
  RingLoop loop, tail;  ///< tail.slices == 0: none
};

/// When the last rank is done, s.
double ring_makespan(const Ring& ring);

}  // namespace fabricast
