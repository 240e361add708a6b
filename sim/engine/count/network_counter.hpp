// The groups of a fabric's links at their rates, and what the connections of a channel see of them. How often channels
// cross links is counted elsewhere (fabric_count.hpp). When a channel is timed, its connections are hashed again, for
// the groups on their routes (edge_routes.hpp). With contention(g) in connections per B/s (loads.hpp),
//
//   view(e): group = argmax over all g on the path of e of contention(g),  middle = the same between switches,
//            latency = max over its queue pairs, and NetworkSegment::queue                                          (1)
//
// Views are computed on request, so only const functions are safe to call concurrently.
#pragma once

#include "count_store.hpp"

namespace fabricast {

/// Refers to its arguments, except the plan, which it copies.
class NetworkCounter {
 public:
  NetworkCounter(const Communicator& comm, const Plan& plan, const Fabric& fabric, const Router& router,
                 const NetworkSegment& segment, std::shared_ptr<SharedCount> count, std::size_t threads);
  /// Adds the groups of the fabric's links, and which channels are blocked.
  void add_groups(Loads& loads);
  bool uses(LinkId link) const;
  std::shared_ptr<SharedCount> counted() const { return count_; }
  const EdgeGroups& edges(std::uint32_t channel);
  /// Null if there are too many.
  const EdgePaths* edge_paths();
  /// s per byte on the wire; the slowest link of a connection that is alone. \pre edge_paths() is not null
  double slowest_link(std::uint32_t channel, std::size_t edge) const { return slowest_links_[channel][edge]; }
  /// The sum of slowest_link over the connections of each channel; empty if there are too many.
  const std::vector<double>& slowest_on_paths();
  /// B/s, by number of the link in edge_paths().
  const std::vector<double>& edge_rates() const { return edge_rates_; }
  /// Null if the algorithm is not PAT.
  std::shared_ptr<const PatContentions> pat_contentions() const { return count_->pat_contentions(); }
  std::size_t threads() const { return threads_; }
  double rate(std::uint32_t resource) const { return rate_of(fabric_, router_, segment_, resource); }  ///< B/s
  /// s; latency of a flow's path; 0 if it has none.
  double latency(const Flow& flow) const {
    Path path;
    return router_.route(flow, path) ? path.latency.value + segment_.queue.value : 0;
  }
  /// s; mean over the paths and reducing trees of a channel; 0 if it is counted by its edge set.
  double mean_latency(std::uint32_t channel) const;

 private:
  FabricCount::Input input() const { return {comm_, plan_, fabric_, router_, segment_, 1, threads_}; }
  void see(std::uint32_t channel, EdgeGroups& out);
  double slowest_link(const EdgePaths::Edge& edge) const;
  EdgeGroups::View view_of(const EdgeRoutes& routes, const EdgeRoutes::Route& route) const;

  const Communicator& comm_;
  const Plan plan_;
  const Fabric& fabric_;
  const Router& router_;
  const NetworkSegment& segment_;
  std::shared_ptr<SharedCount> count_;
  std::size_t threads_;
  std::vector<std::uint32_t> group_of_;  ///< by group of the count
  std::vector<double> contention_;       ///< by group
  std::vector<EdgeGroups> seen_;         ///< by channel; empty: not requested yet
  std::optional<const EdgePaths*> edge_paths_;
  std::vector<double> edge_rates_;
  std::vector<std::vector<double>> slowest_links_;  ///< by channel and connection
  std::vector<double> slowest_on_paths_;
};

}  // namespace fabricast
