// The time of one call of one group of ranks, channel by channel: alone on its network, and as a function of the rates
// that its channels get of links that others use as well. Steps are composed of these times (traffic/traffic.hpp).
//
// A *channel* here is a stream of the flow engine. Its *rate* is the payload rate of one of its connections, in bytes
// per second. A *resource* is a link of the fabric or a bundle of links (routing/routing.hpp).
//
// The functions are safe to call concurrently on different setups. FabricConnections is immutable.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "fabricast/engine/background.hpp"
#include "fabricast/engine/engine.hpp"

namespace fabricast {

/// The time of a channel as a function of its rate. The makespan comes from the flow engine. At another rate, each of
/// the channel's slices takes longer or shorter:
///
///     T(r') = T(r) + sum over whole and tail slices of  n ( max(g, b / r') - max(g, b / r) )
///
/// with n slices of b bytes, for which GPUs and proxy threads need g.
struct ChannelPace {
  /// Slices of one size.
  struct Slices {
    std::int64_t count = 0;  ///< over all steps of the algorithm
    Seconds least;           ///< g: time per slice of GPUs and proxy threads, independent of the rate
    Bytes payload;           ///< b: of a slice
    /// The time of all slices at a rate.
    Seconds seconds(BytesPerSecond at) const {
      return count > 0 ? static_cast<double>(count) * std::max(least, payload / at) : Seconds{};
    }
  };
  Seconds makespan;     ///< at `rate`
  BytesPerSecond rate;  ///< when the group is alone on the network
  BytesPerSecond cap;   ///< maximum rate that the channel's own threads allow
  Slices whole, tail;   ///< slices of full size, and those of the last loop

  /// Payload of one connection: the sum of all slices.
  Bytes payload() const { return whole.count * whole.payload + tail.count * tail.payload; }
  /// The makespan at another rate.
  Seconds at(BytesPerSecond other) const {
    return makespan + whole.seconds(other) - whole.seconds(rate) + tail.seconds(other) - tail.seconds(rate);
  }
};

/// The use of one link inside an NCCL node.
struct InsideUse {
  std::uint32_t node = 0;   ///< of the communicator: the first of its role, or one with a fault
  std::uint16_t link = 0;   ///< of the node graph
  std::vector<double> use;  ///< by channel: fraction of the link's rate per B/s of payload
};

/// How often the connections of a group cross each link of the fabric (sim/engine/count/count_store.hpp).
class SharedCount;

/// The result of time_group.
struct GroupTime {
  CollectiveResult result;
  std::vector<ChannelPace> channels;  ///< one for all channels where a single stream represents them
  std::vector<InsideUse> inside;
  /// Rate of a channel at which one of its connections takes 1 B/s of a link. Links are fair to connections, so this is
  /// the weight of a channel in max-min sharing.
  double weight = 1;
  Seconds longest;                             ///< maximum of the channels' makespans at their initial rates
  std::shared_ptr<const SharedCount> crossed;  ///< counts in the first segment; null if nothing crosses the fabric
};

/// Times a plan with the flow engine, alone on its network.
/// \param router  of the first segment and this seed, to be shared by many groups; null: the function makes its own
/// \throws UserError and Interrupted like NetworkEngine::run
GroupTime time_group(const NetworkSetup& setup, const Plan& plan, std::uint64_t seed, const Router* router = nullptr);

/// How many connections of a group's channels cross each link of the fabric. A *kind* is a set of links with the same
/// counts. Links may be millions, but kinds are few.
class FabricConnections {
 public:
  /// The connections of one channel on each link of a kind.
  struct OfChannel {
    std::uint32_t channel = 0;
    double connections = 0;
  };
  /// \param crossed  the count that time_group has returned for the same plan and router, or null: count now
  /// \throws UserError if a connection has no path
  FabricConnections(const NetworkSetup& setup, const Router& router, const Plan& plan,
                    std::shared_ptr<const SharedCount> crossed);

  /// The number of kinds.
  std::uint32_t kinds() const { return static_cast<std::uint32_t>(first_.size() - 1); }
  /// The channels with connections on links of a kind, in ascending order.
  std::span<const OfChannel> of(std::uint32_t kind) const {
    return std::span(all_).subspan(first_[kind], first_[kind + 1] - first_[kind]);
  }
  /// The lowest resource of a kind.
  std::uint32_t lowest(std::uint32_t kind) const { return links_[kind].lowest; }
  /// A number that is equal for kinds whose links have the same rate, on any hardware.
  std::uint64_t rate_kind(std::uint32_t kind) const { return links_[kind].rate_kind; }
  /// Whether links of a kind carry connections of several NIC ports of the group, and NetworkSegment::contended is
  /// below 1: then they carry that fraction of their rate.
  bool contended(std::uint32_t kind) const { return links_[kind].contended; }
  /// Calls use(resource, kind) for every resource with connections, in ascending order of resources.
  void for_each(const std::function<void(std::uint32_t, std::uint32_t)>& use) const;

 private:
  struct Links {
    std::uint32_t lowest = 0;
    std::uint64_t rate_kind = 0;
    bool contended = false;
  };
  std::shared_ptr<const SharedCount> crossed_;
  std::vector<OfChannel> all_;
  std::vector<std::uint32_t> first_;  ///< in all_, by kind; one entry more
  std::vector<Links> links_;          ///< by kind
};

// A connection uses  wire_bytes / resource_rate  of a resource: the fraction of its rate per B/s of payload.

/// Bytes on the wire per byte of payload, for the plan's protocol.
double wire_bytes(const NetworkSetup& setup, const Plan& plan);
/// The rate of a resource in the first segment.
BytesPerSecond resource_rate(const NetworkSetup& setup, const Router& router, std::uint32_t resource);
/// Whether a resource connects switches, rather than a NIC port and a switch.
bool between_switches(const Fabric& fabric, std::uint32_t resource);
/// Adds the paths of a plan's connections, one for each queue pair (Background::FlowPath). Its items are the channels,
/// from `first_item`; `part` is bytes on the wire per byte of payload. Nothing is added for trees in which switches reduce.
/// \throws UserError if a connection has no path
void add_paths(const NetworkSetup& setup, const Router& router, const Plan& plan, std::uint32_t first_item,
               std::vector<Background::FlowPath>& paths);

}  // namespace fabricast
