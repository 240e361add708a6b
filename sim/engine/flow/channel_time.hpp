// A channel's time at given shares of the links.
#pragma once

#include "services.hpp"

namespace fabricast {

struct ChannelTime {
  double makespan = 0;    ///< s
  double work = 0;        ///< s, of its busiest station
  double latency = 0;     ///< s, makespan with empty slices
  double transfer = 0;    ///< s, its data through its narrowest place
  bool by_proxy = false;  ///< the busiest station is the proxy thread
};

ChannelTime time_channel(const ChannelView& view);

}  // namespace fabricast
