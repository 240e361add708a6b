// How many connections of every channel cross each link of a fabric, folded. The counts hold for one seed of the
// network, whatever the rates of its links. Paths are not stored.
//
//   m_lc = sum over connections e of channel c   w_e / (Q W)  x  | queue pairs q of e whose path crosses l |        (1)
//
// w_e is the weight of e, the number of messages that it carries relative to other edges; W is the weight of a whole
// message; Q is the number of queue pairs of a connection. A path that is spread over links counts on each with its
// fraction.
//
// Channels are counted on several threads. If most links are crossed and no count is large, a byte counts a channel on
// a link, and links with the same bytes are alike. Else there is a list of what is crossed. Counts are integers, and
// groups are numbered by their lowest link, so the result depends neither on the method nor on the number of threads
// [solver-study-3].
#pragma once

#include <memory>
#include <span>

#include "channel_count.hpp"
#include "channel_planes.hpp"
#include "edge_sets.hpp"
#include "group_map.hpp"

namespace fabricast {

/// The count of a plan. It refers to its input only during construction.
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
  /// \param sets  null: every channel is counted separately, ports included
  /// \throws UserError if a connection has no path and the faults do not end
  FabricCount(const Input& input, std::shared_ptr<const EdgeSets> sets);
  /// From counts that were made elsewhere, by channel, ports included.
  /// \param weighted  counts are in `weight_unit` (crossings.hpp)
  FabricCount(const Input& input, std::vector<ChannelCount> counts, std::vector<bool> blocked, bool weighted);

  /// Links of one kind with the same connections of every channel.
  struct Group {
    std::uint32_t resource = 0;  ///< the lowest of them
    std::uint32_t members = 0;
    std::uint32_t shape = 0;        ///< number of its row of connections
    std::uint32_t next = no_group;  ///< an earlier group of the same shape with another kind of links
    std::uint64_t kind = 0;         ///< kind_of
  };
  const std::vector<Group>& groups() const { return groups_; }  ///< in the order of their lowest resources
  /// Connections on a link of the group, by channel.
  std::span<const double> connections(const Group& group) const { return shapes_.of(group.shape); }
  /// The group of a resource; no_group: no channel uses it.
  std::uint32_t group_of(std::uint32_t resource) const { return groups_of_.find(resource); }
  /// Calls use(resource, group) for all resources that are crossed, in ascending order.
  template <class Use>
  void for_each(Use use) const {
    groups_of_.for_each(use);
  }
  /// Null if every channel was counted separately.
  const EdgeSets* sets() const { return sets_.get(); }
  /// By channel: whether one of its connections waits for the end of a fault.
  const std::vector<bool>& blocked() const { return blocked_; }
  /// Paths and reducing trees of a channel with equal latencies. A channel that is counted by its edge set has none.
  struct Trips {
    Flow first;          ///< a flow that takes one of them, if they are paths
    double latency = 0;  ///< s, on the hardware on which they were counted
    std::uint64_t count = 0;
  };
  std::span<const Trips> trips(std::uint32_t channel) const { return trips_[channel]; }

 private:
  /// \returns false if this method does not apply; then nothing is counted
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

/// The kind of a resource. Links of one kind have the same rate as each other on any hardware that the count serves.
std::uint64_t kind_of(const FabricCount::Input& input, std::uint32_t resource, bool port);

}  // namespace fabricast
