// Valiant's routing, by queue pair and by packet, against closed forms and each other.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <set>
#include <stdexcept>
#include <string>

#include "support/routed_loads.hpp"

namespace fabricast {
namespace {

using test::canonical, test::demand_of, test::fabric_of, test::group_of, test::Keys, test::loads, test::Pairs,
    test::router_of, test::to_next_group;

TEST_CASE("Valiant's routing uses all global cables twice", "[routing]") {
  const Fabric fabric = canonical();
  const LinkState state;
  constexpr std::uint32_t pairs = 4000;
  const auto router = router_of("valiant", fabric, state);
  const std::vector<double> load = loads(fabric, *router, to_next_group(), pairs);
  // Of the 8 flows of a group each of 7 other groups gets as many, and each passes them on: 2 x 8 / 7 on every cable
  // between groups but the direct one. That is a p / (a h) x 2 for large networks: half the rate of a host.
  const double expected = 2 * 8. / 7 * pairs;
  for (std::uint32_t l = 2 * fabric.endpoints(); l < fabric.links(); ++l) {
    const auto [from, to] = fabric.link(LinkId(l));
    const std::uint32_t a = group_of(fabric, from), b = group_of(fabric, to);
    if (a == b) continue;
    INFO(fabric.name(LinkId(l)));
    if (b == (a + 1) % 9)
      CHECK(load[l] == 0);
    else
      CHECK(std::abs(load[l] - expected) < 5 * std::sqrt(expected));
  }
  // Half of it.
  const std::vector<double> half =
      loads(fabric, *router_of("valiant", fabric, state, 1, {{"nonminimal", "0.5"}}), to_next_group(), pairs);
  CHECK(*std::max_element(half.begin(), half.end()) == Approx(8 * pairs / 2).epsilon(0.05));
  const std::vector<double> none =
      loads(fabric, *router_of("valiant", fabric, state, 1, {{"nonminimal", "0"}}), to_next_group(), 1);
  CHECK(*std::max_element(none.begin(), none.end()) == 8);
}

/// One group of `switches` with `hosts` each.
Fabric one_group(std::uint32_t switches, std::uint32_t hosts) {
  return fabric_of("dragonfly", demand_of(switches * hosts, 1),
                   {{"groups", "1"}, {"switches_per_group", std::to_string(switches)}});
}

/// All hosts of each switch send to the next switch.
Pairs to_next_switch(std::uint32_t switches, std::uint32_t hosts) {
  Pairs flows;
  for (std::uint32_t e = 0; e < switches * hosts; ++e) flows.emplace_back(e, (e + hosts) % (switches * hosts));
  return flows;
}

TEST_CASE("Valiant's routing takes a third switch of a group", "[routing]") {
  const LinkState state;
  constexpr std::uint32_t pairs = 2000;
  for (const auto& [a, p] : std::vector<std::pair<std::uint32_t, std::uint32_t>>{{3, 2}, {5, 3}, {8, 4}}) {
    const Fabric fabric = one_group(a, p);
    const Pairs flows = to_next_switch(a, p);
    // Minimal: all flows of a switch share its cable to the next one. The part q of them goes over the a - 2 others:
    // each cable but those to the next switch is the first hop of one switch's flows and the second of another's.
    const double best = (a - 2.) / a;
    for (const double q : {0., 0.25, best, 1.}) {
      INFO(a << " switches, " << p << " hosts, " << q);
      const auto router = router_of("valiant", fabric, state, 1, {{"nonminimal", std::to_string(q)}});
      const std::vector<double> load = loads(fabric, *router, flows, pairs);
      double carried = 0;
      for (std::uint32_t l = 2 * fabric.endpoints(); l < fabric.links(); ++l) {
        const auto [from, to] = fabric.link(LinkId(l));
        const std::uint32_t x = from.value - fabric.endpoints(), y = to.value - fabric.endpoints();
        const double expected = pairs * p * (y == (x + 1) % a ? 1 - q : 2 * q / (a - 2));
        INFO(fabric.name(LinkId(l)) << ", " << load[l] << " of " << expected);
        CHECK(std::abs(load[l] - expected) <= 5 * std::sqrt(expected) + pairs * p * 1e-6);
        carried += load[l];
      }
      // One hop of each minimal flow and two of each other one.
      CHECK(carried == Approx(pairs * a * p * (1 + q)).epsilon(0.02));
      // With (a - 2) / a, all cables carry 2 p / a of the p flows of a switch.
      if (q == best)
        CHECK(*std::max_element(load.begin() + 2 * fabric.endpoints(), load.end()) ==
              Approx(2. * p / a * pairs).epsilon(0.1));
    }
  }
}

TEST_CASE("within a group, detours are two cables long and meet no end of theirs twice", "[routing]") {
  const LinkState state;
  Path path;
  for (std::uint32_t a : {2U, 3U, 6U}) {
    const Fabric fabric = one_group(a, 2);
    const auto router = router_of("valiant", fabric, state);
    std::set<std::vector<std::uint32_t>> between;  // paths of ports 0 and 2, on the first two switches
    for (std::uint32_t to = 1; to < 2 * a; ++to)
      for (std::uint32_t q = 0; q < 200; ++q) {
        REQUIRE(router->route({0, to, q, 3 * q}, path));
        CHECK(test::joins(fabric, path.resources, 0, to));
        CHECK(path.resources.size() == (to == 1 ? 2 : a == 2 ? 3 : 4));
        if (to == 2) between.insert(path.resources);
      }
    CHECK(between.size() == (a == 2 ? 1 : a - 2));
  }
}

TEST_CASE("leaves of a dragonfly+ group stay minimal, and groups with one switch that has NICs", "[routing]") {
  const LinkState state;
  const Fabric plus =
      fabric_of("dragonfly_plus", demand_of(24, 1),
                {{"groups", "2"}, {"leaves_per_group", "4"}, {"spines_per_group", "2"}, {"global_links", "1"}});
  Path path;
  for (std::uint32_t q = 0; q < 100; ++q) {
    // Ports 0 to 2 are on the first leaf, 3 to 5 on the second.
    REQUIRE(router_of("valiant", plus, state)->route({0, 3, q, q}, path));
    CHECK(path.resources.size() == 4);
  }
  // Only the first two switches have NICs, so there is no third one to go over.
  const Fabric few = fabric_of("dragonfly", demand_of(4, 1),
                               {{"groups", "1"}, {"switches_per_group", "6"}, {"nodes_per_switch", "2"}});
  for (std::uint32_t q = 0; q < 100; ++q) {
    REQUIRE(router_of("valiant", few, state)->route({0, 2, q, q}, path));
    CHECK(path.resources.size() == 3);
  }
}

TEST_CASE("within a group, paths go around a dead cable, and detours over other switches", "[routing]") {
  constexpr std::uint32_t a = 5;
  const Fabric fabric = one_group(a, 1);
  const auto cable = [&](std::uint32_t x, std::uint32_t y) {
    for (std::uint32_t l = 2 * fabric.endpoints(); l < fabric.links(); ++l) {
      const auto [from, to] = fabric.link(LinkId(l));
      if (from.value == fabric.endpoints() + x && to.value == fabric.endpoints() + y) return l;
    }
    throw std::runtime_error("no such cable");
  };
  Path path;
  const auto paths = [&](const LinkState& state) {
    const auto router = router_of("valiant", fabric, state);
    std::set<std::vector<std::uint32_t>> found;
    for (std::uint32_t q = 0; q < 400; ++q) {
      REQUIRE(router->route({0, 1, q, 5 * q}, path));
      found.insert(path.resources);
    }
    return found;
  };
  // From switch 0 to switch 1 over 2, 3 or 4, all of two cables.
  LinkState state;
  CHECK(paths(state).size() == 3);
  for (const std::uint32_t l : {cable(0, 2), cable(2, 0)}) state.set(LinkId(l), 0);
  CHECK(paths(state).size() == 2);
  for (const auto& resources : paths(state)) CHECK(resources.size() == 4);
  // Without the cable between the two, minimal paths are those over 3 or 4.
  for (const std::uint32_t l : {cable(0, 1), cable(1, 0)}) state.set(LinkId(l), 0);
  CHECK(paths(state).size() == 2);
  for (const auto& resources : paths(state)) CHECK(resources.size() == 4);
}

TEST_CASE("with a choice by packet, all detours carry equal parts", "[routing]") {
  const LinkState state;
  for (const auto& [a, p] : std::vector<std::pair<std::uint32_t, std::uint32_t>>{{3, 2}, {5, 3}, {8, 4}}) {
    const Fabric fabric = one_group(a, p);
    for (const double q : {0., 0.25, (a - 2.) / a, 1.}) {
      INFO(a << " switches, " << p << " hosts, " << q);
      const auto router =
          router_of("valiant", fabric, state, 1, {{"nonminimal", std::to_string(q)}, {"choice", "packet"}});
      const std::vector<double> load = loads(fabric, *router, to_next_switch(a, p));
      for (std::uint32_t l = 2 * fabric.endpoints(); l < fabric.links(); ++l) {
        const auto [from, to] = fabric.link(LinkId(l));
        const std::uint32_t x = from.value - fabric.endpoints(), y = to.value - fabric.endpoints();
        CHECK(load[l] == Approx(p * (y == (x + 1) % a ? 1 - q : 2 * q / (a - 2))).margin(1e-5));
      }
    }
  }
  // Between groups: the expected loads of queue pairs that draw, 16 / 7 on all global cables but the direct one.
  const Fabric fabric = canonical();
  const std::vector<double> load =
      loads(fabric, *router_of("valiant", fabric, state, 1, {{"choice", "packet"}}), to_next_group());
  for (std::uint32_t e = 0; e < 2 * fabric.endpoints(); ++e) CHECK(load[e] == 1);
  for (std::uint32_t l = 2 * fabric.endpoints(); l < fabric.links(); ++l) {
    const auto [from, to] = fabric.link(LinkId(l));
    const std::uint32_t a = group_of(fabric, from), b = group_of(fabric, to);
    if (a != b) CHECK(load[l] == Approx(b == (a + 1) % 9 ? 0 : 16. / 7).margin(1e-9));
  }
}

TEST_CASE("a choice by packet is the mean of queue pairs that draw, and as long as the longest", "[routing]") {
  LinkState dead;
  for (const bool fault : {false, true})
    for (const char* kind : {"dragonfly", "dragonfly_plus", "torus", "hyperx"}) {
      const Keys keys =
          kind == std::string("torus") || kind == std::string("hyperx") ? Keys{{"dimensions", "4 3"}}
          : kind == std::string("dragonfly")
              ? Keys{{"groups", "4"}, {"switches_per_group", "4"}, {"global_links", "2"}}
              : Keys{{"groups", "4"}, {"leaves_per_group", "3"}, {"spines_per_group", "2"}, {"global_links", "3"}};
      const Fabric fabric = fabric_of(kind, demand_of(48, 1), keys);
      LinkState state;
      // A NIC, and a cable between two switches.
      if (fault)
        for (const std::uint32_t l : {60U, 61U, fabric.links() - 2, fabric.links() - 1}) state.set(LinkId(l), 0);
      constexpr std::uint32_t pairs = 6000;
      const auto drawn = router_of("valiant", fabric, state, 1, {{"nonminimal", "0.6"}}),
                 spread = router_of("valiant", fabric, state, 1, {{"nonminimal", "0.6"}, {"choice", "packet"}});
      CHECK(spread->parting() == Router::Parting::evenly);
      for (const auto& [from, to] : Pairs{{0, 1}, {0, 5}, {0, 47}, {20, 3}}) {
        INFO(kind << ", fault " << fault << ", " << from << " to " << to);
        std::vector<double> share(fabric.links(), 0);
        Path path;
        REQUIRE(spread->route({from, to, 1, 2}, path));
        for (std::size_t i = 0; i < path.resources.size(); ++i) share[path.resources[i]] += path.weight(i);
        const Seconds slowest = path.latency;
        const std::vector<double> load = loads(fabric, *drawn, {{from, to}}, pairs);
        Seconds longest;
        for (std::uint32_t q = 0; q < pairs; ++q) {
          REQUIRE(drawn->route({from, to, q, q + 1}, path));
          longest = std::max(longest, path.latency);
        }
        CHECK(slowest.value == Approx(longest.value));
        for (std::uint32_t l = 0; l < fabric.links(); ++l) {
          INFO(fabric.name(LinkId(l)) << ", " << load[l] << " of " << share[l] * pairs);
          CHECK(std::abs(load[l] - share[l] * pairs) <= 5 * std::sqrt(share[l] * pairs) + 1e-9);
        }
      }
    }
}

TEST_CASE("a switch that is cut off is no detour", "[routing]") {
  const Fabric fabric = canonical();
  LinkState state;  // the last switch of the last group
  for (std::uint32_t l = 2 * fabric.endpoints(); l < fabric.links(); ++l) {
    const auto [from, to] = fabric.link(LinkId(l));
    if (std::max(from.value, to.value) == fabric.endpoints() + 35) state.set(LinkId(l), 0);
  }
  Path path;
  for (const char* choice : {"queue_pair", "packet"}) {
    const auto router = router_of("valiant", fabric, state, 1, {{"choice", choice}});
    for (std::uint32_t q = 0; q < 500; ++q) REQUIRE(router->route({0, 8, q, q}, path));
    CHECK_FALSE(router->route({0, 71, 1, 1}, path));
  }
}

TEST_CASE("no part of detours suits both the worst traffic and a uniform alltoall", "[routing]") {
  // Why detours are not derived from the fabric alone.
  const Fabric fabric = canonical();
  const LinkState state;
  Pairs all;
  for (std::uint32_t from = 0; from < 72; ++from)
    for (std::uint32_t to = 0; to < 72; ++to)
      if (from != to) all.emplace_back(from, to);
  const auto mean_global = [&](const Pairs& flows, double q, std::uint32_t pairs) {
    const auto router = router_of("valiant", fabric, state, 1, {{"nonminimal", std::to_string(q)}});
    const std::vector<double> load = loads(fabric, *router, flows, pairs);
    double most = 0, sum = 0;
    int cables = 0;
    for (std::uint32_t l = 2 * fabric.endpoints(); l < fabric.links(); ++l) {
      const auto [from, to] = fabric.link(LinkId(l));
      if (group_of(fabric, from) == group_of(fabric, to)) continue;
      most = std::max(most, load[l] / pairs), sum += load[l] / pairs, ++cables;
    }
    return std::pair{most, sum / cables};
  };
  // To the next group: 8 (1 - q) on its cable and 2 q 8 / 7 on the others, equal at q = 7 / 9.
  constexpr double worst = 7. / 9;
  CHECK(mean_global(to_next_group(), worst, 4000).first == Approx(16. / 9).epsilon(0.05));
  // An alltoall puts 8 x 8 flows on each cable, and (1 + q) as many with detours.
  CHECK(mean_global(all, 0, 1).first == 64);
  CHECK(mean_global(all, worst, 20).second == Approx(64 * (1 + worst)).epsilon(0.01));
}

TEST_CASE("Valiant's routing needs switches that are connected directly", "[routing]") {
  const Fabric fabric = fabric_of("fat_tree", demand_of(16, 1));
  const LinkState state;
  CHECK_THROWS_WITH(router_of("valiant", fabric, state), Catch::Contains("needs a fabric with direct links"));
}

}  // namespace
}  // namespace fabricast
