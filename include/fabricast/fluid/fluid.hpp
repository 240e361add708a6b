// The network of the flow engine: fluid flows that share links max-min fairly at every instant.
//
// Notation (sharing.hpp defines the sharing):
//
//     flow f        S_f bytes, weight w_f, cap c_f on its rate, a start, and a path: links l with multiplicity m_lf
//     link l        capacity C_l, which may change at any time: degraded, down (0), up again
//     level         rate / weight; q_f of a flow, s_l of a link, infinite while the link is not full
//
// At each instant a flow runs at the least level on its path, and the level of a full link is what just fills it:
//
//     q_f = min( c_f / w_f, min over l in f of s_l )                                                                (1)
//     sum_f m_lf w_f q_f = C_l,   or less and s_l is infinite                                                       (2)
//     d(bytes left of f)/dt = -w_f q_f;   f ends when none are left                                                 (3)
//
// The link where (1) is attained is the flow's bottleneck; the flows whose bottleneck is l are its members. With W_l
// the sum of m_lf w_f over the members, and R_l what all other flows on l take,
//
//     s_l = (C_l - R_l) / W_l                                                                                       (4)
//
// is one division, as long as members stay members. A cap is a link that only its flow crosses. So the network is kept
// solved, and an event repairs what it changes and no more [solver-study-2]:
//
//     one event:
//       flows end or start, or capacities change: correct R and W of the links concerned; a flow that starts becomes a
//           member where it is offered least
//       queue each link where (4) no longer holds
//       while links are queued, take the one whose level, old or new, is the lowest: what is below it is final
//           s = (C - R) / W;  while flows on it have a level above s: make the highest of them members, and s anew
//           s_l := s;  for each link j that members of l cross, with weight n_lj there:
//               R_j += n_lj (change of s_l);  queue j if (4) does not hold there any more, or if s_j < s_l
//       a link with a new level: its clock, dV_l/dt = s_l, goes on at the new pace
//       a flow with a new bottleneck: (bytes left) / w = tag - V there; its new tag is V + (bytes left) / w here
//       next: the least, over all links, of now + (least tag - V_l) / s_l
//
// A new level costs a pass over the links that its members share with it, but none over flows, and moves no end of a
// flow in any queue. Where an event reaches too far, or many flows start at once, everything is filled anew.
//
// `tolerance`: a level that changes by less, relatively, is left as it is. 1e-12 is exact for all purposes: ends agree
// with a full filling at each event to better than 1e-12. A greater tolerance is faster, and is no bound for the error
// of an end: 16,384 dense random flows ended up to 7e-5 off with 1e-4, and up to 6e-3 with 1e-3 (on average 3e-6,
// 3e-5).
//
// Ends that are within 1e-12 of each other, relative to the time, are one event. They are reported in order of time,
// link (the bottleneck; caps last), flow. Everything is serial and nothing depends on addresses or hashes: the same
// calls give the same bits, in every build. Bytes, seconds, and bytes per second are plain doubles here, as a fluid is
// divisible.
//
// A coupled channel is a flow of weight 1 with the multiplicities of its connections, for paths of up to some thousand
// links: a flow that changes its bottleneck costs the square of the length of its path.
//
// Not modelled: latency and the time until a pipe is full; packets, headers, queues in switches and their delay; slow
// start and the convergence of congestion control (shares are fair at once); losses; lossless flow control, where a
// full link holds up flows that do not cross it; what the two directions of a cable do to each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "fabricast/core/id.hpp"
#include "fabricast/fluid/sharing.hpp"

namespace fabricast {

using FlowId = Id<struct FluidFlowTag>;  ///< in order of start(), from 0; never used again

/// One entry of a path. Entries for the same link add up.
struct FluidUse {
  std::uint32_t link = 0;
  double multiplicity = 1;  ///< > 0
};

struct FluidOptions {
  double tolerance = 1e-12;
  /// Visits per link that one event may take before everything is filled anew. Bounds the work, not the error.
  double patience = 4;
};

struct FluidEvent {
  double time = 0;
  FlowId flow;                         ///< that has ended
  std::uint32_t bottleneck = no_link;  ///< at its end; no_link: its cap
};

class FluidNetwork {
 public:
  /// \param capacities by link; >= 0, finite
  explicit FluidNetwork(std::vector<double> capacities, FluidOptions options = {});
  ~FluidNetwork();
  FluidNetwork(FluidNetwork&&) noexcept;
  FluidNetwork& operator=(FluidNetwork&&) noexcept;

  /// A flow that starts now. \pre bytes >= 0, weight > 0, cap > 0; the path is not empty or the cap is finite
  FlowId start(double bytes, std::span<const FluidUse> path, double weight = 1,
               double cap = std::numeric_limits<double>::infinity());
  /// Takes a flow out before its end, and returns the bytes left. \pre it has not ended
  double stop(FlowId flow);
  /// From now on. \pre rate >= 0, finite
  void set_capacity(std::uint32_t link, double rate);

  /// The next end that is not later than `until`, with the clock moved there; else nothing, with the clock moved to
  /// `until` if that is finite. \pre until >= now()
  std::optional<FluidEvent> advance(double until = std::numeric_limits<double>::infinity());

  double now() const;
  std::size_t active() const;            ///< flows that have not ended
  double rate(FlowId flow) const;        ///< 0 once it has ended
  double bytes_left(FlowId flow) const;  ///< 0 once it has ended
  /// no_link: its cap. \pre it has not ended
  std::uint32_t bottleneck(FlowId flow) const;

  /// Flows remain, and none of them ever ends unless capacities change.
  bool stalled() const;
  /// The links of capacity 0 that flows wait for, in order.
  std::vector<std::uint32_t> blocking_links() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace fabricast
