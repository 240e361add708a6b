// (1) of ring_recurrence.hpp, step by step until it repeats itself, then in one leap:
//
//   x(s + W) = x(s) + lambda  for more than `slots` + 1 steps in a row,  W = lcm( g, slots )
//   =>  x(s + j W) = x(s) + j lambda                                                                                (2)
//
// x are all clocks of the ring, in s. A step depends on nothing older than `slots` slices, so a pattern that has held
// for that long continues, up to rounding.
#include "ring_recurrence.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace fabricast {

namespace {

/// Recurrence (1) with the leap (2).
class RingRecurrence {
 public:
  explicit RingRecurrence(const Ring& ring)
      : ring_(ring),
        positions_(ring.loop.op.empty() ? ring.tail.op.size() : ring.loop.op.size()),
        slots_(static_cast<std::size_t>(ring.slots)),
        clock_(positions_, 0),
        // Long before the start, so that the first slices find all slots free.
        consumed_(positions_ * slots_, -1e300),
        left_(slots_, -1e300) {}

  double run() {
    std::int64_t left = ring_.loops;
    std::vector<double> before;
    double before_end = 0;
    while (left > 0) {
      run_loop(ring_.loop);
      --left;
      // Once the differences between the clocks stay the same, all further loops are alike.
      const double end = latest();
      std::vector<double> relative = clock_;
      for (double& t : relative) t -= end;
      if (left > 0 && !before.empty() && close(relative, before, end)) {
        shift(static_cast<double>(left) * (end - before_end));
        break;
      }
      before = std::move(relative);
      before_end = end;
    }
    if (ring_.tail.slices > 0) run_loop(ring_.tail);
    return latest();
  }

 private:
  double latest() const { return *std::max_element(clock_.begin(), clock_.end()); }

  static bool close(const std::vector<double>& a, const std::vector<double>& b, double scale) {
    for (std::size_t i = 0; i < a.size(); ++i)
      // Clocks are sums of many terms, so equal differences agree only up to rounding.
      if (std::abs(a[i] - b[i]) > 1e-12 * std::abs(scale)) return false;
    return true;
  }

  void shift(double by) {
    for (double& t : clock_) t += by;
    for (double& t : consumed_) t += by;
    for (double& t : left_) t += by;
    for (double& t : arrived_) t += by;
    for (double& t : arriving_) t += by;
    nic_free_ += by;
  }

  void run_loop(const RingLoop& loop) {
    const auto slices = static_cast<std::size_t>(loop.slices);
    // A loop sends other data than the one before, so its first step waits for no arrival.
    arrived_.assign(positions_ * slices, 0);
    arriving_.assign(positions_ * slices, 0);
    // Number of steps after which positions, slices and slots are in phase again.
    const std::int64_t g = static_cast<std::int64_t>(positions_);
    const std::int64_t window = std::lcm(g, static_cast<std::int64_t>(slots_));
    const std::int64_t history = static_cast<std::int64_t>(slots_) + 1;
    std::vector<std::vector<double>> past(static_cast<std::size_t>(window));
    std::int64_t steady = 0;
    for (std::int64_t s = 0; s < ring_.sends; ++s) {
      step(loop, s, true);
      // The rest is too short to skip.
      if (ring_.sends - s - 1 <= window) continue;
      std::vector<double>& then = past[static_cast<std::size_t>(s % window)];
      steady = !then.empty() && advanced_alike(then) ? steady + 1 : 0;
      if (steady > history) {
        const double lambda = clock_[0] - then[0];
        const std::int64_t skipped = (ring_.sends - s - 1) / window;
        shift(static_cast<double>(skipped) * lambda);
        s += skipped * window;
        // Clocks from before the leap must not be compared with those after it.
        steady = 0;
        for (auto& p : past) p.clear();
        continue;
      }
      then = clock_;
      // Arrivals belong to the state, because the next step begins with them.
      then.insert(then.end(), arrived_.begin(), arrived_.end());
    }
    step(loop, ring_.sends, false);
  }

  bool advanced_alike(const std::vector<double>& then) const {
    const double lambda = clock_[0] - then[0], tolerance = 1e-12 * std::abs(clock_[0]);
    for (std::size_t i = 0; i < clock_.size(); ++i)
      if (std::abs(clock_[i] - then[i] - lambda) > tolerance) return false;
    for (std::size_t i = 0; i < arrived_.size(); ++i)
      if (std::abs(arrived_[i] - then[clock_.size() + i] - lambda) > tolerance) return false;
    return true;
  }

  void step(const RingLoop& loop, std::int64_t s, bool sends) {
    const auto slices = static_cast<std::size_t>(loop.slices);
    for (std::size_t k = 0; k < slices; ++k) {
      // Send number of this slice, and of the slice that is consumed now: that of the neighbour in the previous step.
      const std::size_t number = sends ? sent_ : sent_ + k;
      const std::size_t slot = number % slots_, earlier = (number + slots_ - slices % slots_) % slots_;
      for (std::size_t p = 0; p < positions_; ++p) {
        const std::size_t next = p + 1 == positions_ ? 0 : p + 1;
        const bool by_network = ring_.network && next == 0;
        const double before = clock_[p];
        double start = before;
        if (s > 0) start = std::max(start, arrived_[p * slices + k]);
        if (sends) {
          // The slot must be free again: the slice `slots` before has been consumed, or has left for the network.
          const double freed = by_network ? left_[slot] : consumed_[next * slots_ + slot] + ring_.hop_inside;
          start = std::max(start, freed);
        }
        // Links keep sends apart. The last step only receives and has none.
        clock_[p] = sends ? std::max(start + loop.op[p], before + loop.round[p]) : start + loop.receive;
        if (s > 0) consumed_[p * slots_ + earlier] = clock_[p];
        if (!sends) continue;
        double& arrival = arriving_[next * slices + k];
        if (by_network) {
          // The message leaves when the GPU has copied it, the NIC is free and the receiver has a slot.
          const double credit = consumed_[next * slots_ + slot] + loop.hop.credit;
          const double leave = std::max({clock_[p] + loop.hop.pass, nic_free_ + loop.hop.gap, credit + loop.hop.pass});
          nic_free_ = left_[slot] = leave;
          arrival = leave + loop.hop.latency;
        } else {
          arrival = clock_[p] + ring_.hop_inside;
        }
      }
      if (sends) ++sent_;
    }
    // All positions take a step at once, so arrivals of this step count from the next one on.
    arrived_.swap(arriving_);
  }

  const Ring& ring_;
  std::size_t positions_, slots_;
  std::vector<double> clock_;               ///< end of each position's last operation
  std::vector<double> consumed_, left_;     ///< by slot: when consumed by position p; when it left for the network
  std::vector<double> arrived_, arriving_;  ///< by position and slice: in the previous step, in this one
  double nic_free_ = -1e300;
  std::size_t sent_ = 0;
};

}  // namespace

double ring_makespan(const Ring& ring) { return RingRecurrence(ring).run(); }

}  // namespace fabricast
