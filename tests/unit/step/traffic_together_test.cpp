// Collectives that run concurrently.
#include <fmt/format.h>
#include <catch2/catch.hpp>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "fabricast/core/rng.hpp"
#include "fabricast/engine/max_min.hpp"
#include "sim/engine/traffic/sharing.hpp"
#include "support/collectives.hpp"
#include "support/worlds.hpp"

namespace fabricast {
namespace {

using test::Collectives;
using test::groups_of_ranks;
using test::paces;
using test::pairs_of_ranks;

constexpr std::int64_t large = std::int64_t{1} << 30;

World world(int nodes, const std::string& fabric, const std::string& routing = "kind: adaptive",
            const std::string& rest = "") {
  return test::world_of(
      fmt::format("node: {{gpu: h100-sxm}}\ncluster: {{nodes: {}}}\nfabric: {{{}}}\n"
                  "routing: {{{}}}\nworkload: {{kind: collective, collective: all_reduce}}\n{}",
                  nodes, fabric, routing, rest));
}
/// Two leaves of 64 NICs, oversubscribed by this factor.
std::string leaves(int over) {
  return fmt::format("kind: leaf_spine, leaves: 2, nodes_per_leaf: 8, spines: {}, switch: {{ports: 128}}", 64 / over);
}

TEST_CASE("collectives on different links do not slow each other") {
  const auto w = world(16, "kind: rail_optimized");
  Collectives x;
  x.add(CollectiveOp::all_gather, large, groups_of_ranks(0, 64, 8, 8));
  x.add(CollectiveOp::all_gather, large, groups_of_ranks(64, 64, 8, 8));
  x.add(CollectiveOp::all_gather, large, groups_of_ranks(0, 64, 8, 1), Part::tensor);
  const auto traffic = make_flow_traffic(w, x.program, 1);
  CHECK(paces(*traffic, {0, 1, 2}) == std::vector<double>{1, 1, 1});
  for (std::uint32_t k = 0; k < 3; ++k) CHECK(traffic->is_independent(k));
}

TEST_CASE("two collectives over the same NICs get about half each, as if one had the bytes of both") {
  const auto w = world(8, "kind: rail_optimized");
  Collectives x;
  x.add(CollectiveOp::all_gather, large, groups_of_ranks(0, 64, 8, 8));
  x.add(CollectiveOp::all_gather, large, x.program.groups[0]);
  x.again(CollectiveOp::all_gather, 2 * large, 0);
  const auto traffic = make_flow_traffic(w, x.program, 1);
  const std::vector<double> found = paces(*traffic, {0, 1});
  CHECK(found[0] == Approx(0.5).margin(0.02));
  CHECK(found[1] == Approx(found[0]));
  CHECK(traffic->alone(0).makespan.value / found[0] == Approx(traffic->alone(2).makespan.value).epsilon(0.03));
  CHECK(paces(*traffic, {0, 0}) == found);
  CHECK(paces(*traffic, {0, 0, 1})[0] == Approx(1 / 3.).margin(0.02));
  CHECK_FALSE(traffic->is_independent(0));
}

TEST_CASE("short messages are bound by latency, and lose little with a smaller share") {
  const auto w = world(8, "kind: rail_optimized");
  Collectives x;
  x.add(CollectiveOp::all_reduce, 4096, groups_of_ranks(0, 64, 8, 8));
  x.add(CollectiveOp::all_gather, large, x.program.groups[0]);
  const auto traffic = make_flow_traffic(w, x.program, 1);
  CHECK(paces(*traffic, {0, 1})[0] > 0.9);
}

TEST_CASE("a connection that carries more messages has no larger share", "[pat]") {
  const auto w = world(32, "kind: rail_optimized");
  Collectives x;
  x.add(CollectiveOp::all_gather, 1 << 20, groups_of_ranks(0, 256, 32, 8));  // by PAT: 31 blocks over 5 connections
  x.add(CollectiveOp::all_gather, large, x.program.groups[0]);               // by rings
  const auto traffic = make_flow_traffic(w, x.program, 1);
  REQUIRE(traffic->alone(0).algorithm == "pat");
  REQUIRE(traffic->alone(1).algorithm == "ring");
  CHECK(paces(*traffic, {0, 1})[1] == Approx(1 / 6.).margin(0.02));
}

TEST_CASE("the two directions of a cable are two links") {
  const auto w = world(2, "kind: single_switch");
  Collectives x;
  x.add(CollectiveOp::sendrecv, large, {{0, 8}}, Part::pipeline);
  x.add(CollectiveOp::sendrecv, large, {{8, 0}}, Part::pipeline);
  x.add(CollectiveOp::sendrecv, large, {{0, 8}}, Part::pipeline);
  const auto traffic = make_flow_traffic(w, x.program, 1);
  CHECK(paces(*traffic, {0, 1}) == std::vector<double>{1, 1});
  // Alone it is bound by its channels, then by the NIC.
  const double seconds = traffic->alone(0).makespan.value, both = seconds / paces(*traffic, {0, 2})[0];
  CHECK(seconds < 0.9 * both);
  CHECK(2 * large / both < 50e9);
  CHECK(2 * large / both > 0.85 * 50e9);
  CHECK(traffic->alone(1).makespan.value == Approx(seconds));
}

TEST_CASE("collectives of different NICs share the uplinks of an oversubscribed leaf") {
  const auto part_of = [](int over) {
    const auto w = world(16, leaves(over));
    Collectives x;
    RankGroups low, high;  // rings that go from leaf to leaf at every step, by four NICs of each node
    for (std::uint32_t g = 0; g < 8; ++g) {
      std::vector<std::uint32_t> ring;
      for (std::uint32_t n = 0; n < 8; ++n) ring.insert(ring.end(), {8 * n + g, 8 * (n + 8) + g});
      (g < 4 ? low : high).push_back(ring);
    }
    x.add(CollectiveOp::all_gather, large, low);
    x.add(CollectiveOp::all_gather, large, high);
    const auto traffic = make_flow_traffic(w, x.program, 1);
    return std::pair(traffic->alone(0).makespan.value, paces(*traffic, {0, 1}));
  };
  const auto [fair_time, fair] = part_of(1);
  CHECK(fair == std::vector<double>{1, 1});
  const auto [half_time, half] = part_of(2);
  CHECK(half_time == Approx(fair_time));  // one half of the NICs just fills the leaf
  CHECK(half[0] == Approx(0.5).margin(0.06));
  CHECK(half[1] == Approx(half[0]));
  CHECK(part_of(4).first == Approx(2 * fair_time).epsilon(0.1));
}

TEST_CASE("samples of ECMP differ, and each is reproducible") {
  const auto w = world(16, leaves(1), "kind: ecmp");
  Collectives x;
  x.add(CollectiveOp::sendrecv, large, pairs_of_ranks(0, 64, 64), Part::pipeline);
  x.add(CollectiveOp::all_gather, large, groups_of_ranks(0, 128, 16, 8));
  std::vector<double> seconds, pace;
  for (const std::uint64_t seed : {1, 2, 3, 4, 5, 6, 1}) {
    const auto traffic = make_flow_traffic(w, x.program, seed);
    pace.push_back(paces(*traffic, {0, 1})[0]);
    seconds.push_back(traffic->alone(0).makespan.value);
  }
  CHECK(std::set(seconds.begin(), seconds.end()).size() > 1);
  CHECK(std::set(pace.begin(), pace.end()).size() > 1);
  CHECK(seconds.front() == seconds.back());
  CHECK(pace.front() == pace.back());
  // Collisions: slower than without.
  CHECK(seconds[0] > 1.5 * make_flow_traffic(world(16, leaves(1)), x.program, 1)->alone(0).makespan.value);
}

TEST_CASE("the order in which collectives are timed does not matter") {
  const auto w = world(16, leaves(2), "kind: ecmp");
  Collectives x;
  x.add(CollectiveOp::all_gather, large, groups_of_ranks(0, 64, 8, 8));
  x.add(CollectiveOp::all_gather, large / 3, groups_of_ranks(64, 64, 8, 8));
  x.add(CollectiveOp::sendrecv, large / 5, pairs_of_ranks(0, 64, 64), Part::pipeline);
  x.add(CollectiveOp::alltoall, large / 7, groups_of_ranks(0, 128, 16, 1), Part::expert);
  const auto a = make_flow_traffic(w, x.program, 1), b = make_flow_traffic(w, x.program, 1);
  const std::vector<double> all = paces(*a, {0, 1, 2, 3});
  for (std::uint32_t k = 4; k-- > 0;) CHECK(b->alone(k).makespan.value == a->alone(k).makespan.value);
  paces(*b, {2, 3}), paces(*b, {0, 2});
  CHECK(paces(*b, {0, 1, 2, 3}) == all);
  for (const double pace : all) CHECK((pace > 0 && pace <= 1));
}

TEST_CASE("a slow cable slows only the collectives that cross it") {
  const auto seconds = [](const std::string& faults) {
    const auto w = world(8, "kind: rail_optimized", "kind: adaptive", faults);
    Collectives x;
    for (std::uint32_t g = 0; g < 8; ++g) {
      RankGroups groups(1);
      for (std::uint32_t n = 0; n < 8; ++n) groups.front().push_back(8 * n + g);
      x.add(CollectiveOp::all_gather, large / 8, groups);
    }
    const auto traffic = make_flow_traffic(w, x.program, 1);
    std::vector<double> times;
    for (std::uint32_t k = 0; k < 8; ++k) times.push_back(traffic->alone(k).makespan.value);
    return times;
  };
  const std::vector<double> well = seconds("");
  const std::string fault = GENERATE("node3.nic2", "node5.pcie2-nic2");
  const std::vector<double> slow = seconds("faults: [{link: " + fault + ", rate: 25%}]\n");
  for (std::size_t g = 0; g < 8; ++g) {
    CAPTURE(fault, g);
    CHECK(well[g] == Approx(well[0]));
    if (g == 2)
      CHECK(slow[g] > 2 * well[g]);
    else
      CHECK(slow[g] == well[g]);
  }
}

TEST_CASE("a slow cable slows all groups of the kind, and is named") {
  const auto w = world(8, "kind: rail_optimized", "kind: adaptive", "faults: [{link: node3.nic2, rate: 25%}]\n");
  Collectives x;
  x.add(CollectiveOp::all_gather, large, groups_of_ranks(0, 64, 8, 8));
  const auto traffic = make_flow_traffic(w, x.program, 1);
  CHECK(traffic->alone(0).bottleneck.find("node3.nic2") != std::string::npos);
}

TEST_CASE("faults that come and go are refused") {
  const auto w =
      world(2, "kind: single_switch", "kind: adaptive", "faults: [{link: node1.nic0, rate: 50%, at: 1ms}]\n");
  Collectives x;
  x.add(CollectiveOp::all_gather, large, test::everyone(16));
  CHECK_THROWS_WITH(make_flow_traffic(w, x.program, 1), Catch::Contains("a fault begins or ends during the step"));
}

TEST_CASE("links with the same users are one kind") {
  const std::uint32_t far =
      GENERATE(10U, 1U << 30);  // numbers of items that do not fit in 32 bits together with their values
  LinkUsesBuilder builder;
  std::map<std::uint32_t, std::vector<std::pair<std::uint32_t, double>>> expected;  // by link
  Rng rng(3);
  for (std::uint32_t team = 0; team < 3; ++team) {
    std::vector<std::uint32_t> parts;
    for (std::uint32_t p = 0; p < 4; ++p) {
      parts.push_back(builder.add_part());
      for (std::uint32_t i = 0; i <= p; ++i) builder.add_use(far * team + i, builder.add_value(0.5 + p));
    }
    for (std::uint32_t link = 0; link < 5000; ++link) {
      const auto p = static_cast<std::uint32_t>(rng.below(5));
      if (p == 4) continue;
      builder.add_link(7 * link, parts[p]);
      for (std::uint32_t i = 0; i <= p; ++i) expected[7 * link].emplace_back(far * team + i, 0.5 + p);
    }
  }
  const LinkUses uses = builder.build();
  CHECK(uses.kinds() == 5 * 5 * 5 - 1);
  REQUIRE(uses.links().size() == expected.size());
  auto next = expected.begin();
  std::vector<bool> seen(uses.kinds(), false);
  for (const auto& [link, kind] : uses.links()) {
    REQUIRE(link == next->first);
    const LinkUses::Users users = uses.users(kind);
    REQUIRE(users.size() == next->second.size());
    for (std::size_t i = 0; i < users.size(); ++i)
      REQUIRE((users[i].item == next->second[i].first && users[i].use == next->second[i].second));
    if (!seen[kind]) CHECK(uses.lowest_link(kind) == link);
    seen[kind] = true, ++next;
  }
}

TEST_CASE("networks with different hardware that share counts are timed as separately") {
  // Two kinds of groups over all nodes, as many bytes on rings and few on others, and pairs.
  Collectives x;
  x.add(CollectiveOp::all_gather, large, groups_of_ranks(0, 128, 16, 8));
  x.add(CollectiveOp::reduce_scatter, 1 << 16, x.program.groups[0]);
  x.add(CollectiveOp::all_reduce, large, test::everyone(128));
  x.add(CollectiveOp::sendrecv, large, pairs_of_ranks(0, 64, 64));
  x.again(CollectiveOp::sendrecv, 1 << 20, 3);
  const auto near = world(16, leaves(2), "kind: ecmp"), far = world(16, leaves(2) + ", cable: 5km", "kind: ecmp"),
             spread = world(16, leaves(2), "kind: adaptive");
  const std::vector<World> worlds{near, far, near, spread};
  const auto shared = make_flow_traffics(worlds, x.program, 1, 3);
  const std::vector<std::uint32_t> all{0, 1, 2, 3, 4};
  for (std::size_t n = 0; n < worlds.size(); ++n) {
    const auto own = make_flow_traffic(worlds[n], x.program, 1);
    for (const std::uint32_t k : all) {
      CAPTURE(n, k);
      CHECK(shared[n]->alone(k).makespan.value == Approx(own->alone(k).makespan.value).epsilon(1e-12));
      CHECK(shared[n]->alone(k).bottleneck == own->alone(k).bottleneck);
      CHECK(shared[n]->is_independent(k) == own->is_independent(k));
    }
    CHECK(paces(*shared[n], all) == paces(*own, all));
  }
  CHECK(shared[1]->alone(1).makespan.value > 1.1 * shared[0]->alone(1).makespan.value);
}

TEST_CASE("shares are feasible and max-min fair, whatever is folded") {
  Rng rng(GENERATE(range(1, 40)));
  const auto random = [&](std::uint32_t n) { return static_cast<std::uint32_t>(rng.next() % n); };
  const std::uint32_t items = 1 + random(12), links = 1 + random(20);
  std::vector<BytesPerSecond> caps(items);
  for (BytesPerSecond& cap : caps) cap.value = 1 + random(100);
  std::vector<double> weights(items);
  for (double& weight : weights) weight = 1 + random(3);
  std::vector<LinkUse> uses;
  for (std::uint32_t l = 0; l < links; ++l)
    for (std::uint32_t i = 0; i < items; ++i)
      if (random(3) == 0) uses.push_back({l, i, (1 + random(3)) / 100.});
  const LinkShares shares = share_links(caps, weights, uses);
  const auto half = std::find_if(uses.begin(), uses.end(), [&](const LinkUse& u) { return u.link > links / 2; });
  LinkUsesBuilder lower;
  for (auto u = uses.begin(); u != half; ++u) {
    lower.add_link(u->link, lower.add_part());
    lower.add_use(u->item, lower.add_value(u->use));
  }
  const LinkShares in_parts = share_links(caps, weights, {half, uses.end()}, lower.build());
  CHECK(in_parts.rate == shares.rate);
  CHECK(in_parts.link == shares.link);
  std::vector<double> load(links, 0);
  for (const LinkUse& u : uses) load[u.link] += u.use * shares.rate[u.item].value;
  for (std::uint32_t i = 0; i < items; ++i) {
    CHECK(shares.rate[i] <= caps[i] * (1 + 1e-9));
    bool bound = shares.rate[i] >= caps[i] * (1 - 1e-9);
    for (const LinkUse& u : uses) {
      CHECK(load[u.link] <= 1 + 1e-9);
      if (u.item != i || load[u.link] < 1 - 1e-9) continue;
      bound |= std::all_of(uses.begin(), uses.end(), [&](const LinkUse& other) {
        return other.link != u.link ||
               shares.rate[other.item] / weights[other.item] <= shares.rate[i] / weights[i] * (1 + 1e-9);
      });
    }
    CHECK(bound);
  }
}

}  // namespace
}  // namespace fabricast
