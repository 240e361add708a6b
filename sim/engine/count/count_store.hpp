// Counts that several engines share. Connections below leaves do not depend on the seed of the network. The counts of
// one seed do not depend on the rates of links, and posterior samples of the hardware differ only in these.
//
//   edge sets                                one for all seeds and all hardware                     (edge_sets.hpp)
//   counts, paths, PAT contention            one for a seed and all hardware, if paths of equal latency on one hardware
//                                            have equal latencies on any other                      (fabric_count.hpp)
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <tuple>

#include "edge_paths.hpp"
#include "edge_routes.hpp"
#include "pat_contention.hpp"

namespace fabricast {

/// A count with the routes that have been requested. Safe to use from several threads.
class SharedCount {
 public:
  /// \param one_hardware  all users have links of the same latencies
  SharedCount(const FabricCount::Input& input, std::shared_ptr<const EdgeSets> sets, bool one_hardware);
  const FabricCount& count() const { return count_; }
  /// Whether the latencies of trips and routes hold for every user.
  bool one_hardware() const { return one_hardware_; }
  std::shared_ptr<const EdgeRoutes> routes(const FabricCount::Input& input, std::uint32_t channel);
  /// Null if the algorithm is not PAT.
  std::shared_ptr<const PatContentions> pat_contentions() const { return pat_contentions_; }
  /// Null if there are too many.
  const EdgePaths* edge_paths(const FabricCount::Input& input);

 private:
  SharedCount(PatCount counted, bool one_hardware);

  FabricCount count_;
  std::shared_ptr<const PatContentions> pat_contentions_;
  bool one_hardware_;
  std::mutex mutex_;
  std::map<std::uint32_t, std::shared_ptr<const EdgeRoutes>> routes_;  ///< by channel
  std::optional<std::shared_ptr<const EdgePaths>> edge_paths_;
};

/// A count for one engine.
std::shared_ptr<SharedCount> count_alone(const FabricCount::Input& input);

/// The counts of the plans of one network, and what was sampled for them. Safe to use from several threads.
class CountStore {
 public:
  /// \param kept  the seed whose counts are kept: the one for which hardware is varied
  explicit CountStore(std::uint64_t kept) : kept_(kept) {}
  std::shared_ptr<SharedCount> of(const FabricCount::Input& input, std::uint64_t seed);
  /// The efficiency of contended links under DCQCN that was first found for a key. Where hardware is varied it stays:
  /// other marks would look like an effect of the hardware.
  template <class Find>
  double efficiency(std::uint64_t key, Find find) {
    {
      const std::scoped_lock lock(mutex_);
      if (const auto it = efficiencies_.find(key); it != efficiencies_.end()) return it->second;
    }
    const double found = find();
    const std::scoped_lock lock(mutex_);
    return efficiencies_.emplace(key, found).first->second;
  }

 private:
  struct Known {
    std::mutex mutex;
    bool has_sets = false;
    std::shared_ptr<const EdgeSets> sets;
    std::shared_ptr<SharedCount> count;  ///< for the seed that is kept
  };
  const std::uint64_t kept_;
  std::mutex mutex_;
  std::map<std::uint64_t, double> efficiencies_;
  std::map<std::tuple<CollectiveOp, bool, Algorithm, int, std::uint64_t>, std::unique_ptr<Known>> known_;
};

}  // namespace fabricast
