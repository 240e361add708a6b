// DCQCN's rates against what is known without them: the fixed point of the fluid model of [Zhu2015], bytes over
// capacity, symmetry. Runs of packets are compared in packets_test.cpp.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>

#include "fabricast/core/rng.hpp"
#include "fabricast/engine/dcqcn.hpp"

namespace fabricast {
namespace {

constexpr double line = 50e9;  // B/s: 400 Gb/s
constexpr double mebi = 1 << 20;

/// `flows` flows over one link, each from a port of its own.
DcqcnProblem one_link(std::uint32_t flows, double bytes) {
  DcqcnProblem problem;
  problem.first.push_back(0);
  problem.capacity.push_back(BytesPerSecond{line});
  for (std::uint32_t f = 0; f < flows; ++f) {
    problem.capacity.push_back(BytesPerSecond{line});
    problem.link.insert(problem.link.end(), {f + 1, 0});
    problem.first.push_back(static_cast<std::uint32_t>(problem.link.size()));
    problem.bytes.push_back(Bytes{std::llround(bytes)});
    problem.round_trip.push_back(Seconds{4e-6});
  }
  return problem;
}

double last_of(const DcqcnProblem& problem, std::uint64_t seed) {
  const std::vector<Seconds> end = dcqcn_ends(problem, seed).end;
  return std::max_element(end.begin(), end.end())->value;
}

double mean_last(const DcqcnProblem& problem, int seeds = 20) {
  double sum = 0;
  for (int seed = 1; seed <= seeds; ++seed) sum += last_of(problem, static_cast<std::uint64_t>(seed));
  return sum / seeds;
}

/// The fraction of packets that are marked where N flows stay at C / N: equations (11) to (14) of [Zhu2015], with rates
/// in packets per second and p found by bisection.
double fixed_point(double flows, const DcqcnSettings& s, double packet) {
  const double rate = line / packet / flows, bytes = static_cast<double>(s.rpg_byte_reset.value) / packet;
  const double timer = s.rpg_time_reset.value, rise = s.rpg_ai_rate.value / packet, f = s.rpg_threshold;
  const double tau = s.min_time_between_cnps.value;
  const auto change = [&](double p) {
    const double q = 1 - p, alpha = 1 - std::pow(q, s.dce_tcp_rtt.value * rate), cut = 1 - std::pow(q, tau * rate);
    const double by_bytes = p / (std::pow(q, -bytes) - 1), by_time = p / (std::pow(q, -timer * rate) - 1);
    const double more = by_bytes * std::pow(q, f * bytes) + by_time * std::pow(q, f * timer * rate);
    const double gap = rise * rate * more * tau / cut;  // of target and rate
    return -rate * alpha / (2 * tau) * cut + gap / 2 * rate * (by_bytes + by_time);
  };
  double low = 1e-9, high = 0.5;
  for (int i = 0; i < 100; ++i) {
    const double middle = std::sqrt(low * high);
    (change(middle) > 0 ? low : high) = middle;
  }
  return low;
}

/// The paper's parameters for 40 Gb/s, rates and thresholds times ten.
DcqcnSettings paper() {
  DcqcnSettings s;
  s.kmin = {50'000}, s.kmax = {2'000'000}, s.pmax = {0.01};
  s.min_time_between_cnps = {50e-6}, s.rate_reduce_monitor_period = {1e-7}, s.rpg_min_dec_fac = {0};
  s.clamp_tgt_rate = true, s.dce_tcp_rtt = {55e-6}, s.dce_tcp_g = {1.0 / 256};
  s.rpg_time_reset = {55e-6}, s.rpg_byte_reset = {10'000'000}, s.rpg_threshold = 5;
  s.rpg_ai_rate = {50e6}, s.rpg_hai_rate = {500e6};
  return s;
}

TEST_CASE("a flow alone takes its bytes over the rate of its slowest link", "[engine][dcqcn]") {
  for (const double bytes : {1e3, 1e6, 64 * mebi}) {
    DcqcnProblem problem = one_link(1, bytes);
    const double packets = std::ceil(bytes / fractional(problem.packet));
    CHECK(last_of(problem, 1) == Approx(packets * fractional(problem.packet) / line).margin(2 * problem.step.value));
    CHECK(fair_ends(problem).front().value == Approx(packets * fractional(problem.packet) / line));
    CHECK(dcqcn_ends(problem, 1).use[0].marked == 0);
  }
}

TEST_CASE("long flows on a link mark as many packets as the fluid model's fixed point", "[engine][dcqcn]") {
  for (const std::uint32_t flows : {2U, 4U, 8U}) {
    CAPTURE(flows);
    DcqcnProblem problem = one_link(flows, 1e12);
    problem.settings = paper();
    // From 50 to 150 ms, so that the start is left out.
    double packets = 0, marked = 0, queued = 0, time = 0;
    for (const int ms : {50, 150}) {
      problem.most_work = std::uint64_t{flows} * static_cast<std::uint64_t>(ms * 1e-3 / problem.step.value);
      const DcqcnEnds found = dcqcn_ends(problem, 1);
      const DcqcnLinkUse& use = found.use[0];
      packets = use.packets - packets, marked = use.marked - marked,
      queued = fractional(use.queue) * found.simulated.value - queued;
      time = found.simulated.value - time;
    }
    const double p = fixed_point(flows, problem.settings, fractional(problem.packet));
    CHECK(marked / packets == Approx(p).epsilon(0.1));
    // Two flows swing so far that the queue is empty for a while.
    if (flows > 2) CHECK(queued / time == Approx(50e3 + p / 0.01 * 1950e3).epsilon(0.1));
    // The link is full.
    CHECK(packets * fractional(problem.packet) / time > 0.97 * line);
  }
}

/// Flows between random hosts of a leaf-spine network, each on a random spine.
DcqcnProblem random_network(std::uint64_t seed) {
  Rng rng(seed);
  const auto below = [&](std::uint64_t n) { return static_cast<std::uint32_t>(rng.below(n)); };
  const std::uint32_t leaves = 2 + below(3), hosts = 2 + below(4), spines = 1 + below(3), all = leaves * hosts;
  DcqcnProblem problem;
  problem.capacity.assign(2 * all + 2 * leaves * spines, BytesPerSecond{line});
  problem.first.push_back(0);
  for (std::uint32_t f = 0, n = 2 + below(12); f < n; ++f) {
    const std::uint32_t from = below(all), to = (from + 1 + below(all - 1)) % all, spine = below(spines);
    problem.link.push_back(from);
    if (from / hosts != to / hosts) {
      problem.link.push_back(2 * all + from / hosts * spines + spine);
      problem.link.push_back(2 * all + (leaves + to / hosts) * spines + spine);
    }
    problem.link.push_back(all + to);
    problem.first.push_back(static_cast<std::uint32_t>(problem.link.size()));
    problem.bytes.push_back(Bytes{100'000 * (1 + static_cast<std::int64_t>(below(40)))});
    problem.round_trip.push_back(Seconds{4e-6});
  }
  return problem;
}

TEST_CASE("no link carries more than its capacity, and nobody loses a packet", "[engine][dcqcn]") {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    CAPTURE(seed);
    DcqcnProblem problem = random_network(seed);
    if (seed % 3 == 0) problem.settings.xoff = {50'000};                // pauses
    if (seed % 5 == 0) problem.most_work = 500 * problem.bytes.size();  // the rest follows from mean rates
    const DcqcnEnds found = dcqcn_ends(problem, seed);
    std::vector<double> carried(problem.capacity.size(), 0);
    std::vector<std::size_t> order(problem.bytes.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](auto a, auto b) { return found.end[a] < found.end[b]; });
    for (const std::size_t f : order) {
      REQUIRE(found.end[f] > Seconds{});
      for (std::uint32_t h = problem.first[f]; h < problem.first[f + 1]; ++h) {
        double& sum = carried[problem.link[h]];
        sum += fractional(problem.bytes[f]);
        CHECK(sum <= line * (found.end[f] + problem.step).value * (1 + 1e-9));
      }
    }
    const std::vector<Seconds> fair = fair_ends(problem);
    for (std::size_t f = 0; f < fair.size(); ++f)
      CHECK(fair[f].value >= fractional(problem.bytes[f]) / line * (1 - 1e-9));
  }
}

TEST_CASE("flows that are alike end alike, on average over seeds", "[engine][dcqcn]") {
  const DcqcnProblem problem = one_link(4, 4 * mebi);
  std::vector<double> mean(4, 0);
  constexpr int seeds = 200;
  for (int seed = 1; seed <= seeds; ++seed) {
    const std::vector<Seconds> end = dcqcn_ends(problem, static_cast<std::uint64_t>(seed)).end;
    for (std::size_t f = 0; f < end.size(); ++f) mean[f] += end[f].value / seeds;
  }
  const double all = std::accumulate(mean.begin(), mean.end(), 0.0) / 4;
  for (const double m : mean) CHECK(m == Approx(all).epsilon(0.03));
}

TEST_CASE("the seed makes the marks, and nothing else does", "[engine][dcqcn]") {
  const DcqcnProblem problem = one_link(4, 16 * mebi);
  CHECK(dcqcn_ends(problem, 7).end == dcqcn_ends(problem, 7).end);
  CHECK(dcqcn_ends(problem, 7).end != dcqcn_ends(problem, 8).end);
}

TEST_CASE("more bytes take longer, and slower reactions of switches and NICs show where they should",
          "[engine][dcqcn]") {
  double before = 0;
  for (const double bytes : {0.5, 1.0, 4.0, 16.0, 64.0}) {
    const double last = mean_last(one_link(4, bytes * mebi), 10);
    CHECK(last > before);
    CHECK(last >= 4 * bytes * mebi / line);
    before = last;
  }
  // A timer of 55 us and a rise of 1 Gb/s help short flows, as packets say (docs/models/congestion.md).
  DcqcnProblem quick = one_link(4, 4 * mebi);
  const double shipped = mean_last(quick);
  quick.settings.rpg_time_reset = {55e-6}, quick.settings.rpg_ai_rate = {125e6};
  CHECK(mean_last(quick) < 0.75 * shipped);
  // Without marks nobody slows down, and pauses keep the link full.
  DcqcnProblem unmarked = one_link(4, 4 * mebi);
  unmarked.settings.kmin = {1'000'000'000}, unmarked.settings.kmax = {2'000'000'000};
  CHECK(mean_last(unmarked, 1) == Approx(fair_ends(unmarked).front().value).epsilon(0.01));
}

TEST_CASE("pauses bound the queue", "[engine][dcqcn]") {
  DcqcnProblem problem = one_link(8, 4 * mebi);
  problem.settings.kmin = {1'000'000'000}, problem.settings.kmax = {2'000'000'000};
  CHECK(fractional(dcqcn_ends(problem, 1).use[0].most) < 8 * (1e6 + 2 * line * problem.step.value));
  problem.settings.xoff = {1'000'000'000};
  CHECK(fractional(dcqcn_ends(problem, 1).use[0].most) == Approx(7 * 4 * mebi).epsilon(0.01));
}

TEST_CASE("a simulation that is cut short ends about when a whole one does", "[engine][dcqcn]") {
  DcqcnProblem problem = one_link(4, 64 * mebi);
  const double whole = mean_last(problem, 10);
  problem.most_work = 4 * 2500;  // of 6,000 steps
  CHECK(mean_last(problem, 10) == Approx(whole).epsilon(0.15));
}

}  // namespace
}  // namespace fabricast
