// One search of NCCL's: channels of given speeds, path types and pattern through a system [NCCL-search].
//
// Depth first, as NCCL does it: a channel takes its bandwidth off every link it crosses, the next channel is looked for
// in what is left, and what is better than the best so far is kept. The number of steps is limited as in NCCL, because
// the limit decides what is found on large or irregular nodes.
#pragma once

#include <memory>

#include "nccl_system.hpp"

namespace fabricast {

enum class SearchPattern { balanced_tree = 1, split_tree, tree, ring, nvls, collnet_direct };

/// What is looked for, and what has been found so far.
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
  std::vector<int> nets;  ///< in and out by channel
};

class GraphSearch {
 public:
  explicit GraphSearch(NcclSystem& system);
  ~GraphSearch();
  GraphSearch(const GraphSearch&) = delete;
  GraphSearch& operator=(const GraphSearch&) = delete;

  /// \param wanted what to look for, with no channels yet
  /// \param best replaced by what is better
  /// \param time steps left; -1 if nothing better can be found
  void run(const SearchState& wanted, SearchState& best, int& time);

  struct Cache;

 private:
  std::unique_ptr<Cache> cache_;
};

}  // namespace fabricast
