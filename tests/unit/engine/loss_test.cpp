// Lost packets: closed forms, and the same counted packet by packet here.
#include "fabricast/engine/loss.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "fabricast/core/rng.hpp"

namespace fabricast {
namespace {

LossModel losing(double lost, double window = 100, bool selective = false) {
  LossModel m;
  m.lost = lost;
  m.window = window;
  m.selective = selective;
  m.timeout = Seconds{1};
  return m;
}

TEST_CASE("a path loses what any of its cables loses", "[loss]") {
  CHECK(lost_on_path(0, 4) == 0);
  CHECK(lost_on_path(0.5, 2) == Approx(0.75));
  CHECK(lost_on_path(1e-6, 4) == Approx(4e-6).epsilon(1e-5));
}

TEST_CASE("goodput against a connection that is walked through packet by packet", "[loss]") {
  for (const double lost : {1e-3, 0.01, 0.1})
    for (const int window : {1, 10, 100}) {
      CAPTURE(lost, window);
      // The receiver takes packets in order. A packet that is lost costs itself and window - 1 that follow it.
      Rng rng(7);
      double sent = 0, good = 0, selective = 0;
      while (good < 200000) {
        ++sent, ++selective;
        if (rng.uniform() < lost)
          sent += window - 1;
        else
          ++good;
      }
      CHECK(goodput_of(losing(lost, window)) == Approx(good / sent).epsilon(0.03));
      CHECK(goodput_of(losing(lost, window, true)) == Approx(good / selective).epsilon(0.03));
    }
  CHECK(goodput_of(losing(0)) == 1);
  CHECK(goodput_of(losing(1e-3, 101)) == Approx(0.999 / (0.999 + 0.101)));
}

TEST_CASE("packets of a call", "[loss]") {
  CallShape call;
  call.bytes = 1024.0 * 4096;
  call.ranks = 64, call.nodes = 8, call.channels = 4;
  // A ring of 8 nodes on 4 channels: each connection carries 2 x 63 / 64 of a quarter.
  CallPackets made = packets_of(call, Bytes{4096});
  CHECK(made.connections == 32);
  CHECK(made.chains == 4);
  CHECK(made.packets == 32 * std::ceil(2 * 63.0 / 64 * 256));
  CHECK(made.last == 0);
  call.algorithm = Algorithm::tree;
  made = packets_of(call, Bytes{4096});
  CHECK(made.connections == 4 * 14);
  CHECK(made.packets == 4 * 14 * 256);
  CHECK(made.last == 4 * 7);
  // Each rank sends to the 56 of other nodes.
  call.op = CollectiveOp::alltoall, call.algorithm = Algorithm::p2p;
  made = packets_of(call, Bytes{4096});
  CHECK(made.connections == 64 * 56);
  CHECK(made.packets == 64 * 56 * 16);
  call.registered = true;
  CHECK(packets_of(call, Bytes{4096}).last == 2 * 64 * 56);
  call.nodes = 1;
  CHECK(packets_of(call, Bytes{4096}).packets == 0);
}

TEST_CASE("timeouts in series against chains that lose packets one by one", "[loss]") {
  // What is sent again, or the question for it, is lost: two packets, each with probability `lost`.
  const LossModel m = losing(0.02);
  for (const double chains : {1.0, 4.0, 16.0}) {
    const CallPackets call{chains * 2000, chains, 0, chains};
    Rng rng(3);
    double direct = 0, drawn = 0;
    constexpr int trials = 300;
    for (int i = 0; i < trials; ++i) {
      int longest = 0;
      for (int c = 0; c < static_cast<int>(chains); ++c) {
        int own = 0;
        for (int p = 0; p < 2000; ++p)
          if (rng.uniform() < m.lost && (rng.uniform() < m.lost || rng.uniform() < m.lost)) ++own;
        longest = std::max(longest, own);
      }
      direct += longest;
      drawn += timeouts_in_series(m, call, {}, mix64(static_cast<std::uint64_t>(i)));
    }
    CAPTURE(chains);
    CHECK(drawn / trials == Approx(direct / trials).epsilon(0.1));
    CHECK(timeouts_expected(m, call, {}) == Approx(chains * 2000 * 2 * 0.02 * 0.02));
  }
  const CallPackets last{0, 1, 50, 50};
  int found = 0;
  for (std::uint64_t i = 0; i < 2000; ++i) found += timeouts_in_series(m, last, {}, mix64(i));
  CHECK(found / 2000.0 == Approx(1 - std::pow(0.98, 50)).epsilon(0.05));
  CHECK(timeouts_in_series(m, last, {}, 5) == timeouts_in_series(m, last, {}, 5));
  CHECK(timeouts_in_series(losing(0), {1e9, 8, 64, 64}, {}, 5) == 0);
  // Many: narrow around the mean.
  CHECK(timeouts_in_series(losing(0.1), {100000, 1, 0, 1}, {}, 5) == Approx(2000).epsilon(0.01));
}

TEST_CASE("switches drop what finds no room", "[loss]") {
  LossModel m;
  m.drops = true;
  m.buffer = Bytes{60000000};
  m.slots = Bytes{4000000};
  m.reaction = Seconds{1e-3};
  CHECK(room_of(m, 1) == Approx(30e6));
  CHECK(room_of(m, 2) == Approx(20e6));
  const BytesPerSecond rate{50e9};
  // 2:1 for 1 ms brings 50 MB too much; the slots of 40 connections let 80 MB come.
  CHECK(dropped_at(m, {2, 40, 1, rate}) == Approx(1 - 30.0 / 50));
  CHECK(dropped_at(m, {2, 20, 1, rate}) == Approx(1 - 30.0 / 40));
  CHECK(dropped_at(m, {2, 10, 1, rate}) == 0);
  CHECK(dropped_at(m, {1, 100, 1, rate}) == 0);
  m.reacts = false;
  CHECK(dropped_at(m, {2, 40, 1, rate}) == Approx(1 - 30.0 / 80));
  CHECK(timeouts_in_series(m, {1000, 8, 0, 40}, {4, 40, 1, rate}, 1) == 3);
  m.drops = false;
  CHECK(dropped_at(m, {2, 40, 1, rate}) == 0);
  CHECK(timeouts_in_series(m, {1000, 8, 0, 40}, {4, 40, 1, rate}, 1) == 0);
}

}  // namespace
}  // namespace fabricast
