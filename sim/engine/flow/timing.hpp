// Timed event graphs of channels: given how long each station keeps a slice, when is the channel done?
//
// Notation, per slice of a fixed size. A station has
//   pass    time to get through when it is idle
//   gap     least time between two slices, >= or <= pass (a crowded network can be slower in the long run than once)
//   latency time from its end to the next station's start
//
// A pipeline (chain, tree) of stations j with K slices and a slot's round trip R is done after [Baccelli1992]
//
//   sum_j (pass_j + latency_j) + max( (K - 1) g,  floor((K - 1) / slots) R + ((K - 1) mod slots) g ),  g = max_j gap_j
//   (1)
//
// which is exact for constant services: the slowest station is never idle once the first slice has reached it, unless
// it runs out of slots.
//
// A ring is a recurrence. All nodes are alike but for the network hop, so it is folded to the positions p = 0..g-1 of
// one node; the last position's sends come back to the first as the previous node's would. At step s and slice k
//
//   start(p; s, k) = max( end of p's previous operation,
//                         arrival of (s-1, k) from p-1            if s > 0,
//                         consumption of the slice `slots` before  at p+1 )
//   end(p; s, k)   = start + op_p                                  (or a receive for the last step)
//   arrival at p+1 = end + hop                                     inside the node
//                  = max(end + pass, previous leave + gap) + latency   over the network                             (2)
//
// Max-plus recurrences become periodic: x(s + W) = x(s) + lambda for all components. Once that is observed over a whole
// history of the slots, the remaining steps are skipped; likewise for loops. So the cost does not grow with the number
// of ranks or bytes.
//
// Where the network hops of a ring differ (ECMP, other distances), `pass` and `latency` are their means, as every datum
// meets all hops in turn; `gap` is the worst, as the whole ring moves at the pace of its slowest hop, and so is the round
// trip of a slot, latency + credit.
#pragma once

#include <cstdint>
#include <vector>

namespace fabricast {

struct NetworkHop {
  double pass = 0, gap = 0, latency = 0;
  double credit = 0;  ///< of a slot on its way back
};

/// One kind of loop: slices of one size.
struct RingLoop {
  int slices = 1;
  std::vector<double> op;  ///< s, by position in the node
  double receive = 0;      ///< s, of the last, receive-only step
  NetworkHop hop;
};

struct Ring {
  std::int64_t sends = 0;
  bool last_receive = true;
  double hop_inside = 0;
  bool network = false;
  int slots = 8;
  std::int64_t loops = 0;
  RingLoop loop, tail;  ///< tail.slices == 0: none
};

/// When the last rank is done, s.
double ring_makespan(const Ring& ring);

/// (1) with `slices` equal slices, then possibly a shorter one with another gap.
struct Pipeline {
  double fill = 0;  ///< sum over stations of pass and latency
  double gap = 0, trip = 0;
  int slots = 8;
  std::int64_t slices = 1;
  double tail_gap = 0;  ///< of a last, shorter slice; 0: there is none
};
double pipeline_makespan(const Pipeline& pipeline);

}  // namespace fabricast
