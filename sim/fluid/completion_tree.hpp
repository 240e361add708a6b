// The least of many times, each of which may change: a tournament, O(log n) per change at most.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace fabricast {

class CompletionTree {
 public:
  void grow(std::size_t slots) {
    if (slots <= leaves_) return;
    std::vector<double> times(times_.begin() + static_cast<std::ptrdiff_t>(leaves_), times_.end());
    leaves_ = std::bit_ceil(slots);
    times_.assign(2 * leaves_, std::numeric_limits<double>::infinity());
    std::copy(times.begin(), times.end(), times_.begin() + static_cast<std::ptrdiff_t>(leaves_));
    for (std::size_t node = leaves_ - 1; node > 0; --node) play(node);
  }

  double least() const { return leaves_ ? times_[1] : std::numeric_limits<double>::infinity(); }

  void set(std::uint32_t slot, double time) {
    std::size_t node = leaves_ + slot;
    times_[node] = time;
    while (node > 1) {
      node /= 2;
      const double before = times_[node];
      play(node);
      if (times_[node] == before) break;
    }
  }

  /// Calls visit(slot) for every slot whose time is at most `limit`, in order of slots.
  template <class Visit>
  void up_to(double limit, Visit visit) const {
    if (leaves_) descend(1, limit, visit);
  }

 private:
  void play(std::size_t node) { times_[node] = std::min(times_[2 * node], times_[2 * node + 1]); }

  template <class Visit>
  void descend(std::size_t node, double limit, Visit& visit) const {
    if (times_[node] > limit) return;
    if (node >= leaves_) {
      visit(static_cast<std::uint32_t>(node - leaves_));
    } else {
      descend(2 * node, limit, visit);
      descend(2 * node + 1, limit, visit);
    }
  }

  std::size_t leaves_ = 0;     ///< a power of 2, or 0
  std::vector<double> times_;  ///< node n plays 2n against 2n + 1; leaves last
};

}  // namespace fabricast
