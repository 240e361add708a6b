#include "fabricast/workload/schedule.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <tuple>

using namespace fabricast;
using Catch::Detail::Approx;
using Kind = PipelineWork::Kind;

namespace {

/// The end of the last pass, with forward 1, backward 2 (weights half of it), and no time between stages.
double makespan(PipelineSchedule schedule, int p, int v, int m) {
  const auto order = pipeline_order(schedule, p, v, m);
  const bool split = schedule == PipelineSchedule::zero_bubble;
  std::map<std::tuple<int, int, int>, double> done;  // kind, chunk of the model, micro-batch
  std::vector<std::size_t> next(order.size(), 0);
  std::vector<double> free(order.size(), 0);
  const int last = p * v - 1;
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t s = 0; s < order.size(); ++s) {
      if (next[s] == order[s].size()) continue;
      const PipelineWork& w = order[s][next[s]];
      const int chunk = w.chunk * p + static_cast<int>(s), mb = w.micro_batch;
      double ready = 0;
      const auto need = [&](int kind, int c) {
        const auto it = done.find({kind, c, mb});
        if (it == done.end()) return false;
        ready = std::max(ready, it->second);
        return true;
      };
      if (w.kind == Kind::forward && chunk > 0 && !need(0, chunk - 1)) continue;
      if (w.kind == Kind::backward && (!need(0, chunk) || (chunk < last && !need(1, chunk + 1)))) continue;
      if (w.kind == Kind::weights && !need(1, chunk)) continue;
      const double seconds = (w.kind == Kind::backward && !split ? 2.0 : 1.0) / v;
      free[s] = std::max(free[s], ready) + seconds;
      done[{static_cast<int>(w.kind), chunk, mb}] = free[s];
      ++next[s], moved = true;
    }
  }
  for (std::size_t s = 0; s < order.size(); ++s) REQUIRE(next[s] == order[s].size());
  return *std::max_element(free.begin(), free.end());
}

}  // namespace

TEST_CASE("every stage works on every chunk of every micro-batch once") {
  for (const auto schedule : {PipelineSchedule::gpipe, PipelineSchedule::one_f_one_b, PipelineSchedule::interleaved,
                              PipelineSchedule::zero_bubble})
    for (const int p : {1, 2, 4, 7}) {
      const int v = schedule == PipelineSchedule::interleaved ? 3 : 1, m = 2 * p;
      for (const auto& order : pipeline_order(schedule, p, v, m)) {
        std::set<std::tuple<int, int, int>> seen;
        for (const PipelineWork& w : order)
          CHECK(seen.insert({static_cast<int>(w.kind), w.chunk, w.micro_batch}).second);
        CHECK(seen.size() == static_cast<std::size_t>((schedule == PipelineSchedule::zero_bubble ? 3 : 2) * v * m));
      }
    }
}

TEST_CASE("the bubble agrees with the formulas") {
  // A micro-batch takes 3; of p - 1 of them stages wait, of a v-th of that with v chunks [Narayanan2021].
  for (const int p : {2, 4, 8})
    for (const int m : {8, 16}) {
      CHECK(makespan(PipelineSchedule::gpipe, p, 1, m) == Approx(3.0 * (m + p - 1)));
      CHECK(makespan(PipelineSchedule::one_f_one_b, p, 1, m) == Approx(3.0 * (m + p - 1)));
      CHECK(makespan(PipelineSchedule::interleaved, p, 2, m) == Approx(3.0 * (m + (p - 1) / 2.0)));
      CHECK(makespan(PipelineSchedule::interleaved, p, 4, m) == Approx(3.0 * (m + (p - 1) / 4.0)));
      // ZB-H1 waits for a third of it: (p - 1)(forward + backward - weights) [Qi2023].
      CHECK(makespan(PipelineSchedule::zero_bubble, p, 1, m) == Approx(3.0 * m + (p - 1)));
    }
}

TEST_CASE("1f1b holds as many micro-batches as there are stages after it") {
  const auto order = pipeline_order(PipelineSchedule::one_f_one_b, 4, 1, 16);
  for (int s = 0; s < 4; ++s) CHECK(chunks_in_flight(order[static_cast<std::size_t>(s)]) == 4 - s);
  CHECK(chunks_in_flight(pipeline_order(PipelineSchedule::gpipe, 4, 1, 16)[3]) == 16);
  // The first stage of an interleaved pipeline: 2 (p - 1) + (v - 1) p + 1 chunks.
  CHECK(chunks_in_flight(pipeline_order(PipelineSchedule::interleaved, 4, 2, 16)[0]) == 11);
  for (const auto& stage : pipeline_order(PipelineSchedule::zero_bubble, 4, 1, 16)) CHECK(chunks_in_flight(stage) == 4);
}
