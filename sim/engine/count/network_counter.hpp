// The groups of a fabric's links at the rates that they have, and what the connections of a channel see of them. How
// often channels cross links is counted elsewhere (fabric_count.hpp); where a channel is timed, its connections are
// hashed once more, for the groups on their ways (edge_routes.hpp). With crowd(g), connections per B/s (loads.hpp),
//
//   view(e): group = argmax over all g on the path of e of crowd(g),  middle = the same between switches,
//            latency = max over its queue pairs                                                                     (1)
#pragma once

#include "count_store.hpp"

namespace fabricast {

/// Refers to all that it is made of, but the plan.
class NetworkCounter {
 public:
  NetworkCounter(const Communicator& comm, const Plan& plan, const Fabric& fabric, const Router& router,
                 const NetworkSegment& segment, std::shared_ptr<SharedCount> count, std::size_t threads);
  /// Adds the groups of the fabric's links, and the channels that are blocked.
  void add_groups(Loads& loads);
  bool uses(LinkId link) const;
  std::shared_ptr<const SharedCount> counted() const { return count_; }
  const EdgeGroups& edges(std::uint32_t channel);
  /// Null where there are too many.
  const EdgePaths* edge_paths();
  /// Of a connection alone: the most that one of its links takes, s per byte on the wire. \pre edge_paths() is not null
  double slowest_link(std::uint32_t channel, std::size_t edge) const;
  /// The sum of it over the connections of each channel; empty where there are too many.
  const std::vector<double>& slowest_on_paths();
  /// B/s, by number of the link in these.
  const std::vector<double>& edge_rates() const { return edge_rates_; }
  /// Of PAT; the plan's is PAT.
  std::shared_ptr<const PatContentions> pat_contentions() const { return count_->pat_contentions(); }
  std::size_t threads() const { return threads_; }
  double rate(std::uint32_t resource) const { return rate_of(fabric_, router_, segment_, resource); }  ///< B/s
  /// s; 0 without a path.
  double latency(const Flow& flow) const {
    Path path;
    return router_.route(flow, path) ? path.latency.value : 0;
  }
  /// s; mean over the paths and reducing trees of a channel; 0 if it is counted by its edge set.
  double mean_latency(std::uint32_t channel) const;

 private:
  FabricCount::Input input() const { return {comm_, plan_, fabric_, router_, segment_, 1, threads_}; }
  void see(std::uint32_t channel, EdgeGroups& out);
  EdgeGroups::View view_of(const EdgeRoutes& ways, const EdgeRoutes::Way& way) const;

  const Communicator& comm_;
  const Plan plan_;
  const Fabric& fabric_;
  const Router& router_;
  const NetworkSegment& segment_;
  std::shared_ptr<SharedCount> count_;
  std::size_t threads_;
  std::vector<std::uint32_t> group_of_;  ///< by group of the count
  std::vector<double> contention_;            ///< by group
  std::vector<EdgeGroups> seen_;         ///< by channel; empty: not asked for yet
  std::optional<const EdgePaths*> edge_paths_;
  std::vector<double> edge_rates_;
  std::vector<double> slowest_on_paths_;
};

}  // namespace fabricast
