// Puts the records of all ranks of one call together.
//
// A call is open until all ranks of its communicator have recorded it. Records of all ranks come side by side, so few
// calls are open at a time; limits bound them where a file ends early or a clock is wrong.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <unordered_map>
#include <utility>
#include <vector>

#include "rank_call.hpp"

namespace fabricast::live {

/// A call with the records that there are.
struct OpenCall {
  std::uint64_t number = 0;  ///< in order of their first record
  RankCall first;            ///< the first record
  double least = 0, most = 0;
  bool disagrees = false;                    ///< whether a record differs from the first in operation or size
  std::vector<std::uint64_t> ranks;          ///< a bit for each that was seen
  std::vector<std::pair<int, float>> times;  ///< us by rank, in order of their records
};

class CallMatcher {
 public:
  /// \param most_calls  calls that may be open
  /// \param most_ranks  records that they may have, all together
  CallMatcher(std::size_t most_calls, std::size_t most_ranks) : most_calls_(most_calls), most_ranks_(most_ranks) {}

  enum class Added { open, whole, repeated, other };
  /// Adds a record. `repeated`: the rank has recorded the call already, and the record is ignored. `other`: it is taken,
  /// but differs from the first record, which is in `call`.
  /// \param ranks  of the communicator
  /// \param call   receives a call that is `whole`, all of whose ranks are there. A call that disagrees comes back as
  ///               `other` for the last record, too
  Added add(const RankCall& record, int ranks, OpenCall& call);

  /// Drops the oldest calls beyond the limits, and hands each to `part`.
  template <class Part>
  void trim(Part part) {
    while (open_.size() > most_calls_ || held_ > most_ranks_ || order_.size() > 4 * most_calls_) {
      if (order_.empty()) return;
      const auto [key, number] = order_.front();
      order_.pop_front();
      // Entries of calls that were completed stay in the queue and are skipped here.
      const auto it = open_.find(key);
      if (it == open_.end() || it->second.number != number) continue;
      part(it->second);
      held_ -= it->second.times.size();
      open_.erase(it);
    }
  }
  /// Hands all open calls to `part`, in no order, and drops them.
  template <class Part>
  void finish(Part part) {
    for (const auto& [key, call] : open_) part(call);
    open_.clear();
    order_.clear();
    held_ = 0;
  }

 private:
  struct Key {
    std::int64_t sequence;
    int communicator, counter;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& k) const {
      std::uint64_t h = static_cast<std::uint64_t>(k.sequence) * 0x9e3779b97f4a7c15u;
      h ^= (static_cast<std::uint64_t>(static_cast<std::uint32_t>(k.communicator)) << 32 |
            static_cast<std::uint32_t>(k.counter)) +
           (h >> 29);
      return h * 0xbf58476d1ce4e5b9u;
    }
  };

  std::size_t most_calls_, most_ranks_, held_ = 0;
  std::unordered_map<Key, OpenCall, Hash> open_;
  std::deque<std::pair<Key, std::uint64_t>> order_;
  std::uint64_t opened_ = 0;
};

/// The ranks that joined a whole call clearly later than most: those that waited less than the middle rank by 10 % of
/// the call's time and 2 us. A whole host may be late, so the last one alone does not count; times are whole
/// microseconds in some formats, so smaller differences name nobody. Reorders `call.times`.
/// \param late  called with the rank and the time that most ranks waited for it, us
template <class Late>
void late_in(OpenCall& call, Late late) {
  const auto middle = call.times.begin() + static_cast<std::ptrdiff_t>(call.times.size() / 2);
  const auto shorter = [](const auto& a, const auto& b) { return a.second < b.second; };
  std::nth_element(call.times.begin(), middle, call.times.end(), shorter);
  const double usual = middle->second, gap = std::max(2.0, call.least * 0.1);
  for (auto it = call.times.begin(); it != middle; ++it)
    if (usual - it->second >= gap) late(it->first, usual - it->second);
}

}  // namespace fabricast::live
