// One call of one group of ranks, channel by channel: its time alone, and how that hangs on what its channels get of
// links that others use as well. What a step is put together from.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "fabricast/engine/engine.hpp"

namespace fabricast {

/// A channel's time as a function of its rate: of the channel as the flow engine has timed it, all its slices slower.
struct ChannelPace {
  struct Slices {
    double count = 0;    ///< all steps of the algorithm counted
    double least = 0;    ///< s per slice, of GPUs and proxy threads, whatever the share
    double payload = 0;  ///< bytes of a slice
    double seconds(double rate) const { return count > 0 ? count * std::max(least, payload / rate) : 0; }
  };
  double makespan = 0;  ///< s, alone
  double rate = 0;      ///< B/s, of one connection's payload, alone
  double cap = 0;       ///< the same that its own threads allow
  Slices whole, tail;

  double at(double other) const {
    return makespan + whole.seconds(other) - whole.seconds(rate) + tail.seconds(other) - tail.seconds(rate);
  }
};

/// A link inside a NCCL node, and what the channels take of it.
struct InsideUse {
  std::uint32_t node = 0;   ///< of the communicator: the first of its role, or one with a fault of its own
  std::uint16_t link = 0;   ///< of the node graph
  std::vector<double> use;  ///< by channel: parts of the link's rate for each B/s of payload
};

struct GroupTime {
  CollectiveResult result;
  std::vector<ChannelPace> channels;  ///< one for all where one stream stands for all channels
  std::vector<InsideUse> inside;
  /// Rate of a channel at which one of its connections has 1 B/s of a link: links are fair to connections.
  double weight = 1;
  double longest = 0;  ///< s; of the channels at the rates of the start
};

/// As the flow engine runs the plan, alone on its network.
/// \param router  of the first segment and this seed, if there is one already: thousands of groups share it
GroupTime time_group(const NetworkSetup& setup, const Plan& plan, std::uint64_t seed, const Router* router = nullptr);

/// What the channels of a group take of the fabric's links, and where: parts of the rate for each B/s of payload.
struct FabricUse {
  std::uint32_t channel = 0;
  std::uint32_t resource = 0;  ///< of the router: a link or a bundle
  double use = 0;
};
/// In order of channels, then of connections: a resource comes once for each that crosses it.
/// \throws UserError if a connection has no path
std::vector<FabricUse> fabric_use(const NetworkSetup& setup, const Router& router, const Plan& plan);
/// The same, a channel at a time, and not merged: a resource comes once for each connection on it. For those who add up
/// what all channels of a large job take.
void for_each_fabric_use(const NetworkSetup& setup, const Router& router, const Plan& plan,
                         const std::function<void(std::span<const FabricUse>)>& of_channel);

}  // namespace fabricast
