// Times of calls of groups of ranks: against the forecast of the whole job, against smaller jobs, against lower bounds
// of the wires, and what is refused.
#include "fabricast/report/call_times.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>
#include <random>
#include <thread>

#include "fabricast/report/forecast.hpp"
#include "support/worlds.hpp"

namespace fabricast {
namespace {

using Catch::Matchers::Contains;
using Ranks = std::vector<std::uint32_t>;

constexpr std::int64_t KiB = 1024, MiB = 1024 * KiB, GiB = 1024 * MiB;

std::string cluster(int nodes, const std::string& more = {}) {
  return "node: {profile: hgx-h100}\ncluster: {nodes: " + std::to_string(nodes) +
         "}\nfabric: {kind: single_switch, switch: {ports: 256}}\nnccl: {version: 2.27}\n" + more;
}

std::string workload(const std::string& collective) {
  return "workload: {collective: " + collective + ", sizes: [1KiB, 1MiB, 1GiB], harness: {tool: isolated}}\n";
}

Ranks range(std::uint32_t count, std::uint32_t first = 0, std::uint32_t step = 1) {
  Ranks ranks;
  for (std::uint32_t i = 0; i < count; ++i) ranks.push_back(first + i * step);
  return ranks;
}

CallTimes times_of(const World& world, const CallTimesOptions& options = {}) {
  return {world, unmeasured_site(), options};
}

constexpr CallTimesOptions bare{false};

std::vector<CallTime> ask(const CallTimes& network, const std::string& name, const Ranks& ranks,
                          const std::vector<std::int64_t>& bytes, double at = 0, int threads = 1) {
  std::vector<CallTime> times(bytes.size());
  network.times({call_kind_from(name), ranks, Seconds{at}}, bytes, times, threads);
  return times;
}

Seconds ask_one(const CallTimes& network, const std::string& name, const Ranks& ranks, std::int64_t bytes,
                double at = 0) {
  return ask(network, name, ranks, {bytes}, at).front().time;
}

TEST_CASE("a group of all ranks has the times and the intervals of the forecast", "[call_times]") {
  const std::string ecmp = "routing: {kind: ecmp, seeds: 7}\n";
  struct Case {
    std::string text, collective;
  };
  for (const Case& c :
       {Case{cluster(1), "all_reduce"}, Case{cluster(2), "all_gather"}, Case{cluster(2), "alltoall"},
        Case{"node: {profile: hgx-h100-roce}\ncluster: {nodes: 4}\nfabric: {kind: leaf_spine}\n" + ecmp, "all_reduce"},
        Case{"node: {profile: dgx-a100}\ncluster: {nodes: 2}\n", "reduce_scatter"}}) {
    const World world = test::world_of(c.text + workload(c.collective));
    Forecast forecast = run_forecast(world);
    add_intervals(forecast);
    const auto all = range(static_cast<std::uint32_t>(world.planner().comm.ranks()));
    const auto times = ask(times_of(world), c.collective, all, {KiB, MiB, GiB}, 0, 2);
    for (std::size_t i = 0; i < times.size(); ++i) {
      const ForecastRow& row = forecast.rows[i];
      INFO(c.text << c.collective << ' ' << row.bytes);
      CHECK(times[i].time.value == row.time.value);
      CHECK(times[i].low.value == Approx((row.time / row.factor).value).epsilon(1e-9));
      CHECK(times[i].high.value == Approx((row.time * row.factor).value).epsilon(1e-9));
      CHECK(row.factor > 1.01);
      CHECK(times[i].algorithm == row.algorithm);
      CHECK(times[i].protocol == row.protocol);
      CHECK(times[i].channels == row.channels);
      CHECK(times[i].launch.value == row.result.launch.value);
    }
  }
}

TEST_CASE("the hosts of a group are a job of their own", "[call_times]") {
  // All pairs of hosts are alike behind one switch.
  const CallTimes network = times_of(test::world_of(cluster(4) + workload("all_reduce")));
  const CallTimes two = times_of(test::world_of(cluster(2) + workload("all_reduce")));
  for (const char* name : {"all_reduce", "all_gather", "alltoall"})
    for (const std::int64_t bytes : {KiB, MiB, GiB}) {
      INFO(name << ' ' << bytes);
      const CallTime part = ask(network, name, range(16, 8), {bytes}).front();
      const CallTime whole = ask(two, name, range(16), {bytes}).front();
      CHECK(part.time.value == Approx(whole.time.value).epsilon(1e-9));
      CHECK(part.high / part.time == Approx(whole.high / whole.time).epsilon(1e-6));
    }
  // And so is a single host.
  const CallTimes one = times_of(test::world_of(cluster(1) + workload("all_reduce")));
  CHECK(ask_one(network, "all_reduce", range(8, 24), GiB).value ==
        Approx(ask_one(one, "all_reduce", range(8), GiB).value).epsilon(1e-9));
}

TEST_CASE("no group is faster than its wires", "[call_times]") {
  // Data sheets: 450 GB/s of NVLink in each direction of an H100; 400 Gb/s of a NIC for each GPU.
  constexpr double nvlink = 450e9, nic = 50e9;
  const CallTimes network = times_of(test::world_of(cluster(8) + workload("all_reduce")), bare);
  struct Case {
    Ranks ranks;
    double rate;
  };
  // Tensor-parallel groups inside a host, data-parallel groups of one GPU of each host.
  for (const Case& c : {Case{range(2), nvlink}, Case{range(4, 4), nvlink}, Case{range(8, 8), nvlink},
                        Case{range(8, 0, 8), nic}, Case{range(4, 5, 16), nic}, Case{range(2, 3, 32), nic}}) {
    const auto n = static_cast<double>(c.ranks.size());
    for (const std::int64_t bytes : {MiB, GiB}) {
      const auto size = static_cast<double>(bytes);
      INFO(c.ranks.front() << ' ' << n << ' ' << bytes);
      // What every rank must send at least, whatever the algorithm: half of a ring's all-reduce where a switch reduces.
      const bool switch_reduces = c.rate == nvlink;
      const double ring = 2 * (n - 1) / n * size / c.rate;
      const double reduced = ask_one(network, "all_reduce", c.ranks, bytes).value;
      CHECK(reduced > (switch_reduces ? size / c.rate : ring));
      CHECK(ask_one(network, "all_gather", c.ranks, bytes).value > (n - 1) / n * size / c.rate);
      CHECK(ask_one(network, "reduce_scatter", c.ranks, bytes).value > (n - 1) / n * size / c.rate);
      // Long messages come near the wires; a time of another unit or size would not.
      if (bytes == GiB) CHECK(reduced < 2.2 * ring);
    }
  }
  CHECK(ask_one(network, "send", {0, 8}, GiB).value > GiB / nic);
  CHECK(ask_one(network, "send", {0, 8}, GiB).value < 2 * GiB / nic);
  CHECK(ask_one(network, "send", {0, 1}, GiB).value > GiB / nvlink);
  CHECK(ask_one(network, "send", {0, 1}, GiB) < ask_one(network, "send", {0, 8}, GiB));
}

TEST_CASE("a group meets the state of the network at its time", "[call_times]") {
  const std::string fault = "faults: [{link: node1.nic0, rate: 10%, at: 1s, until: 2s}]\n";
  const CallTimes network = times_of(test::world_of(cluster(2, fault) + workload("all_reduce")), bare);
  const CallTimes healthy = times_of(test::world_of(cluster(2) + workload("all_reduce")), bare);
  const Ranks rail = {0, 8};
  const double before = ask_one(network, "all_reduce", rail, GiB, 0).value;
  CHECK(before == ask_one(healthy, "all_reduce", rail, GiB).value);
  CHECK(ask_one(network, "all_reduce", rail, GiB, 0.999).value == before);
  const double during = ask_one(network, "all_reduce", rail, GiB, 1).value;
  CHECK(during == Approx(10 * before).epsilon(0.2));
  CHECK(ask_one(network, "all_reduce", rail, GiB, 2).value == before);
  // Groups elsewhere do not notice.
  CHECK(ask_one(network, "all_reduce", {4, 12}, GiB, 1).value == ask_one(healthy, "all_reduce", {4, 12}, GiB).value);
}

TEST_CASE("what is no group is refused", "[call_times]") {
  const CallTimes network = times_of(test::world_of(cluster(2) + workload("all_reduce")), bare);
  const auto refusal = [&](const std::string& name, const Ranks& ranks, std::int64_t bytes, double at = 0) {
    try {
      ask(network, name, ranks, {bytes}, at);
    } catch (const UserError& e) { return std::string(e.what()); }
    return std::string("accepted");
  };
  CHECK_THAT(refusal("all_reduce", {0, 16}, MiB), Contains("there is no rank 16") && Contains("0 to 15"));
  CHECK_THAT(refusal("all_reduce", {0, 1, 1}, MiB), Contains("rank 1 is twice"));
  CHECK_THAT(refusal("all_reduce", {3}, MiB), Contains("a group of 1 does not communicate"));
  CHECK_THAT(refusal("all_reduce", {}, MiB), Contains("a group of 0 does not communicate"));
  CHECK_THAT(refusal("all_reduce", {0, 1, 2, 8}, MiB), Contains("3 on node 0, but 1 on node 1"));
  CHECK_THAT(refusal("send", {0, 1, 2}, MiB), Contains("a sender and a receiver, not 3"));
  CHECK_THAT(refusal("allreduce", {0, 1}, MiB),
             Contains("there is no collective 'allreduce'") && Contains("all_reduce"));
  CHECK_THAT(refusal("all_reduce", {0, 1}, 0), Contains("0 is out of range"));
  CHECK_THAT(refusal("all_reduce", {0, 1}, -5), Contains("-5 is out of range"));
  CHECK_THAT(refusal("all_reduce", {0, 1}, MiB, -1), Contains("not negative"));
  CHECK(refusal("all_reduce", {0, 1}, MiB) == "accepted");
  // A known size does not let an unknown one through, nor a known group its neighbour.
  CHECK_THAT(refusal("all_reduce", {0, 1}, 0), Contains("0 is out of range"));
  for (const char* text : {"network: {engine: bound}\n"})
    CHECK_THROWS_AS(times_of(test::world_of(cluster(2, text) + workload("all_reduce"))), UserError);
}

TEST_CASE("answers depend neither on threads, nor on what was asked before, nor on what is kept", "[call_times]") {
  const World world = test::world_of(cluster(4) + "routing: {kind: ecmp, seeds: 3}\n" + workload("all_reduce"));
  struct Question {
    std::string name;
    Ranks ranks;
    std::int64_t bytes;
  };
  std::vector<Question> questions;
  for (const char* name : {"all_reduce", "all_gather", "send"})
    for (const Ranks& ranks : {Ranks{0, 1}, Ranks{1, 0}, Ranks{0, 8}, Ranks{8, 24}})
      for (const std::int64_t bytes : {KiB, 100 * MiB}) questions.push_back({name, ranks, bytes});
  std::vector<double> wanted;
  for (const Question& q : questions) wanted.push_back(ask_one(times_of(world, bare), q.name, q.ranks, q.bytes).value);
  for (const std::size_t kept : {std::size_t{1}, std::size_t{5}, std::size_t{1000}}) {
    CallTimesOptions options{false, kept};
    const CallTimes network = times_of(world, options);
    std::vector<std::string> wrong(4);
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < wrong.size(); ++t)
      threads.emplace_back([&, t] {
        std::mt19937 dice(static_cast<unsigned>(t));
        for (int i = 0; i < 60; ++i) {
          const std::size_t n = dice() % questions.size();
          const Question& q = questions[n];
          if (ask_one(network, q.name, q.ranks, q.bytes).value != wanted[n]) wrong[t] = q.name;
        }
      });
    for (std::thread& thread : threads) thread.join();
    CHECK(wrong == std::vector<std::string>(4));
  }
  // Several sizes at once, in any order and more than once.
  const CallTimes network = times_of(world);
  const auto together = ask(network, "all_reduce", {0, 8}, {GiB, KiB, GiB, MiB}, 0, 3);
  for (const auto& [i, bytes] : {std::pair{0, GiB}, std::pair{1, KiB}, std::pair{2, GiB}, std::pair{3, MiB}}) {
    const CallTime alone = ask(times_of(world), "all_reduce", {0, 8}, {bytes}).front();
    CHECK(together[static_cast<std::size_t>(i)].time.value == alone.time.value);
    CHECK(together[static_cast<std::size_t>(i)].high.value == alone.high.value);
  }
}

TEST_CASE("measured rows of the site move times of its groups", "[call_times]") {
  const World world = test::world_of(cluster(2) + workload("all_reduce"));
  MeasuredSeries slow{world.scenario(), {}, "slow", {}, {}};
  for (const ForecastRow& row : run_forecast(world).rows) slow.times.push_back(row.time * 1.3);
  const MeasuredSite site = measured_site(shipped_residuals(), {slow});
  Forecast forecast = run_forecast(world);
  add_intervals(forecast, site);
  const CallTimes network(world, site);
  const auto times = ask(network, "all_reduce", range(16), {KiB, MiB, GiB});
  for (std::size_t i = 0; i < times.size(); ++i) {
    CHECK(times[i].time.value == Approx(forecast.rows[i].time.value).epsilon(1e-9));
    CHECK(times[i].high.value == Approx((forecast.rows[i].time * forecast.rows[i].factor).value).epsilon(1e-9));
  }
  CHECK(times[2].time.value > 1.1 * ask(times_of(world), "all_reduce", range(16), {GiB}).front().time.value);
}

}  // namespace
}  // namespace fabricast
