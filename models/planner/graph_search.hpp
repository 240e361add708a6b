// One search of NCCL: channels of given bandwidth, path types and pattern through a system [NCCL-search].
//
// The search is depth first, as in NCCL. A channel takes its bandwidth from every link that it crosses, the next
// channel is searched for in the remaining bandwidth, and the best result is kept. The number of steps is limited as in
// NCCL, because the limit affects what is found on large or irregular nodes.
#pragma once

#include <memory>

#include "nccl_system.hpp"

namespace fabricast {

enum class SearchPattern { balanced_tree = 1, split_tree, tree, ring, nvls, collnet_direct };

/// The constraints of a search, and the channels found so far.
struct SearchState {
  SearchPattern pattern = SearchPattern::ring;
  int cross_nic = 0;
  bool collnet = false;
  int min_channels = 1, max_channels = 32;
  bool same_channels = true;
  PathType type_intra = PathType::LOC, type_inter = PathType::PIX;
  double bw_intra = 0, bw_inter = 0;
  double latency_inter = 0;
  int channels = 0;
  double hops = 0;
  std::vector<int> gpus;  ///< by channel
  std::vector<int> nets;  ///< entry and exit by channel
};

/// Searches of one system, which share tables. Not thread-safe.
class GraphSearch {
 public:
  explicit GraphSearch(NcclSystem& system);
  ~GraphSearch();
  GraphSearch(const GraphSearch&) = delete;
  GraphSearch& operator=(const GraphSearch&) = delete;

  /// Runs one search. \param wanted  constraints, without channels
  /// \param best  replaced by a better result
  /// \param time  remaining steps; set to -1 if no better result is possible
  void run(const SearchState& wanted, SearchState& best, int& time);

  struct Cache;

 private:
  std::unique_ptr<Cache> cache_;
};

}  // namespace fabricast
