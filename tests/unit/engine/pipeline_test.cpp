// Pipelines against the recurrence slice by slice, and their extrapolation.
#include <catch2/catch.hpp>
#include <vector>

#include "fabricast/core/rng.hpp"
#include "sim/engine/time/pipeline.hpp"

using namespace fabricast;

namespace {

/// Recurrence (1) for workers only, with all slices.
double workers_only(const Pipeline& p) {
  const std::size_t n = p.stations.size();
  const auto total = static_cast<std::size_t>(p.slices + p.tails), slots = static_cast<std::size_t>(p.slots);
  std::vector<std::vector<double>> end(n, std::vector<double>(total, 0));
  for (std::size_t k = 0; k < total; ++k) {
    double arrival = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const Service& s = k < static_cast<std::size_t>(p.slices) ? p.stations[i].whole : p.stations[i].tail;
      double start = arrival;
      if (k > 0) start = std::max(start, end[i][k - 1]);
      if (k >= slots && i + 1 < n) start = std::max(start, end[i + 1][k - slots] + p.stations[i].latency);
      end[i][k] = start + std::max(s.pass, s.round);
      arrival = end[i][k] + p.stations[i].latency;
    }
  }
  return end[n - 1][total - 1];
}

Pipeline random_workers(Rng& rng) {
  Pipeline p;
  const auto n = 1 + rng.below(30);
  for (std::uint64_t i = 0; i < n; ++i) {
    Station s;
    s.whole = {1e-6 * (0.2 + rng.uniform()), 0, 1e-6 * rng.uniform()};
    s.tail = {0.5 * s.whole.pass, 0, 0.5 * s.whole.round};
    s.latency = 1e-6 * 8 * rng.uniform();
    p.stations.push_back(s);
  }
  p.slots = 2 + static_cast<int>(rng.below(8));
  return p;
}

}  // namespace

TEST_CASE("a sequence of workers takes the time of the recurrence, for any number of slices") {
  Rng rng(3);
  for (int trial = 0; trial < 300; ++trial) {
    Pipeline p = random_workers(rng);
    p.slices = 1 + static_cast<std::int64_t>(rng.below(trial < 200 ? 40 : 3000));
    p.tails = static_cast<std::int64_t>(rng.below(3));
    CAPTURE(trial, p.stations.size(), p.slots, p.slices, p.tails);
    CHECK(pipeline_makespan(p) == Approx(workers_only(p)).epsilon(trial < 200 ? 1e-12 : 2e-3));
  }
}

TEST_CASE("a full pipeline advances at the pace of its slowest place") {
  Pipeline p;
  p.slots = 8;
  for (const double us : {1.0, 2.5, 1.5}) {
    Station s;
    s.whole = s.tail = {us * 1e-6, 0, 0};
    p.stations.push_back(s);
  }
  p.slices = 1000000;
  CHECK(pipeline_makespan(p) == Approx(1e6 * 2.5e-6 + 2.5e-6).epsilon(1e-5));
}

TEST_CASE("messages of other channels at a server delay the last channel, and then the pace") {
  Pipeline p;
  p.slots = 8;
  Station gpu, nic, last;
  gpu.whole = {1e-6, 0, 0};
  nic.server = true, nic.whole = {2e-6, 8e-6, 8e-6};  // four channels, one after the other
  last.whole = {1e-6, 0, 0};
  p.stations = {gpu, nic, last};
  p.slices = 1;
  CHECK(pipeline_makespan(p) == Approx(1e-6 + 8e-6 + 1e-6));
  p.slices = 100000;
  CHECK(pipeline_makespan(p) == Approx(100000 * 8e-6).epsilon(1e-3));
}

TEST_CASE("the two parts of a block slow each other only while both copy") {
  // Up, then down the same block, 3 us each; between them the rest of the tree.
  const auto makespan = [](std::int64_t slices, double way) {
    Pipeline p;
    p.slots = 8, p.slices = slices, p.both_directions = 1.2;
    Station up, down;
    up.whole = {3e-6, 0, 0, 3e-6}, up.latency = way, up.beside = 1;
    down.whole = {3e-6, 0, 0, 3e-6}, down.beside = 0;
    p.stations = {up, down};
    return pipeline_makespan(p);
  };
  CHECK(makespan(1, 50e-6) == Approx(56e-6));
  CHECK(makespan(4, 50e-6) == Approx(50e-6 + 15e-6));  // all are up before the first comes down
  CHECK(makespan(100000, 5e-6) == Approx(100000 * 2 / 1.2 * 3e-6).epsilon(1e-3));
}

TEST_CASE("slots bound the slices in flight") {
  Pipeline p;
  Station gpu, nic, last;
  gpu.whole = {1e-6, 0, 0};
  nic.server = true, nic.whole = {1e-6, 1e-6, 1e-6}, nic.latency = 50e-6, nic.credit = 50e-6;
  last.whole = {1e-6, 0, 0};
  p.stations = {gpu, nic, last};
  p.slices = 100000;
  // A slot is on its way for pass + latency + the last worker + credit: 102 us.
  for (const int slots : {2, 8}) {
    p.slots = slots;
    CHECK(pipeline_makespan(p) / 100000 == Approx(102e-6 / slots).epsilon(1e-2));
  }
}

TEST_CASE("a place is faster while its other users are idle") {
  // One slice: up, then 50 us later down, each with half of the place to itself.
  Pipeline p;
  Station up, down;
  up.whole = down.whole = {1e-6, 0, 10e-6};
  up.latency = 50e-6;
  up.users = down.users = {{0, 0.5}, {1, 0.5}};
  p.stations = {up, down};
  p.slices = 1;
  CHECK(pipeline_makespan(p) == Approx(5e-6 + 50e-6 + 5e-6));
  // Of two directions, the one with more to do counts.
  for (Station& s : p.stations) s.as_they_come = true;
  p.stations[0].users = {{0, 0.2, 0.8}, {1, 0.8, 0.2}}, p.stations[1].users = {{0, 0.2, 0.8}, {1, 0.8, 0.2}};
  CHECK(pipeline_makespan(p) == Approx(8e-6 + 50e-6 + 8e-6));
}

TEST_CASE("channels that come apart leave the place to those that are still there") {
  Pipeline p;
  Station gpu, nic, head;
  gpu.whole = {1e-6, 0, 0};
  nic.server = true, nic.whole = {2e-6, 8e-6, 8e-6};  // they leave from 3 us to 9 us
  head.as_they_come = true;
  p.stations = {gpu, nic, head};
  p.slices = 1;
  const auto with_round = [&](double us) {
    p.stations[2].whole = {1e-6, 0, us * 1e-6};
    return pipeline_makespan(p);
  };
  CHECK(with_round(10) == Approx(3e-6 + 10e-6));  // busy from the first one on
  CHECK(with_round(4) == Approx(9e-6 + 1e-6));    // each is through before the next one comes
  p.stations[2].as_they_come = false;
  CHECK(with_round(10) == Approx(9e-6 + 10e-6));
}
