// Stations of a channel: from shares of links to the services of a timed event graph.
#pragma once

#include "fabricast/protocol/costs.hpp"
#include "loads.hpp"
#include "sharing.hpp"
#include "timing.hpp"

namespace fabricast {

/// A channel's time, and its parts.
struct ChannelTime {
  double makespan = 0;
  double work = 0;        ///< of its busiest station
  double latency = 0;     ///< makespan with empty slices
  double transfer = 0;    ///< its data through its narrowest place
  bool by_proxy = false;  ///< the busiest station is the proxy thread
};

/// What the stations of one channel need to know of the network.
struct ChannelView {
  const Communicator& comm;
  const Plan& plan;
  const ProtocolCosts& costs;
  const Loads& loads;
  const std::vector<bool>& open;
  int channel = 0;
  double rate = 0;          ///< its share, B/s of payload
  bool by_network = false;  ///< a link binds it, not its own threads
};

ChannelTime time_channel(const ChannelView& view);

}  // namespace fabricast
