// The time of a channel at given shares of the links, and how it changes with the channel's own share r, in B/s.
//
//   T(r') = T(r) + sum over whole and last slices of  n ( max( g, b / r' ) - max( g, b / r ) ),   at least B / r'   (1)
//
// There are n slices of b bytes, GPUs and proxy threads need g for each, and B is the total that the channel moves.
// T(r) comes from a timed event graph (timing.hpp). With (1) the graph need not run again whenever another channel
// ends.
#pragma once

#include <algorithm>

#include "services.hpp"

namespace fabricast {

/// Slices of one size that a channel sends one after the other.
struct Pace {
  double count = 0;    ///< number of slices over all steps of the algorithm
  double least = 0;    ///< s per slice; GPUs and proxy threads, whatever the share
  double bytes = 0;    ///< B of a slice; 0 if the share does not bind it
  double payload = 0;  ///< B of a slice, whatever binds it; used when others take part of the share

  /// s; all slices at a rate in B/s.
  double seconds(double rate) const { return count > 0 ? count * std::max(least, bytes / rate) : 0; }
};

struct ChannelTime {
  double makespan = 0;     ///< s
  double work = 0;         ///< s; of its busiest station
  double latency = 0;      ///< s; makespan with empty slices (if less than `transfer`: what it adds)
  double transfer = 0;     ///< s; its data at its share (if less than `latency`: what it adds)
  bool by_proxy = false;   ///< the busiest station is the proxy thread; sends and receives: it is seldom idle
  bool by_kernel = false;  ///< a kernel for symmetric memory binds, and no link is slower than NCCL's estimate
  double rate = 0;         ///< B/s; the share for which all this holds
  Pace whole, tail;

  /// s; (1), the makespan at another share: only the pace of the slices changes.
  double makespan_at(double other) const {
    const double paced =
        makespan + whole.seconds(other) - whole.seconds(rate) + tail.seconds(other) - tail.seconds(rate);
    return std::max(paced, bytes > 0 ? bytes / other : 0);
  }
  double bytes = 0;  ///< B; total payload; 0 on a single node, where nothing crosses the fabric
};

/// B; payload of a connection of a stream, all slices together.
double payload_of(const Stream& stream);

/// The time of a channel, without the parts that only a report needs: latency and transfer.
ChannelTime time_channel(const ChannelView& view);
/// Adds those parts.
void split_time(const ChannelView& view, ChannelTime& time);

}  // namespace fabricast
