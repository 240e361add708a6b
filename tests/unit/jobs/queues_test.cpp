// Queues of others in front of links: against packets that arrive one by one, and rings and trees counted by hand.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <numeric>

#include "fabricast/core/rng.hpp"
#include "fabricast/jobs/jobs.hpp"
#include "sim/engine/traffic/queues.hpp"
#include "support/packet_table.hpp"
#include "support/worlds.hpp"

namespace fabricast {
namespace {

using test::number;
using test::world_of;

constexpr std::int64_t size = 1024;

/// A job on hosts of one GPU and one NIC, eight at each of two leaves. Each of the other hosts may send 100 Gb/s.
std::string scene(const std::string& order, int nodes, const std::string& congestion, const std::string& rest,
                  const std::string& collective = "all_reduce", const std::string& env = "") {
  return fmt::format(
      "node: {{gpu: h100-sxm, gpus: 1, nics: {{count: 1, rate: 100Gbps, link: roce}}}}\n"
      "cluster: {{nodes: {}, size: 16, placement: [{}]}}\n"
      "fabric: {{kind: leaf_spine, leaves: 2, spines: 1, nodes_per_leaf: 8, switch: {{rate: 100Gbps}}{}}}\n"
      "routing: {{kind: static}}\n"
      "nccl: {{version: \"2.27\"{}}}\n"
      "workload: {{collective: {}, sizes: [1KiB], harness: {{tool: isolated}}}}\n{}",
      nodes, order, congestion.empty() ? "" : fmt::format(", congestion: {{{}}}", congestion),
      env.empty() ? "" : fmt::format(", env: {{{}}}", env), collective, rest);
}

double us(const std::string& text) { return 1e6 * time_job(with_others(world_of(text)), size).time.value; }

/// Hosts send all they can to each of these.
std::string fill(const std::string& from, const std::string& to, const std::string& more = "") {
  return fmt::format("background: [{{kind: flows, hosts: [{}], targets: [{}], rate: 100Gbps{}}}]\n", from, to, more);
}

TEST_CASE("a ring waits at each of its hops in front of a full port", "[queues]") {
  // All below one leaf: a message of n ranks takes 2 (n - 1) hops, each to a port that others fill.
  const std::string ring = "NCCL_ALGO: Ring";
  for (const int n : {2, 4}) {
    CAPTURE(n);
    const std::string order = n == 2 ? "0, 1" : "0, 1, 2, 3", others = fill("4, 5, 6, 7", order);
    const double ideal = us(scene(order, n, "", others, "all_reduce", ring));
    for (const double queue : {10.0, 25.0})
      CHECK(us(scene(order, n, fmt::format("queue: {}us", queue), others, "all_reduce", ring)) - ideal ==
            Approx(2 * (n - 1) * queue).epsilon(0.02));
  }
}

TEST_CASE("a ring that meets the queue at one of its hosts waits there as often as it passes", "[queues]") {
  const std::string ring = "NCCL_ALGO: Ring", order = "0, 1, 2, 3";
  const auto waited = [&](const std::string& others) {
    return us(scene(order, 4, "queue: 20us", others, "all_reduce", ring)) -
           us(scene(order, 4, "", others, "all_reduce", ring));
  };
  // A block passes every host once or twice in its 2 (n - 1) hops: on average 2 (n - 1) / n times.
  CHECK(waited(fill("4, 5", "1")) == Approx(1.5 * 20).epsilon(0.02));
  CHECK(waited(fill("4, 5", "6")) == Approx(0).margin(1e-9));
}

TEST_CASE("a tree waits for its worst link", "[queues]") {
  const auto by_tree = [&](const std::string& others, const std::string& congestion) {
    return us(scene("0, 1, 2, 3", 4, congestion, others, "all_reduce", "NCCL_ALGO: Tree"));
  };
  for (const char* target : {"0", "1", "2", "3"}) {
    CAPTURE(target);
    const std::string others = fill("4, 5", target);
    const double more = by_tree(others, "queue: 20us") - by_tree(others, "");
    CHECK(more >= 20 * (1 - 1e-6));  // every host receives at least once
    CHECK(more <= 4 * 20);           // and no path has more than four hops to it
  }
}

TEST_CASE("nothing waits without a queue, beside idle links, or in another class", "[queues]") {
  const std::string order = "0, 1, 2, 3", others = fill("4, 5, 6, 7", order);
  const double ideal = us(scene(order, 4, "", others));
  CHECK(us(scene(order, 4, "control: ideal", others)) == ideal);
  CHECK(us(scene(order, 4, "control: reactive", others)) > ideal + 1);
  CHECK(us(scene(order, 4, "control: none", others)) > us(scene(order, 4, "control: reactive", others)));
  CHECK(us(scene(order, 4, "queue: 50us", "")) == us(scene(order, 4, "", "")));
  const std::string classes = "classes: [{name: nccl, weight: 50%}, {name: other, weight: 50%}]";
  const std::string apart = fill("4, 5, 6, 7", "0, 1, 2, 3", ", class: other");
  CHECK(us(scene(order, 4, "queue: 50us, " + classes, apart)) == us(scene(order, 4, classes, apart)));
}

TEST_CASE("a longer queue never shortens a call", "[queues]") {
  for (const char* collective : {"all_reduce", "all_gather", "alltoall", "sendrecv", "broadcast"})
    for (const char* others : {"0", "0, 1", "0, 1, 2, 3"}) {
      CAPTURE(collective, others);
      double last = us(scene("0, 1, 2, 3", 4, "", fill("4, 5, 6, 7", others), collective));
      for (const int queue : {1, 10, 100}) {
        const double now =
            us(scene("0, 1, 2, 3", 4, fmt::format("queue: {}us", queue), fill("4, 5, 6, 7", others), collective));
        CHECK(now >= last);
        last = now;
      }
    }
}

TEST_CASE("others that pause wait with them for that part of the time", "[queues]") {
  const std::string ring = "NCCL_ALGO: Ring", order = "0, 1";
  const auto waited = [&](const std::string& duty) {
    const std::string others = fill("4, 5", order, ", duty: " + duty);
    return us(scene(order, 2, "queue: 40us", others, "all_reduce", ring)) -
           us(scene(order, 2, "", others, "all_reduce", ring));
  };
  // A message of the other half of the time finds no queue. Half of 100 Gb/s of payload is 53 % of what a link carries.
  CHECK(waited("50%") == Approx(0.53 * waited("100%")).epsilon(0.02));
}

/// The mean wait of fixed packets that arrive at random at one link, each served for 1.
double simulated_wait(double load, std::uint64_t seed) {
  Rng rng(seed);
  constexpr int packets = 400'000;
  double now = 0, free = 0, sum = 0;
  for (int i = 0; i < packets; ++i) {
    now += -std::log(1 - rng.uniform()) / load;
    const double wait = std::max(0.0, free - now);
    sum += wait;
    free = now + wait + 1;
  }
  return sum / packets;
}

constexpr double rate = 50e9;  // B/s, 400 Gb/s

/// The mean wait of a message whose way to a NIC n others use, each from a port of its own. \param load  of that link
Seconds wait_behind(int n, double load, MeetingRule rule) {
  static const World world = world_of(scene("0, 1", 2, "", ""));
  rule.fabric = world.fabric();
  // A message leaves a NIC and reaches another one through a leaf.
  const auto find = [&](bool starts) {
    std::uint32_t l = 0;
    const auto at_nic = [&](std::uint32_t link) {
      const Fabric::Link ends = rule.fabric->link(LinkId(link));
      return rule.fabric->is_endpoint(starts ? ends.from : ends.to);
    };
    while (!at_nic(l)) ++l;
    return l;
  };
  const std::uint32_t up = find(true), down = find(false);
  std::vector<Background::Use> own{{up, 0, 1 / rate, false}, {down, 0, 1 / rate, false}};
  std::sort(own.begin(), own.end(), [](const auto& a, const auto& b) { return a.resource < b.resource; });
  Background others;
  for (int i = 0; i < n; ++i) {
    others.rate.push_back(BytesPerSecond{load * rate / n});
    others.uses.push_back({down, static_cast<std::uint32_t>(i), 1 / rate, false});
  }
  const auto items = static_cast<std::size_t>(n);
  others.weight.assign(items, 1);
  others.duty.assign(items, 1);
  others.owner.assign(items, 0);
  others.traffic_class.assign(items, 0);
  const std::vector<std::uint32_t> one_group{0};
  return waits_behind(others, own, one_group, rule, [](std::uint32_t) { return ResourceRate{rate, 1}; }).front().mean;
}

TEST_CASE("a link that is not full keeps a packet for as long as its queue of packets", "[queues]") {
  MeetingRule rule;
  rule.queue.time = Seconds{1};
  for (const double load : {0.2, 0.5, 0.8}) {
    CAPTURE(load);
    CHECK(wait_behind(4, load, rule).value == Approx(simulated_wait(load, 1) * 4096 / rate).epsilon(0.05));
    CHECK(wait_behind(1, load, rule).value == 0);
  }
}

TEST_CASE("single packets on a link that is not full wait as long in runs of packets", "[queues]") {
  MeetingRule rule;
  rule.queue.time = Seconds{1};
  std::map<double, std::vector<double>> means;  // us, by load
  for (const test::PacketRow& row : test::packet_table(FABRICAST_TEST_DATA, "queues/below"))
    means[number(row, "load")].push_back(number(row, "mean_us"));
  REQUIRE(means.size() == 4);
  for (const auto& [load, us] : means) {
    CAPTURE(load);
    REQUIRE(us.size() == 5);
    const double mean = std::accumulate(us.begin(), us.end(), 0.0) / 5;
    CHECK(1e6 * wait_behind(8, load, rule).value == Approx(mean).epsilon(0.15));
  }
}

TEST_CASE("messages wait as long in runs of packets", "[queues]") {
  constexpr double packet = 4160;
  const auto round_trip = [](double latency) { return 8 * latency * 1e-9 + 4 * (packet + 64) / rate; };
  std::map<std::string, int> compared;
  for (const test::PacketRow& row : test::packet_table(FABRICAST_TEST_DATA, "queues/probes")) {
    const std::string& transport = row.at("transport");
    // Behind two full links in a row each flow sees one of them less than full. Several packets also share the link with
    // those of others between them, which is a matter of rates.
    if (row.at("place") == "both" || transport == "eqds" || number(row, "bytes") > 4096) continue;
    CAPTURE(row);
    const int n = static_cast<int>(number(row, "senders"));
    MeetingRule rule;
    if (transport == "uec") rule.queue.time = Seconds{0.75 * round_trip(number(row, "latency_ns"))};  // NSCC's target
    // Pauses at 25 or 75 packets of each port: a memory of which every one of n ports may take as much.
    const double most = transport == "roce" ? 25 : 75;
    if (transport != "uec") {
      rule.queue.buffer = Bytes{std::llround((1 + n) * most * packet)};
      rule.queue.slots = Bytes{std::int64_t{1} << 40};
    }
    const double us = 1e6 * wait_behind(n, 1, rule).value, mean = number(row, "mean_us");
    if (n == 1)
      CHECK(std::abs(us - mean) < 1.8);  // probes meet what others of them have left behind
    else
      CHECK(us == Approx(mean).epsilon(0.2));
    ++compared[transport];
  }
  CHECK(compared["uec"] == 80);
  CHECK(compared["roce"] == 40);
  CHECK(compared["roce_deep"] == 60);
}

}  // namespace
}  // namespace fabricast
