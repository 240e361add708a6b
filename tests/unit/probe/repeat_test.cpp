#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <set>

#include "fabricast/calibrate/probe.hpp"
#include "fabricast/core/rng.hpp"

namespace fabricast {
namespace {

using Catch::Detail::Approx;

/// A clock that only measuring advances, and the rounds that were requested.
struct Fake {
  Seconds time{100};
  std::vector<int> rounds;
  std::function<Seconds(int)> sample = [](int) { return Seconds{0.001}; };
  int taken = 0;

  std::vector<Seconds> run(int repeats) {
    rounds.push_back(repeats);
    std::vector<Seconds> samples;
    for (int i = 0; i < repeats; ++i) samples.push_back(sample(taken++)), time += samples.back();
    return samples;
  }
  SampleSet repeat(Seconds share, const Repeats& repeats = {}) {
    return repeat_until_tight([this](int k) { return run(k); }, repeats, share, [this] { return time; });
  }
};

TEST_CASE("the interval of a median comes from order statistics", "[probe]") {
  std::vector<Seconds> samples;
  for (int i = 99; i >= 0; --i) samples.push_back({static_cast<double>(i)});
  const SampleSet set = summarise(samples);
  CHECK(set.median.value == 49.5);
  // Of 100 samples the 40th from each end: P(39 or fewer of 100 coins) is 1.8 % on each side.
  CHECK(set.low.value == 39);
  CHECK(set.high.value == 60);
  CHECK(set.samples.front().value == 99);  // in the order taken

  CHECK(summarise({{3.0}, {1.0}}).median.value == 2);
  CHECK(summarise({{3.0}, {1.0}}).low.value == 1);
  CHECK(summarise({}).samples.empty());
}

TEST_CASE("the interval covers the true median in 95 of 100 trials", "[probe]") {
  Rng rng(7);
  int held = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    std::vector<Seconds> samples;
    for (int i = 0; i < 25; ++i) samples.push_back({-std::log(1 - rng.uniform())});
    const SampleSet set = summarise(samples);
    held += set.low.value <= std::log(2.0) && std::log(2.0) <= set.high.value;
  }
  CHECK(held >= 2000 * 0.94);
  CHECK(held <= 2000 * 0.985);
}

TEST_CASE("steady samples end soon, after a warm-up that is discarded", "[probe]") {
  Fake fake;
  fake.sample = [](int i) { return Seconds{i == 0 ? 1.0 : 0.001}; };
  const SampleSet set = fake.repeat({10});
  CHECK(fake.rounds == std::vector<int>{1, 1, 2, 4, 8});
  CHECK(set.samples.size() == 15);
  CHECK(set.high.value == 0.001);
}

TEST_CASE("noisy samples are repeated until the interval is tight, or up to the maximum", "[probe]") {
  Fake fake;
  Rng rng(3);
  fake.sample = [&](int) { return Seconds{1e-5 * rng.uniform(0.8, 1.2)}; };
  const SampleSet set = fake.repeat({100});
  CHECK(set.samples.size() > 100);
  CHECK(set.samples.size() < 2000);
  CHECK((set.high - set.low).value <= 0.04 * set.median.value);

  Fake wild;
  wild.sample = [&](int) { return Seconds{1e-5 * std::exp(rng.uniform(-3, 3))}; };
  CHECK(wild.repeat({100}).samples.size() == 2000);
}

TEST_CASE("the share of the budget bounds a measurement, but one sample is always taken", "[probe]") {
  Fake fake;
  Rng rng(5);
  fake.sample = [&](int) { return Seconds{0.01 * rng.uniform(0.1, 1.9)}; };
  fake.repeat({1});
  CHECK(fake.time.value - 100 > 0.9);
  CHECK(fake.time.value - 100 < 1.2);

  Fake slow;
  slow.sample = [](int) { return Seconds{7}; };
  CHECK(slow.repeat({0.5}).samples.size() == 1);
}

TEST_CASE("rounds take no longer than a quarter of a second, so that the clock is checked between them", "[probe]") {
  Fake fake;
  Rng rng(5);
  fake.sample = [&](int) { return Seconds{0.001 * rng.uniform(0.5, 1.5)}; };
  fake.repeat({3});
  for (const int round : fake.rounds) CHECK(round <= 300);
  CHECK(*std::max_element(fake.rounds.begin(), fake.rounds.end()) > 100);
}

TEST_CASE("a failure keeps the samples before it", "[probe]") {
  Fake fake;
  Rng rng(5);
  fake.sample = [&](int i) {
    if (i == 30) throw ProbeFailure("the cable is out");
    return Seconds{0.001 * rng.uniform(0.1, 2)};
  };
  const SampleSet set = fake.repeat({10});
  CHECK(set.error == "the cable is out");
  CHECK(set.samples.size() == 15);  // 1, 2, 4, 8; the round of 16 is lost
  CHECK(set.median.value > 0);
}

std::vector<Measurement> some_plan() {
  std::vector<Measurement> plan;
  for (const std::int64_t bytes : {8, 1024, 65536, 1 << 20})
    for (const int to : {1, 2, 3}) {
      Measurement m;
      m.backend = "tcp", m.what = "latency", m.memory = "host", m.to = to, m.bytes = {bytes};
      m.estimate = {to * 1.0}, m.traffic = {bytes * 100};
      plan.push_back(m);
    }
  return plan;
}

std::vector<std::string> keys(const std::vector<Measurement>& plan) {
  std::vector<std::string> list;
  for (const Measurement& m : plan) list.push_back(m.key());
  return list;
}

TEST_CASE("the order depends only on the seed", "[probe]") {
  auto a = some_plan(), b = some_plan(), c = some_plan();
  std::reverse(b.begin(), b.end());
  shuffle_plan(a, 1), shuffle_plan(b, 1), shuffle_plan(c, 2);
  CHECK(keys(a) == keys(b));
  CHECK(keys(a) != keys(c));
  CHECK(keys(a) != keys(some_plan()));
  auto sorted_a = keys(a), sorted_c = keys(c);
  std::sort(sorted_a.begin(), sorted_a.end()), std::sort(sorted_c.begin(), sorted_c.end());
  CHECK(sorted_a == sorted_c);
}

TEST_CASE("time that a measurement leaves is shared by the later ones", "[probe]") {
  const auto plan = some_plan();  // 4 * (1 + 2 + 3) s
  CHECK(share_of(plan, 0, {48}).value == Approx(2));
  CHECK(share_of(plan, 2, {48}).value == Approx(48 * 3.0 / 21));
  CHECK(share_of(plan, plan.size() - 1, {48}).value == Approx(48));
}

TEST_CASE("keys distinguish measurements in every member", "[probe]") {
  Measurement m = some_plan()[0];
  const std::string before = m.key();
  CHECK(before == "tcp latency host 0 -> 1 8B x1");
  std::set<std::string> seen{before};
  for (const std::function<void(Measurement&)>& change : std::vector<std::function<void(Measurement&)>>{
           [](auto& x) { x.backend = "verbs"; }, [](auto& x) { x.what = "bandwidth"; },
           [](auto& x) { x.memory = "gpu"; }, [](auto& x) { x.from = 2; }, [](auto& x) { x.to = 2; },
           [](auto& x) { x.from_port = "rxe0/1"; }, [](auto& x) { x.to_port = "rxe0/1"; },
           [](auto& x) { x.bytes = {9}; }, [](auto& x) { x.connections = 2; }}) {
    Measurement other = m;
    change(other);
    CHECK(seen.insert(other.key()).second);
  }
}

TEST_CASE("the text of the plan states time and traffic", "[probe]") {
  const std::string text = plan_text(some_plan(), {60});
  CHECK(text.find("tcp      latency               1MiB           1      3      6.0    0.315 GB\n") !=
        std::string::npos);
  CHECK(text.find("12 measurements, about 24 s and 0.335 GB at the assumed rates; budget 60 s\n") != std::string::npos);
  CHECK(text.find("short") == std::string::npos);
  CHECK(plan_text(some_plan(), {20}).find("The budget is too short") != std::string::npos);
}

}  // namespace
}  // namespace fabricast
