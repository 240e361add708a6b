// A channel's time at given shares of the links, and how it changes with its own share r, in B/s.
//
//   T(r') = T(r) + sum over whole and last slices of  n ( max( g, b / r' ) - max( g, b / r ) ),   at least B / r'   (1)
//
// There are n slices of b bytes, and GPUs and proxy threads need g for each; B is what the channel moves in all. T(r)
// comes from a timed event graph (timing.hpp). (1) spares running it again whenever another channel ends.
#pragma once

#include <algorithm>

#include "services.hpp"

namespace fabricast {

/// Slices of one size that a channel sends one after the other.
struct Pace {
  double count = 0;    ///< of slices, all steps of the algorithm counted
  double least = 0;    ///< s per slice of GPUs and proxy threads, whatever the share
  double bytes = 0;    ///< of a slice; 0 if no share of the network binds it
  double payload = 0;  ///< of a slice, whatever binds it: counts where others take part of the share

  double seconds(double rate) const { return count > 0 ? count * std::max(least, bytes / rate) : 0; }
};

struct ChannelTime {
  double makespan = 0;     ///< s
  double work = 0;         ///< s, of its busiest station
  double latency = 0;      ///< s, its makespan with empty slices (if less than `transfer`: what that adds)
  double transfer = 0;     ///< s, its data through its share (if less than `latency`: what that adds)
  bool by_proxy = false;   ///< the busiest station is the proxy thread; of sends and receives: it is seldom idle
  bool by_kernel = false;  ///< it is a kernel for symmetric memory, and no link is slower than NCCL's estimate
  double rate = 0;         ///< the share all this holds for, B/s
  Pace whole, tail;

  /// The makespan at another share: only the pace of the slices changes.
  double makespan_at(double other) const {
    const double paced =
        makespan + whole.seconds(other) - whole.seconds(rate) + tail.seconds(other) - tail.seconds(rate);
    return std::max(paced, bytes > 0 ? bytes / other : 0);
  }
  double bytes = 0;  ///< of payload that it moves in all; 0 on one node, where nothing crosses the fabric
};

/// Without the parts that only a report needs: latency, transfer.
ChannelTime time_channel(const ChannelView& view);
/// Adds those parts.
void split_time(const ChannelView& view, ChannelTime& time);

}  // namespace fabricast
