// What is known of a plan's connections independently of the seed of the network and the rates of its links.
//
// Channels of one *edge set* have the same connections (collective/algorithm.hpp). Connections below a leaf have only
// one path, and the ports where connections begin and end do not depend on the seed. Both are counted here, once for
// all channels, seeds and hardware. Only the paths between leaves remain open.
//
//   ports(p, s)   = sum over connections e of set s that begin or end at port p  of  w_e
//   between(l, s) = sum over those whose path is settled and crosses l           of  w_e                            (1)
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "fabricast/collective/algorithm.hpp"
#include "fabricast/engine/network.hpp"
#include "row_numbers.hpp"

namespace fabricast {

/// A connection whose path depends on its queue pairs.
struct OpenEdge {
  std::uint32_t from = 0, to = 0;  ///< endpoints
  std::uint32_t weight = 1;
  std::uint32_t odd = 0;  ///< its number among the channel's connections, modulo 2
};

struct EdgeSet {
  std::vector<OpenEdge> open;
  /// Resources between ports on settled paths, and how often they are crossed; in ascending order.
  std::vector<std::pair<std::uint32_t, std::uint64_t>> between;
};

struct DirectPaths;

class EdgeSets {
 public:
  /// Null if the algorithm has no edge sets, or if paths may not end at ports (Router::ends_at_ports).
  /// \throws UserError if a connection has no path
  static std::shared_ptr<const EdgeSets> of(const Communicator& comm, const Plan& plan, const Fabric& fabric,
                                            const Router& router, std::size_t threads);

  const EdgeSet& of_channel(std::uint32_t channel) const { return sets_[number_[channel]]; }
  /// Calls use(port link, number of its counts), in ascending order of links.
  template <class Use>
  void for_each_port(Use use) const {
    for (const auto& [port, counts] : ports_) use(port, counts);
  }
  std::uint32_t port_kinds() const { return counts_.size(); }
  /// Connections by set, of the ports whose counts have this number.
  std::span<const std::uint64_t> port_counts(std::uint32_t number) const { return counts_.of(number); }
  std::uint32_t set_of(std::uint32_t channel) const { return number_[channel]; }
  /// Approximate number of crossings between ports of a channel, for one queue pair of each connection. It selects the
  /// cheapest method of counting; counts do not depend on it.
  std::uint64_t crossings() const;
  /// The routes below leaves of a channel's set, from make() at the first request. Groups of ports have the same
  /// numbers in all counts of these sets, so the routes of one hold for all. Safe to use from several threads.
  template <class Make>
  std::shared_ptr<const DirectPaths> direct_paths(std::uint32_t channel, Make make) const {
    const std::scoped_lock lock(mutex_);
    std::shared_ptr<const DirectPaths>& routes = direct_paths_[number_[channel]];
    if (!routes) routes = make();
    return routes;
  }

 private:
  std::vector<std::uint32_t> number_;  ///< number of the set, by channel
  std::vector<EdgeSet> sets_;
  RowNumbers<std::uint64_t> counts_{1};
  std::vector<std::pair<std::uint32_t, std::uint32_t>> ports_;
  mutable std::mutex mutex_;
  mutable std::map<std::uint32_t, std::shared_ptr<const DirectPaths>> direct_paths_;  ///< by number of the set
};

/// The flow of a queue pair of a connection. Queue pairs are numbered by channel and by the parity of the edge.
Flow flow_between(const Communicator& comm, std::uint32_t from, std::uint32_t to, std::uint32_t channel,
                  std::uint32_t odd, std::uint32_t pair);
/// \throws UserError that names the ends of a flow without a path, and the faults that are in force
[[noreturn]] void throw_cut(const Fabric& fabric, const NetworkSegment& segment, const Flow& flow);

}  // namespace fabricast
