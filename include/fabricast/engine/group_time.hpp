// One call of one group of ranks, channel by channel: its time alone, and how that hangs on what its channels get of
// links that others use as well. What a step is put together from.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
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

/// How often the connections of a group cross each link of the fabric (sim/engine/flow/count_store.hpp).
class SharedCount;

struct GroupTime {
  CollectiveResult result;
  std::vector<ChannelPace> channels;  ///< one for all where one stream stands for all channels
  std::vector<InsideUse> inside;
  /// Rate of a channel at which one of its connections has 1 B/s of a link: links are fair to connections.
  double weight = 1;
  double longest = 0;  ///< s; of the channels at the rates of the start
  std::shared_ptr<const SharedCount> crossed;  ///< at the start; null inside a node
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
/// Calls use(all of a resource, by channel), by rising resource.
/// \param crossed  what time_group has counted of the same plan and router, or null
/// \throws UserError if a connection has no path
void for_each_fabric_use(const NetworkSetup& setup, const Router& router, const Plan& plan, const SharedCount* crossed,
                         const std::function<void(std::span<const FabricUse>)>& use);

}  // namespace fabricast
