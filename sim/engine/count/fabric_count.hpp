// How many connections of every channel cross each link of a fabric, folded: what holds for one draw of the network,
// whatever the rates of its links. Paths are not stored.
//
//   m_lc = sum over connections e of channel c   w_e / (Q W)  x  | queue pairs q of e whose path crosses l |        (1)
//
// w_e is the weight of e, how many messages it carries for one of another; W what an edge with a whole message weighs,
// and Q how many queue pairs a connection has. A path that is spread over links counts on each by its part.
//
// Channels are counted on several threads. Where most links are crossed and no count is large, a byte counts a channel
// on a link, and links with the same bytes are alike; else there is a list of what is crossed. Counts are whole numbers
// and groups are numbered by their lowest link, so what comes out depends on neither the way nor the number of threads
// [solver-study-3].
#pragma once

#include <memory>
#include <span>

#include "channel_count.hpp"
#include "channel_planes.hpp"
#include "edge_sets.hpp"
#include "group_map.hpp"

namespace fabricast {

/// Refers to all that it is made of while it counts, and to nothing later.
class FabricCount {
 public:
  struct Input {
    const Communicator& comm;
    const Plan& plan;
    const Fabric& fabric;
    const Router& router;
    const NetworkSegment& segment;
    double tree_weight = 1;  ///< connections that a reducing tree counts for on its links
    std::size_t threads = 1;
  };
  /// \param sets  null: every channel is counted by itself, ports too
  /// \throws UserError if a connection has no path, and no fault ends
  FabricCount(const Input& input, std::shared_ptr<const EdgeSets> sets);
  /// Of what has been counted elsewhere, by channel, ports too.
  /// \param weighted  counts are in units of parts of connections
  FabricCount(const Input& input, std::vector<ChannelCount> counts, std::vector<bool> blocked, bool weighted);

  /// Links of one kind with the same connections of every channel.
  struct Group {
    std::uint32_t resource = 0;  ///< the lowest of them
    std::uint32_t members = 0;
    std::uint32_t shape = 0;        ///< of its connections
    std::uint32_t next = no_group;  ///< an earlier group of the same shape, but of another kind of links
    std::uint64_t kind = 0;
  };
  const std::vector<Group>& groups() const { return groups_; }  ///< by lowest resource
  /// By channel.
  std::span<const double> connections(const Group& group) const { return shapes_.of(group.shape); }
  /// no_group: nobody uses the resource.
  std::uint32_t group_of(std::uint32_t resource) const { return groups_of_.find(resource); }
  /// Calls use(resource, group) for all that are crossed, rising.
  template <class Use>
  void for_each(Use use) const {
    groups_of_.for_each(use);
  }
  /// Null where every channel was counted by itself.
  const EdgeSets* sets() const { return sets_.get(); }
  const std::vector<bool>& blocked() const { return blocked_; }
  /// Paths and reducing trees of a channel that are equally long; none of one that is counted by its edge set.
  struct Trips {
    Flow first;          ///< takes one of them, if they are paths
    double latency = 0;  ///< s, where they were counted
    std::uint64_t count = 0;
  };
  std::span<const Trips> trips(std::uint32_t channel) const { return trips_[channel]; }

 private:
  /// \returns false where this way does not do, and nothing is counted
  bool count_in_closed_form(const Input& input);
  bool count_in_planes(const Input& input);
  template <std::size_t W>
  void collect_planes(const Input& input, const ChannelPlanes& planes);
  void count_by_channel(const Input& input);
  void collect_channels(const Input& input, std::vector<ChannelCount>& counts, double unit);
  std::uint32_t find_shape(std::span<const double> connections);
  std::uint32_t find_group(std::uint64_t kind, std::uint32_t shape, std::uint32_t resource);
  void collect(const Input& input, std::uint32_t resource, std::span<const double> connections);
  void collect_ports(const Input& input, double unit);

  std::shared_ptr<const EdgeSets> sets_;
  std::size_t channels_ = 0;
  GroupMap groups_of_;
  std::vector<Group> groups_;
  RowNumbers<double> shapes_;              ///< connections by channel
  std::vector<std::uint32_t> last_group_;  ///< by shape
  std::vector<bool> blocked_;
  std::vector<std::vector<Trips>> trips_;  ///< by channel
};

/// Links of one kind have the same rate whatever the hardware.
std::uint64_t kind_of(const FabricCount::Input& input, std::uint32_t resource, bool port);

}  // namespace fabricast
