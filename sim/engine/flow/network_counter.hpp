// Counts the connections of a plan on the links of a fabric. Each is hashed twice: to count it, and where a channel is
// timed, to see how crowded its way is. Paths are not stored. Connections that have one way only, as those below a leaf,
// are counted once for all channels that have them.
#pragma once

#include <map>

#include "fabricast/collective/algorithm.hpp"
#include "fabricast/engine/network.hpp"
#include "signatures.hpp"

namespace fabricast {

/// Refers to all that it is made of, but the plan.
class NetworkCounter {
 public:
  NetworkCounter(const Communicator& comm, const Plan& plan, const Fabric& fabric, const Router& router,
                 const NetworkSegment& segment, double tree_weight);
  /// Adds the groups of the fabric's links, and the channels that are blocked.
  void count(Loads& loads);
  bool uses(LinkId link) const;
  const EdgeGroups& edges(std::uint32_t channel);
  /// s; mean over the connections of a channel.
  double mean_latency(std::uint32_t channel) const { return mean_latency_[channel]; }

 private:
  /// How many paths, and their latencies together, s.
  struct Tally {
    double latency = 0;
    std::uint64_t paths = 0;
  };
  /// What channels with the same connections have in common.
  struct EdgeSet {
    std::vector<std::pair<std::uint32_t, std::uint64_t>> settled;  ///< connections with one way only, by resource
    Tally tally;                                                   ///< of these
    std::vector<std::pair<std::size_t, NetworkEdge>> open;         ///< the others, with their numbers
  };
  /// Connections of a channel, with their numbers.
  template <class Use>
  void for_each_edge(std::uint32_t channel, Use use);
  /// All flows of an edge: one per queue pair.
  template <class Use>
  void for_each_path(std::uint32_t channel, std::size_t edge_index, const NetworkEdge& edge, Use use);
  [[noreturn]] void cut(const Flow& flow) const;
  void count_channel(std::uint32_t channel);
  /// All queue pairs of an edge, or one path.
  void count_path(const Path& path, std::uint64_t connections);
  void count_edge(std::uint32_t channel, std::size_t edge_index, const NetworkEdge& edge, Tally& tally);
  const EdgeSet& set_of(std::uint32_t channel);
  void count_trees(std::uint32_t channel, Tally& tally);
  /// The signature of a resource that nobody has used yet.
  std::uint32_t root_of(std::uint32_t resource);
  void collect_groups(Loads& loads);
  void see(std::uint32_t channel, EdgeGroups& out);

  static constexpr double weight_unit = 0x1p-20;
  const Communicator& comm_;
  const Plan plan_;
  const CollectiveAlgorithm& algorithm_;
  const Fabric& fabric_;
  const Router& router_;
  const NetworkSegment& segment_;
  std::uint32_t queue_pairs_;
  double tree_weight_;  ///< connections that a reducing tree counts for on its links
  bool weighted_ = false;
  std::vector<bool> blocked_;
  Signatures signatures_;
  static constexpr std::uint32_t untouched = no_group;
  std::vector<std::uint32_t> signature_;  ///< by resource
  std::vector<std::uint32_t> used_;       ///< resources that have a signature
  std::vector<std::uint32_t> touched_, group_of_;
  std::vector<std::uint64_t> count_;
  std::vector<double> crowd_, mean_latency_;
  std::map<int, EdgeSet> sets_;   ///< by number, while channels are counted
  std::vector<EdgeGroups> seen_;  ///< by channel; empty: not asked for yet
  Path path_;
};

}  // namespace fabricast
