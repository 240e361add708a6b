// Results of NCCL's search, shared by identical searches of identically wired nodes.
//
// A search takes milliseconds, the searches of a GB200 tray a tenth of a second. A what-if variant, a tested symptom, a
// row of a study or a posterior sample of the hardware leaves the wiring of most nodes unchanged. The store keeps whole
// systems and requests as keys, so callers need not know which nodes are alike.
#pragma once

#include <cstddef>
#include <functional>
#include <list>
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
  /// \param most_systems  that are kept. Beyond it the one is forgotten that was not asked for the longest
  explicit SearchStore(std::size_t most_systems) : most_systems_(most_systems) {}

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
    std::vector<std::shared_ptr<Known>> known;
  };

  std::shared_ptr<Known> known(const NcclSystem& system, const SearchRequest& request);

  std::size_t most_systems_;
  std::mutex mutex_;
  std::list<OfSystem> systems_;  ///< the one that was asked for last comes first
};

/// search_graphs, with a store of the caller's instead of that of the process.
SearchGraphs search_graphs_in(SearchStore& store, const Node& node, std::int64_t nodes, const NcclSettings& settings);

}  // namespace fabricast
