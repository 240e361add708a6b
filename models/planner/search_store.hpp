// Results of NCCL's search, shared by identical searches of identically wired nodes.
//
// A search takes milliseconds, and a what-if variant, a tested symptom or a posterior sample of the hardware leaves the
// wiring of most nodes unchanged. The store keeps whole systems and requests as keys, so callers need not know which
// nodes are alike.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "fabricast/planner/graph.hpp"
#include "graph_search.hpp"

namespace fabricast {

/// Everything that a search depends on besides the system.
struct SearchRequest {
  SearchPattern pattern = SearchPattern::ring;
  int min_channels = 1, max_channels = 32;
  bool collnet = false;
  int cross_nic = 0;           ///< as NCCL_CROSS_NIC
  bool near_nics = false;      ///< NICs no farther away than the farthest GPU-NIC path
  std::vector<double> speeds;  ///< bandwidths per channel to try, GB/s, descending
  bool operator==(const SearchRequest&) const = default;
};

/// Thread-safe. A caller whose search is already running in another thread waits for it.
class SearchStore {
 public:
  /// The stored result, or that of `search`, which is then stored.
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
