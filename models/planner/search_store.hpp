// What NCCL's search has found, for all who ask the same of nodes that are wired alike.
//
// A search takes milliseconds, and a what-if, a symptom or a draw of the hardware leaves most nodes as they were. What is
// asked is kept whole, so that nobody has to say which nodes are alike.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "fabricast/planner/graph.hpp"
#include "graph_search.hpp"

namespace fabricast {

/// All that a search depends on beside the system.
struct SearchRequest {
  SearchPattern pattern = SearchPattern::ring;
  int min_channels = 1, max_channels = 32;
  bool collnet = false;
  int cross_nic = 0;           ///< as NCCL_CROSS_NIC
  bool near_nics = false;      ///< no farther than some GPU's NIC
  std::vector<double> speeds;  ///< per channel that are tried, GB/s, falling
  bool operator==(const SearchRequest&) const = default;
};

/// Safe to use from several threads: whoever asks for what is being searched for waits.
class SearchStore {
 public:
  SearchGraph of(const NcclSystem& system, const SearchRequest& request, const std::function<SearchGraph()>& search);

 private:
  struct Known {
    SearchRequest request;
    std::mutex mutex;
    std::optional<SearchGraph> graph;
  };
  struct OfSystem {
    NcclSystem system;
    std::vector<std::unique_ptr<Known>> known;
  };

  Known& known(const NcclSystem& system, const SearchRequest& request);

  std::mutex mutex_;
  std::vector<OfSystem> systems_;
};

}  // namespace fabricast
