#include "fabricast/step/timeline.hpp"

#include <catch2/catch.hpp>
#include <map>

#include "fabricast/core/error.hpp"

using namespace fabricast;
using Catch::Detail::Approx;

namespace {

/// Collectives of given times. Those that share a link run at half pace while they overlap.
class FakeTraffic final : public Traffic {
 public:
  explicit FakeTraffic(std::map<std::uint32_t, double> seconds, bool shared = false) : shared_(shared) {
    for (const auto& [kind, s] : seconds) times_[kind].makespan = Seconds{s};
  }
  const CollectiveTime& alone(std::uint32_t kind) override { return times_.at(kind); }
  bool is_independent(std::uint32_t) override { return !shared_; }
  void paces(std::span<const std::uint32_t> kinds, std::span<double> paces) override {
    for (double& p : paces) p = 1.0 / static_cast<double>(kinds.size());
  }

 private:
  std::map<std::uint32_t, CollectiveTime> times_;
  bool shared_;
};

struct Maker {
  Program program;
  Maker(std::size_t actors, std::size_t collectives) {
    for (std::size_t a = 0; a < actors; ++a) program.actors.push_back({"a", {"compute", "net", "net2"}, 1});
    program.collectives.resize(collectives);
    for (auto& e : program.collectives) e.part = Part::data;
  }
  std::uint32_t work(double seconds, std::vector<std::uint32_t> needs = {}, std::uint32_t actor = 0) {
    Activity a;
    a.time = Seconds{seconds};
    const Place place{actor, 0};
    return program.add(a, {&place, 1}, needs);
  }
  std::uint32_t collective(std::uint32_t kind, std::vector<std::uint32_t> needs = {},
                           std::vector<Place> places = {{0, 1}}) {
    Activity a;
    a.collective = kind, a.part = program.collectives[kind].part;
    return program.add(a, places, needs);
  }
};

double sum(const ActorTimes& t) {
  Seconds all = t.interference + t.bubble;
  for (std::size_t p = 0; p < part_count; ++p) all += t.busy[p] + t.exposed[p];
  return all.value;
}

}  // namespace

TEST_CASE("work on a stream runs in order") {
  Maker m(1, 0);
  m.work(1), m.work(2);
  FakeTraffic traffic({});
  const Timeline t = run_program(m.program, traffic);
  CHECK(t.time.value == 3);
  CHECK(t.start[1].value == 1);
  CHECK(t.actors[0].busy[0].value == 3);
}

TEST_CASE("a collective that overlaps computation is hidden, and slows it down") {
  Maker m(1, 1);
  const auto first = m.work(1);
  const auto x = m.collective(0, {first});
  m.work(4);
  m.work(1, {x});
  FakeTraffic traffic({{0, 2.0}});
  CHECK(run_program(m.program, traffic).time.value == 6);
  TimelineOptions options;
  options.interference = {0.25};
  // For two seconds the pace is three quarters: half a second is lost.
  const Timeline t = run_program(m.program, traffic, options);
  CHECK(t.time.value == Approx(6.5));
  CHECK(t.actors[0].interference.value == Approx(0.5));
  CHECK(t.actors[0].bubble.value == Approx(0).margin(1e-12));
}

TEST_CASE("the exposed time of a collective is reported, and all components add up") {
  Maker m(1, 1);
  const auto first = m.work(1);
  const auto x = m.collective(0, {first});
  m.work(0.5);
  m.work(1, {x});
  FakeTraffic traffic({{0, 2.0}});
  const Timeline t = run_program(m.program, traffic);
  CHECK(t.time.value == 4);
  CHECK(t.actors[0].exposed[static_cast<std::size_t>(Part::data)].value == Approx(1.5));
  CHECK(sum(t.actors[0]) == Approx(t.time.value));
}

TEST_CASE("a collective of two actors waits for both, and the wait is a bubble") {
  Maker m(2, 1);
  m.program.collectives[0].part = Part::pipeline;
  const auto there = m.work(3, {}, 0);
  const auto x = m.collective(0, {there}, {{0, 1}, {1, 1}});
  m.work(1, {x}, 1);
  FakeTraffic traffic({{0, 0.5}});
  const Timeline t = run_program(m.program, traffic);
  CHECK(t.time.value == 4.5);
  CHECK(t.actors[1].bubble.value == Approx(3));
  CHECK(t.actors[1].exposed[static_cast<std::size_t>(Part::pipeline)].value == Approx(0.5));
  // The first one waits for the second at the end.
  CHECK(sum(t.actors[0]) == Approx(t.time.value));
  CHECK(sum(t.actors[1]) == Approx(t.time.value));
}

TEST_CASE("collectives that share a link slow each other while both run") {
  Maker m(1, 2);
  m.collective(0, {}, {{0, 1}});
  m.collective(1, {}, {{0, 2}});
  FakeTraffic traffic({{0, 1.0}, {1, 3.0}}, true);
  const Timeline t = run_program(m.program, traffic);
  CHECK(t.end[0].value == Approx(2));  // at half pace all along
  CHECK(t.end[1].value == Approx(4));  // one of its three seconds at half pace
}

TEST_CASE("n calls take n times as long") {
  Maker m(1, 1);
  m.collective(0);
  m.program.activities[0].calls = 2.5;
  FakeTraffic traffic({{0, 2.0}});
  CHECK(run_program(m.program, traffic).time.value == 5);
}

TEST_CASE("a slow actor holds up the others") {
  Maker m(2, 1);
  const auto a = m.work(1, {}, 0), b = m.work(1, {}, 1);
  m.collective(0, {a, b}, {{0, 1}, {1, 1}});
  FakeTraffic traffic({{0, 1.0}});
  TimelineOptions options;
  options.slower = {1, 1.5};
  CHECK(run_program(m.program, traffic, options).time.value == Approx(2.5));
}

TEST_CASE("a cycle of dependencies is an internal error") {
  Maker m(1, 0);
  m.work(1, {1});
  m.work(1);
  FakeTraffic traffic({});
  CHECK_THROWS_AS(run_program(m.program, traffic), InternalError);
}
