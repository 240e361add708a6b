// The folded ring against all its ranks one by one, and its periodic extrapolation.
#include <catch2/catch.hpp>
#include <vector>

#include "fabricast/core/rng.hpp"
#include "sim/engine/time/ring_recurrence.hpp"

using namespace fabricast;

namespace {

/// Every rank, step and slice of recurrence (1), without folding and without extrapolation.
class AllRanks {
 public:
  AllRanks(const Ring& ring, int nodes)
      : ring_(ring),
        gpus_(static_cast<int>(ring.loop.op.size())),
        ranks_(gpus_ * nodes),
        clock_(static_cast<std::size_t>(ranks_), 0.0),
        nic_(static_cast<std::size_t>(ranks_), -1e300),
        consumed_(static_cast<std::size_t>(ranks_)),
        left_(static_cast<std::size_t>(ranks_)) {}

  double run() {
    for (std::int64_t l = 0; l < ring_.loops; ++l) loop(ring_.loop);
    if (ring_.tail.slices > 0) loop(ring_.tail);
    return *std::max_element(clock_.begin(), clock_.end());
  }

 private:
  void loop(const RingLoop& l) {
    const auto slices = static_cast<std::size_t>(l.slices);
    std::vector<std::vector<double>> arrived(clock_.size(), std::vector<double>(slices, 0)), arriving = arrived;
    for (std::int64_t s = 0; s <= ring_.sends; ++s) {
      const bool sends = s < ring_.sends;
      for (std::size_t k = 0; k < slices; ++k)
        for (std::size_t r = 0; r < clock_.size(); ++r) operate(l, s, k, r, sends, arrived, arriving);
      arrived = arriving;
    }
  }

  void operate(const RingLoop& l, std::int64_t s, std::size_t k, std::size_t r, bool sends,
               const std::vector<std::vector<double>>& arrived, std::vector<std::vector<double>>& arriving) {
    const std::size_t next = (r + 1) % clock_.size(), p = r % static_cast<std::size_t>(gpus_);
    const bool by_network = ring_.network && next % static_cast<std::size_t>(gpus_) == 0;
    const double before = clock_[r];
    double start = before;
    if (s > 0) start = std::max(start, arrived[r][k]);
    const auto slots = static_cast<std::size_t>(ring_.slots);
    const std::size_t number = left_[r].size();
    if (sends && number >= slots) {
      // The neighbour has consumed the slice `slots` before this one, or it has left for the network.
      const std::size_t old = number - slots;
      start = std::max(start, by_network ? left_[r][old] : consumed_[next][old] + ring_.hop_inside);
    }
    clock_[r] = sends ? std::max(start + l.op[p], before + l.round[p]) : start + l.receive;
    if (s > 0) consumed_[r].push_back(clock_[r]);
    if (!sends) return;
    double leave = clock_[r];
    if (by_network) {
      leave = std::max(clock_[r] + l.hop.pass, nic_[r] + l.hop.gap);
      if (number >= slots) leave = std::max(leave, consumed_[next][number - slots] + l.hop.credit + l.hop.pass);
      nic_[r] = leave;
      arriving[next][k] = leave + l.hop.latency;
    } else {
      arriving[next][k] = clock_[r] + ring_.hop_inside;
    }
    left_[r].push_back(leave);
  }

  const Ring& ring_;
  int gpus_, ranks_;
  std::vector<double> clock_, nic_;
  std::vector<std::vector<double>> consumed_, left_;  ///< by rank and number of the slice
};

RingLoop random_loop(Rng& rng, int gpus, int slices) {
  RingLoop l;
  l.slices = slices;
  for (int p = 0; p < gpus; ++p) {
    l.op.push_back(1e-6 * (0.5 + rng.uniform()));
    l.round.push_back(1e-6 * 1.5 * rng.uniform());
  }
  l.receive = 1e-6 * rng.uniform();
  l.hop = {1e-6 * rng.uniform(), 2e-6 * rng.uniform(), 1e-6 * (1 + 5 * rng.uniform()), 1e-6 * 5 * rng.uniform()};
  return l;
}

}  // namespace

TEST_CASE("a folded ring takes the same time as all its ranks") {
  Rng rng(7);
  for (int trial = 0; trial < 300; ++trial) {
    Ring r;
    const int gpus = 1 + static_cast<int>(rng.below(4)), nodes = 2 + static_cast<int>(rng.below(4));
    const int slices = 1 + static_cast<int>(rng.below(4));
    r.network = true;
    r.slots = slices + 1 + static_cast<int>(rng.below(8));
    r.sends = 2 * (gpus * nodes - 1);
    r.hop_inside = 1e-6 * rng.uniform();
    r.loops = 1 + static_cast<std::int64_t>(rng.below(20));
    r.loop = random_loop(rng, gpus, slices);
    r.tail = random_loop(rng, gpus, 1);
    r.tail.slices = static_cast<int>(rng.below(2));
    CAPTURE(trial, gpus, nodes, slices, r.slots, r.loops);
    // Loops are skipped once the differences of the clocks are constant. A short history of slots may settle later.
    CHECK(ring_makespan(r) == Approx(AllRanks(r, nodes).run()).epsilon(2e-3));
    r.loops = 1;
    CHECK(ring_makespan(r) == Approx(AllRanks(r, nodes).run()).epsilon(1e-9));
  }
}

TEST_CASE("skipping steps and loops does not change the time") {
  Rng rng(11);
  for (int trial = 0; trial < 40; ++trial) {
    Ring r;
    const int gpus = 1 + static_cast<int>(rng.below(8));
    r.network = true;
    r.sends = 2000 + static_cast<std::int64_t>(rng.below(50));
    r.loops = 2;
    r.slots = 8;
    r.hop_inside = 1e-6;
    r.loop = random_loop(rng, gpus, 2);
    r.tail.slices = 0;
    // Any number of nodes folds to the same ring, so two nodes stand for a ring of a thousand steps.
    CHECK(ring_makespan(r) == Approx(AllRanks(r, 2).run()).epsilon(1e-9));
  }
}

TEST_CASE("a ring runs at the pace of its slowest GPU") {
  Ring r;
  r.sends = 1000, r.loops = 1, r.slots = 8;
  r.loop.op = {1e-6, 3e-6}, r.loop.round = {0, 0};
  r.loop.slices = 1;
  r.tail.slices = 0;
  CHECK(ring_makespan(r) == Approx(1000 * 3e-6).epsilon(1e-3));
}
