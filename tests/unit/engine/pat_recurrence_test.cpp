// The event graph of PAT against closed forms: the chain of messages, and each of the limits.
#include <catch2/catch.hpp>

#include "sim/engine/time/pat_recurrence.hpp"

using namespace fabricast;

namespace {

/// An all_gather of eight ranks whose blocks fit in one message, far dimension first [NCCL-PAT].
const std::vector<PatMessages> gather_8 = {{1, 1, 1}, {1, 2, 2}, {1, 4, 4}};
/// The same with a message for each block.
const std::vector<PatMessages> long_gather_8 = {{1, 1, 1}, {2, 1, 1}, {4, 1, 1}};

PatRun run_of(std::vector<PatMessages> dimensions) {
  PatRun run;
  run.channels = {{std::move(dimensions), 1, -1}};
  run.block = 1000;
  return run;
}

PatRun with_costs(PatRun run) {
  run.overhead = 2, run.copy = 0.003, run.receive = 0.4, run.proxy = 0.7, run.nic = 0.002, run.latency = 5;
  return run;
}

/// A message of so many bytes; on the last dimension what comes is not sent on.
double message(double bytes, bool last) {
  return (2 + 0.003 * bytes) + 0.7 + 0.002 * bytes + 5 + (2 + 0.003 * (last ? 0.4 : 1) * bytes);
}

}  // namespace

TEST_CASE("short blocks take a chain of log2(n) messages") {
  CHECK(pat_makespan(with_costs(run_of({{1, 1, 1}}))) == Approx(message(1000, true)));
  CHECK(pat_makespan(with_costs(run_of(gather_8))) ==
        Approx(message(1000, false) + message(2000, false) + message(4000, true)));
  // A single last loop takes as long as a whole one.
  PatRun tail = with_costs(run_of(gather_8));
  tail.channels.front().loops = 0, tail.channels.front().tail = 500;
  CHECK(pat_makespan(tail) == Approx(message(500, false) + message(1000, false) + message(2000, true)));
}

TEST_CASE("channels share the proxy thread and the NIC") {
  // Two channels in step: the second's message waits for the first's at the proxy thread, and shares the NIC with it.
  PatRun run = run_of({{1, 1, 1}});
  run.channels.push_back(run.channels.front()), run.proxy = 3;
  CHECK(pat_makespan(run) == Approx(6));
  run.proxy = 0, run.nic = 0.002;
  CHECK(pat_makespan(run) == Approx(4));
}

TEST_CASE("a NIC that is never idle takes the time of all blocks") {
  // n - 1 blocks per loop, in one message or in several.
  for (const auto& dimensions : {gather_8, long_gather_8})
    for (const int channels : {1, 2, 5})
      for (const std::int64_t loops : {1, 3, 50, 1003}) {
        PatRun run = run_of(dimensions);
        run.nic = 0.002, run.channels.assign(static_cast<std::size_t>(channels), {dimensions, loops, -1});
        CHECK(pat_makespan(run) == Approx(static_cast<double>(loops) * channels * 7 * 1000 * 0.002));
        for (PatShare& share : run.channels) share.tail = 100;
        CHECK(pat_makespan(run) == Approx((static_cast<double>(loops) * 1000 + 100) * channels * 7 * 0.002));
      }
}

TEST_CASE("a proxy thread that is never idle takes the time of all messages") {
  PatRun run = run_of(long_gather_8);
  run.proxy = 2, run.channels.front().loops = 100;
  CHECK(pat_makespan(run) == Approx(100 * 7 * 2));
  run.channels.front().dimensions = gather_8;
  CHECK(pat_makespan(run) == Approx(100 * 3 * 2));
}

TEST_CASE("with one slot every message waits for a round trip") {
  for (const std::int64_t loops : {2, 12, 20, 21, 4001}) {
    PatRun run = with_costs(run_of({{1, 1, 1}}));
    run.slots = 1, run.channels.front().loops = loops;
    const auto n = static_cast<double>(loops);
    CHECK(pat_makespan(run) == Approx(n * message(1000, true) + (n - 1) * 5));
  }
}

TEST_CASE("a channel with a smaller share leaves the NIC to the others") {
  PatRun run;
  run.nic = 0.002, run.block = 1000;
  run.channels = {{long_gather_8, 3, -1}, {gather_8, 0, 600}};
  CHECK(pat_makespan(run) == Approx((3 * 7 * 1000 + 7 * 600) * 0.002));
}

TEST_CASE("an early message waits for its turn in the schedule") {
  // Two dimensions and an empty last loop, whose first message overtakes the whole loop's second one:
  //   whole, first   copied 0-3, sent -13, received 13-16
  //   whole, second  copied 16-19, sent -29, received 29-32
  //   last, first    copied 19-22, sent at once, received 32-35
  //   last, second   copied 35-38, sent at once, received 38-41
  PatRun run = run_of({{1, 1, 1}, {1, 1, 1}});
  run.overhead = 3, run.nic = 0.01, run.channels.front().tail = 0;
  CHECK(pat_makespan(run) == Approx(41));
}
