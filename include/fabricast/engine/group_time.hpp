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
    std::int64_t count = 0;  ///< all steps of the algorithm counted
    Seconds least;           ///< per slice, of GPUs and proxy threads, whatever the share
    Bytes payload;           ///< of a slice
    Seconds seconds(BytesPerSecond rate) const {
      return count > 0 ? static_cast<double>(count) * std::max(least, payload / rate) : Seconds{};
    }
  };
  Seconds makespan;     ///< alone
  BytesPerSecond rate;  ///< of one connection's payload, alone
  BytesPerSecond cap;   ///< the same that its own threads allow
  Slices whole, tail;

  /// Payload of one connection, all slices together.
  Bytes payload() const { return whole.count * whole.payload + tail.count * tail.payload; }
  /// The makespan at another rate.
  Seconds at(BytesPerSecond other) const {
    return makespan + whole.seconds(other) - whole.seconds(rate) + tail.seconds(other) - tail.seconds(rate);
  }
};

/// A link inside a NCCL node, and what the channels take of it.
struct InsideUse {
  std::uint32_t node = 0;   ///< of the communicator: the first of its role, or one with a fault of its own
  std::uint16_t link = 0;   ///< of the node graph
  std::vector<double> use;  ///< by channel: parts of the link's rate for each B/s of payload
};

/// How often the connections of a group cross each link of the fabric (sim/engine/count/count_store.hpp).
class SharedCount;

struct GroupTime {
  CollectiveResult result;
  std::vector<ChannelPace> channels;  ///< one for all where one stream stands for all channels
  std::vector<InsideUse> inside;
  /// Rate of a channel at which one of its connections has 1 B/s of a link: links are fair to connections.
  double weight = 1;
  Seconds longest;                             ///< of the channels at the rates of the start
  std::shared_ptr<const SharedCount> crossed;  ///< at the start; null inside a node
};

/// As the flow engine runs the plan, alone on its network.
/// \param router  of the first segment and this seed, if there is one already: thousands of groups share it
GroupTime time_group(const NetworkSetup& setup, const Plan& plan, std::uint64_t seed, const Router* router = nullptr);

/// How many connections of a group's channels cross the fabric's links. Links that look alike to them are one kind.
class FabricConnections {
 public:
  struct OfChannel {
    std::uint32_t channel = 0;
    double connections = 0;
  };
  /// \param crossed  what time_group has counted of the same plan and router, or null
  /// \throws UserError if a connection has no path
  FabricConnections(const NetworkSetup& setup, const Router& router, const Plan& plan,
                    std::shared_ptr<const SharedCount> crossed);

  std::uint32_t kinds() const { return static_cast<std::uint32_t>(first_.size() - 1); }
  /// By channel.
  std::span<const OfChannel> of(std::uint32_t kind) const {
    return std::span(all_).subspan(first_[kind], first_[kind + 1] - first_[kind]);
  }
  /// The lowest resource of a kind, and what all of the same rate, whatever the hardware, have in common.
  std::uint32_t lowest(std::uint32_t kind) const { return links_[kind].lowest; }
  std::uint64_t rate_kind(std::uint32_t kind) const { return links_[kind].rate_kind; }
  /// Calls use(resource, kind) by rising resource of the router: a link or a bundle.
  void for_each(const std::function<void(std::uint32_t, std::uint32_t)>& use) const;

 private:
  struct Links {
    std::uint32_t lowest = 0;
    std::uint64_t rate_kind = 0;
  };
  std::shared_ptr<const SharedCount> crossed_;
  std::vector<OfChannel> all_;
  std::vector<std::uint32_t> first_;  ///< in all_, by kind; one entry more
  std::vector<Links> links_;          ///< by kind
};

/// What a connection takes of a resource is the bytes there for each of payload, over the resource's rate: parts of
/// the rate for each B/s of payload.
double wire_bytes(const NetworkSetup& setup, const Plan& plan);
BytesPerSecond resource_rate(const NetworkSetup& setup, const Router& router, std::uint32_t resource);

}  // namespace fabricast
