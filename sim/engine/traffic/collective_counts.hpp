// How often the connections of a program's exchanges cross links: what networks share that connect alike on one draw,
// whatever the rates of their links, their latencies and GPUs. On each hardware a use is then
//
//   use = connections x w / C_l         parts of link l's rate for each B/s; w: bytes on the wire by payload (1)
//
// An interval times a step on several sets of hardware. Counted once for all, a step on a million GPUs takes 110 s with
// its interval; it took 157 s when each counted for itself (docs/benchmarks.md).
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

/// Connections by link and item.
struct Crossings {
  struct Value {
    double connections = 0;
    std::uint32_t link = 0;   ///< one of those that it is about, which have one rate
    std::uint32_t shape = 0;  ///< of the teams
  };
  LinkUses links;             ///< with connections as uses
  std::vector<Value> values;  ///< by number
};

/// Safe to use from several threads.
class CollectiveCounts {
 public:
  explicit CollectiveCounts(std::uint64_t seed) : seed_(seed) {}
  std::uint64_t seed() const { return seed_; }

  /// Of the first team of some shape of a set of groups; null if it does not connect as the one that was here first.
  std::shared_ptr<CountStore> of_team(std::uint32_t groups, std::uint32_t shape, const Communicator& comm);

  /// Groups, operation, bytes, whether only the first sends, and what runs on each shape.
  using Key = std::tuple<std::uint32_t, int, std::int64_t, bool, std::vector<std::array<int, 3>>>;
  /// From make() where nobody has counted them.
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
  /// Nobody will ask for those of these groups any more.
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
