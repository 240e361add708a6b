// Months that are drawn, against closed forms.
#include "../../../sim/answer/risk/month.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "../../../sim/answer/risk/checkpoint.hpp"

namespace fabricast {
namespace {

constexpr double day = 86400, hour = 3600;

struct Mean {
  double value = 0, error = 0;
};

/// Useful part of the time, over samples.
Mean goodput(const MonthModel& model, int samples) {
  double sum = 0, squares = 0;
  for (int i = 0; i < samples; ++i) {
    Rng rng(mix64(static_cast<std::uint64_t>(i)));
    const double u = sample_month(model, rng).useful / model.length;
    sum += u, squares += u * u;
  }
  const double mean = sum / samples;
  return {mean, std::sqrt((squares / samples - mean * mean) / (samples - 1))};
}

/// One healthy pace, for so long that how a month begins and ends does not show.
MonthModel plain() {
  MonthModel m;
  m.length = 9000 * day, m.network_samples = {2}, m.median = 2, m.saves = false;
  return m;
}

FailureSource stops_every(double seconds) {
  FailureSource s;
  s.rate = 1 / seconds, s.stops = true;
  return s;
}

TEST_CASE("with stops alone, goodput is Daly's expectation", "[risk]") {
  const double between = GENERATE(2 * hour, 8 * hour, 2 * day);
  const double every = GENERATE(900.0, 2 * hour);
  const double pause = GENERATE(0.0, 60.0);
  const double restart = GENERATE(0.0, 900.0);
  MonthModel m = plain();
  m.saves = true, m.every = every, m.pause = pause, m.start = restart;
  m.sources = {stops_every(between)};
  const Mean mean = goodput(m, 40);
  INFO(between << " " << every << " " << pause << " " << restart << " error " << mean.error);
  CHECK(mean.error < 0.002);
  CHECK(std::abs(mean.value - daly_goodput(every, pause, restart, between)) < 4 * mean.error + 1e-6);
}

TEST_CASE("detection is part of the restart", "[risk]") {
  MonthModel m = plain();
  m.saves = true, m.every = 1800, m.pause = 10, m.start = 300;
  m.sources = {stops_every(6 * hour)};
  m.sources[0].detect = 600;
  const Mean mean = goodput(m, 40);
  CHECK(std::abs(mean.value - daly_goodput(1800, 10, 900, 6 * hour)) < 4 * mean.error + 1e-6);
}

TEST_CASE("several kinds of stops act as one with the sum of their rates", "[risk]") {
  MonthModel m = plain();
  m.saves = true, m.every = hour, m.pause = 30, m.start = 600;
  m.sources = {stops_every(10 * hour), stops_every(20 * hour), stops_every(20 * hour)};
  const Mean mean = goodput(m, 40);
  CHECK(std::abs(mean.value - daly_goodput(hour, 30, 600, 5 * hour)) < 4 * mean.error + 1e-6);
}

TEST_CASE("degradations alone are a queue with a server for each", "[risk]") {
  // So many are under way as in a queue with a server for each: none with e^-(rate x repair).
  MonthModel m = plain();
  FailureSource slow;
  slow.rate = 1 / (5 * day), slow.lasts = 2 * day, slow.slowdowns = {1.5};
  m.sources = {slow};
  const Mean mean = goodput(m, 60);
  const double none = std::exp(-slow.rate * slow.lasts);
  CHECK(std::abs(mean.value - (none + (1 - none) / 1.5)) < 4 * mean.error);
}

TEST_CASE("the worst of several degradations counts", "[risk]") {
  MonthModel m = plain();
  FailureSource a, b;
  a.rate = 1 / (4 * day), a.lasts = day, a.slowdowns = {2};
  b.rate = 1 / (2 * day), b.lasts = day, b.slowdowns = {1.25};
  m.sources = {a, b};
  const Mean mean = goodput(m, 60);
  const double no_a = std::exp(-0.25), no_b = std::exp(-0.5);
  CHECK(std::abs(mean.value - (no_a * no_b + no_a * (1 - no_b) / 1.25 + (1 - no_a) / 2)) < 4 * mean.error);
}

TEST_CASE("without spares the job waits for the repair", "[risk]") {
  MonthModel m = plain();
  m.sources = {stops_every(3 * day)};
  m.sources[0].hosts = 1, m.sources[0].lasts = day;
  const Mean none = goodput(m, 60);
  CHECK(std::abs(none.value - 0.75) < 4 * none.error + 1e-4);
  m.spares = 50;
  CHECK(goodput(m, 10).value > 0.9999);
  // A leaf takes away more hosts than there are spares.
  m.sources[0].hosts = 64;
  CHECK(std::abs(goodput(m, 60).value - 0.75) < 4 * none.error + 1e-4);
}

TEST_CASE("stalls take the time in which one is in progress", "[risk]") {
  MonthModel m = plain();
  m.stalls = 0.1;
  CHECK(goodput(m, 3).value == Approx(std::exp(-0.1)));
  m.stalls_variance = 1e-4;
  const Mean mean = goodput(m, 2000);
  CHECK(mean.error > 0);
  CHECK(std::abs(mean.value - std::exp(-0.1)) < 4 * mean.error + 1e-4);
}

TEST_CASE("a stop loses an asynchronous checkpoint that is not yet written", "[risk]") {
  MonthModel m = plain();
  m.saves = true, m.every = 1000, m.sources = {stops_every(2 * day)};
  const double at_once = goodput(m, 100).value;
  m.durable = 900;
  // The last interval is lost, too, for a part 0.9 of the time: another 900 s of every two days.
  CHECK(at_once - goodput(m, 100).value == Approx(900 / (2 * day)).epsilon(0.1));
}

TEST_CASE("useful and lost time add up to the month", "[risk]") {
  MonthModel m = plain();
  m.length = 30 * day, m.network_samples = {2, 2.1, 1.9}, m.saves = true, m.every = 700, m.pause = 3, m.durable = 40,
  m.start = 500;
  m.spares = 2, m.stalls = 0.02, m.stalls_variance = 1e-6;
  FailureSource slow;
  slow.rate = 1 / day, slow.lasts = day / 2, slow.slowdowns = {1.1, 1, 3};
  m.sources = {stops_every(5 * hour), slow};
  m.sources[0].hosts = 1, m.sources[0].lasts = day, m.sources[0].detect = 30;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Rng rng(seed);
    const MonthOutcome out = sample_month(m, rng);
    double sum = out.useful + out.saving + out.stalls + out.network_samples;
    for (const MonthOutcome::Source& s : out.sources) sum += s.total();
    CHECK(sum == Approx(m.length).epsilon(1e-9));
    CHECK(out.sources[0].waiting > 0);
    CHECK(out.sources[1].slow > 0);
    CHECK(out.sources[1].redone == 0);
  }
}

TEST_CASE("the optimal interval maximizes Daly's expectation", "[risk]") {
  for (const double pause : {5.0, 60.0, 600.0})
    for (const double between : {6 * hour, 3 * day}) {
      const double best = best_interval(Seconds{pause}, Seconds{between}).value;
      const double most = daly_goodput(best, pause, 300, between);
      double largest = 0;
      for (double every = best / 10; every < 10 * best; every *= 1.01)
        largest = std::max(largest, daly_goodput(every, pause, 300, between));
      INFO(pause << " " << between << " " << best);
      CHECK(most >= largest * (1 - 1e-4));
      CHECK(best == Approx(std::sqrt(2 * pause * between)).epsilon(0.25));  // Young
    }
  CHECK(best_interval(Seconds{10}, Seconds{4}) == Seconds{4});
}

}  // namespace
}  // namespace fabricast
