// How often the connections of a program's collectives cross links. Networks that connect alike share these counts for
// one sample, whatever their rates, latencies and GPUs. On each hardware, the use of a link is then
//
//   use = connections x w / C_l         fraction of link l's rate per B/s; w: bytes on the wire per byte of payload (1)
//
// For an interval, a step is timed on several sets of hardware. With shared counts a step on a million GPUs takes 110 s
// with its interval; it took 157 s with separate counts (docs/benchmarks.md).
#pragma once

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <utility>
#include <vector>

#include "fabricast/engine/network.hpp"
#include "link_uses.hpp"

namespace fabricast {

/// Numbers of connections by link and item.
struct Crossings {
  struct Value {
    double connections = 0;
    std::uint32_t link = 0;   ///< one of the links with this value, which all have the same rate
    std::uint32_t shape = 0;  ///< of the teams
  };
  LinkUses links;             ///< uses are numbers of connections
  std::vector<Value> values;  ///< by number; by number / 2 if contended links carry less (LinkUsesBuilder::build)
};

/// The counts of a program for one seed. Thread-safe.
class CollectiveCounts {
 public:
  explicit CollectiveCounts(std::uint64_t seed) : seed_(seed) {}
  std::uint64_t seed() const { return seed_; }

  /// The counts of the first team of a shape in a set of groups; null if `comm` connects differently from the
  /// communicator of the first call.
  std::shared_ptr<CountStore> of_team(std::uint32_t groups, std::uint32_t shape, const Communicator& comm);

  /// Groups, operation, bytes, whether only the first rank sends, and algorithm, protocol and channels of each shape.
  using Key = std::tuple<std::uint32_t, int, std::int64_t, bool, std::vector<std::array<int, 3>>>;
  /// The crossings of a key, computed by make() at the first call. Other threads with the same key wait for it.
  template <class Make>
  std::shared_ptr<const Crossings> crossings(const Key& key, Make make) {
    Known* known = nullptr;
    {
      const std::scoped_lock lock(mutex_);
      std::unique_ptr<Known>& at = known_[key];
      if (!at) at = std::make_unique<Known>();
      known = at.get();
    }
    const std::scoped_lock lock(known->mutex);
    if (!known->crossings) known->crossings = make();
    return known->crossings;
  }
  /// Drops the counts of a set of groups, which nobody needs any more.
  void forget(std::uint32_t groups);

 private:
  struct Team {
    Communicator comm;
    std::shared_ptr<CountStore> counts;
  };
  struct Known {
    std::mutex mutex;
    std::shared_ptr<const Crossings> crossings;
  };
  std::uint64_t seed_;
  std::mutex mutex_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Team> teams_;  ///< by groups and shape
  std::map<Key, std::unique_ptr<Known>> known_;
};

}  // namespace fabricast
