// Minimal and Valiant's routing on dragonflies, tori and HyperX networks against closed forms.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <set>

#include "support/fabrics.hpp"

namespace fabricast {
namespace {

using test::demand_of, test::fabric_of, test::Keys, test::router_of;

/// Flows on each link, queue pairs 0 to `pairs` - 1 of every pair of endpoints that `flows` lists.
using Pairs = std::vector<std::pair<std::uint32_t, std::uint32_t>>;
std::vector<double> loads(const Fabric& fabric, const Router& router, const Pairs& flows, std::uint32_t pairs = 1) {
  std::vector<double> load(fabric.links(), 0);
  Path path;
  for (const auto& [from, to] : flows)
    for (std::uint32_t q = 0; q < pairs; ++q) {
      REQUIRE(router.route({from, to, q, q + 1}, path));
      for (std::size_t i = 0; i < path.resources.size(); ++i) load[path.resources[i]] += path.weight(i);
    }
  return load;
}

/// A canonical dragonfly: two hosts and two global cables at each of four switches, nine groups.
Fabric canonical() {
  return fabric_of("dragonfly", demand_of(72, 1),
                   {{"groups", "9"}, {"switches_per_group", "4"}, {"switch.ports", "7"}});
}
std::uint32_t group_of(const Fabric& fabric, VertexId v) { return (v.value - fabric.endpoints()) / 4; }

/// The traffic that is worst for a dragonfly: host i of each group sends to host i of the next one.
Pairs to_next_group() {
  Pairs flows;
  for (std::uint32_t e = 0; e < 72; ++e) flows.emplace_back(e, (e + 8) % 72);
  return flows;
}

TEST_CASE("minimal routing sends all traffic to the next group over one cable", "[routing]") {
  const Fabric fabric = canonical();
  const LinkState state;
  for (const char* policy : {"adaptive", "spray", "ecmp", "static"}) {
    const std::vector<double> load = loads(fabric, *router_of(policy, fabric, state), to_next_group());
    // Throughput of a host is 1 / (a p).
    CHECK(*std::max_element(load.begin(), load.end()) == Approx(8));
  }
}

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

TEST_CASE("a ring of neighbours and an alltoall on a torus", "[routing]") {
  const LinkState state;
  for (const char* paths : {"minimal", "dimension_order"})
    for (const char* policy : {"adaptive", "spray"}) {
      const Fabric fabric = fabric_of("torus", demand_of(64, 1), {{"dimensions", "4 4 4"}, {"paths", paths}});
      INFO(paths << ", " << policy);
      const auto router = router_of(policy, fabric, state);
      Pairs next, all;
      for (std::uint32_t e = 0; e < 64; ++e) {
        next.emplace_back(e, e / 4 * 4 + (e + 1) % 4);
        for (std::uint32_t to = 0; to < 64; ++to)
          if (to != e) all.emplace_back(e, to);
      }
      const std::vector<double> ring = loads(fabric, *router, next);
      CHECK(*std::max_element(ring.begin(), ring.end()) == 1);
      // A packet crosses k / 4 links of a ring of even k on average, so each of the 2 N links of a dimension carries
      // N^2 k / 4 / (2 N) = N k / 8. This is also what the bisection allows.
      const std::vector<double> load = loads(fabric, *router, all);
      for (std::uint32_t l = 2 * 64; l < fabric.links(); ++l) REQUIRE(load[l] == Approx(64 * 4 / 8.));
    }
}

TEST_CASE("minimal paths of a HyperX and of a torus, counted", "[routing]") {
  const auto paths = [](const char* kind, const Keys& keys, std::uint32_t from, std::uint32_t to) {
    const Fabric fabric = fabric_of(kind, demand_of(keys.contains("nodes_per_switch") ? 60 : 60, 1), keys);
    const LinkState state;
    std::set<std::vector<std::uint32_t>> found;
    Path path;
    for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
      REQUIRE(router_of("ecmp", fabric, state, seed)->route({from, to, 1, 2}, path));
      found.insert(path.resources);
    }
    return found.size();
  };
  // 3 x 4 x 5: from (0, 0, 0) to (2, 3, 4) any order of three dimensions, over any cable of each: 3! 2^3.
  CHECK(paths("hyperx", {{"dimensions", "3 4 5"}, {"cables", "2"}}, 0, 59) == 48);
  CHECK(paths("hyperx", {{"dimensions", "3 4 5"}, {"cables", "2"}, {"paths", "dimension_order"}}, 0, 59) == 8);
  CHECK(paths("hyperx", {{"dimensions", "3 4 5"}}, 0, 2) == 1);
  // 10 x 6: from (0, 0) to (3, 2), binomial(5, 2).
  CHECK(paths("torus", {{"dimensions", "10 6"}}, 0, 23) == 10);
  CHECK(paths("torus", {{"dimensions", "10 6"}, {"paths", "dimension_order"}}, 0, 23) == 1);
  // To (5, 0), half around: both ways.
  CHECK(paths("torus", {{"dimensions", "10 6"}}, 0, 5) == 2);
}

TEST_CASE("packets in dimension order cross the first dimension first", "[routing]") {
  const Fabric fabric = fabric_of("torus", demand_of(60, 1), {{"dimensions", "10 6"}, {"paths", "dimension_order"}});
  const LinkState state;
  Path path;
  for (const char* policy : {"ecmp", "static", "adaptive"})
    for (std::uint32_t to = 1; to < 60; ++to) {
      REQUIRE(router_of(policy, fabric, state)->route({0, to, 1, 2}, path));
      bool second = false;
      for (std::size_t i = 1; i + 1 < path.resources.size(); ++i) {
        const auto [a, b] = fabric.link(LinkId(path.resources[i]));
        const bool moves_second = (a.value - 60) / 10 != (b.value - 60) / 10;
        REQUIRE((moves_second || !second));
        second = moves_second;
      }
    }
}

TEST_CASE("around dead global cables, paths keep to one as long as there is one", "[routing]") {
  const Fabric fabric =
      fabric_of("dragonfly", demand_of(24, 1), {{"groups", "3"}, {"switches_per_group", "4"}, {"global_links", "2"}});
  const auto globals = [&](const Path& path) {
    int count = 0;
    for (std::size_t i = 1; i + 1 < path.resources.size(); ++i) {
      const auto [a, b] = fabric.link(LinkId(path.resources[i]));
      count += group_of(fabric, a) != group_of(fabric, b);
    }
    return count;
  };
  std::vector<std::uint32_t> between;  // cables of groups 0 and 1
  for (std::uint32_t l = 48; l < fabric.links(); l += 2) {
    const auto [a, b] = fabric.link(LinkId(l));
    if (group_of(fabric, a) == 0 && group_of(fabric, b) == 1) between.push_back(l);
  }
  REQUIRE(between.size() == 2);
  LinkState state;
  state.set(LinkId(between[0]), 0);
  state.set(LinkId(between[0] + 1), 0);
  Path path;
  for (const char* policy : {"ecmp", "adaptive", "valiant"})
    for (std::uint32_t from = 0; from < 8; ++from)
      for (std::uint32_t to = 8; to < 24; ++to) {
        REQUIRE(router_of(policy, fabric, state)->route({from, to, 1, 2}, path));
        CHECK(std::find(path.resources.begin(), path.resources.end(), between[0]) == path.resources.end());
        if (std::string(policy) == "ecmp") CHECK(globals(path) == 1);
      }
  state.set(LinkId(between[1]), 0);
  REQUIRE(router_of("ecmp", fabric, state)->route({0, 8, 1, 2}, path));
  CHECK(globals(path) == 2);
}

TEST_CASE("faults elsewhere do not change paths", "[routing]") {
  for (const auto& [kind, keys] : std::vector<std::pair<const char*, Keys>>{
           {"dragonfly", {{"groups", "6"}, {"switches_per_group", "3"}, {"global_links", "2"}}},
           {"dragonfly_plus",
            {{"groups", "6"}, {"leaves_per_group", "3"}, {"spines_per_group", "2"}, {"global_links", "3"}}},
           {"torus", {{"dimensions", "6 3"}}},
           {"hyperx", {{"dimensions", "6 3"}, {"paths", "dimension_order"}}}}) {
    const Fabric fabric = fabric_of(kind, demand_of(36, 1), keys);
    INFO(kind);
    const LinkState fine;
    for (const std::uint32_t dead : {80U, 101U, fabric.links() - 1}) {
      LinkState state;
      state.set(LinkId(dead), 0);
      for (const char* policy : {"ecmp", "adaptive", "static"}) {
        const auto before = router_of(policy, fabric, fine), after = router_of(policy, fabric, state);
        Path a, b;
        for (std::uint32_t from = 0; from < 36; ++from)
          for (std::uint32_t to = 0; to < 36; to += 5) {
            if (from == to) continue;
            REQUIRE(before->route({from, to, 7, 9}, a));
            REQUIRE(after->route({from, to, 7, 9}, b));
            CHECK(std::find(b.resources.begin(), b.resources.end(), dead) == b.resources.end());
            // A switch that has fewer links to choose from may hash to another one, so spreading shows it best.
            if (std::string(policy) != "adaptive") continue;
            if (std::find(a.resources.begin(), a.resources.end(), dead) != a.resources.end()) continue;
            CHECK(a.resources == b.resources);
            CHECK(a.weights == b.weights);
          }
      }
    }
  }
}

/// Every switch with NICs to every other, with a number of flows of its own.
struct Traffic {
  std::vector<SwitchFlows> pairs;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> ends;  ///< endpoints below the switches of a pair
};
Traffic traffic(const Fabric& fabric) {
  std::map<std::uint32_t, std::uint32_t> port;  // of each switch
  for (std::uint32_t e = 0; e < fabric.endpoints(); ++e)
    port[fabric.link(LinkId(2 * e)).to.value - fabric.endpoints()] = e;
  Traffic made;
  for (const auto& [to, to_port] : port)
    for (const auto& [from, from_port] : port)
      if (from != to) {
        made.pairs.push_back({from, to, 1 + (from * 7 + to * 3) % 5});
        made.ends.emplace_back(from_port, to_port);
      }
  return made;
}

const std::vector<std::pair<const char*, Keys>>& parted() {
  static const std::vector<std::pair<const char*, Keys>> list = {
      {"dragonfly", {{"groups", "4"}, {"switches_per_group", "3"}, {"global_links", "2"}}},
      {"dragonfly_plus",
       {{"groups", "4"}, {"leaves_per_group", "3"}, {"spines_per_group", "2"}, {"global_links", "3"}}},
      {"torus", {{"dimensions", "4 3"}}},
      {"torus", {{"dimensions", "4 3"}, {"paths", "dimension_order"}}},
      {"hyperx", {{"dimensions", "4 3"}, {"cables", "2"}}}};
  return list;
}

TEST_CASE("flows parted between switches equal those routed one by one", "[routing]") {
  const LinkState state;
  for (const auto& [kind, keys] : parted()) {
    const Fabric fabric = fabric_of(kind, demand_of(24, 1), keys);
    const Traffic t = traffic(fabric);
    INFO(kind);
    const auto router = router_of("spray", fabric, state);
    REQUIRE(router->parting() == Router::Parting::evenly);
    std::vector<double> load(fabric.links(), 0), routed(load);
    router->part_pairs(t.pairs, 1, [&](std::uint32_t l, double flows) { load[l] += flows; });
    Path path;
    for (std::size_t p = 0; p < t.pairs.size(); ++p) {
      REQUIRE(router->route({t.ends[p].first, t.ends[p].second, 1, 2}, path));
      for (std::size_t i = 1; i + 1 < path.resources.size(); ++i)
        routed[path.resources[i]] += path.weight(i) * static_cast<double>(t.pairs[p].flows);
    }
    for (std::size_t l = 0; l < load.size(); ++l) REQUIRE(load[l] == Approx(routed[l]).margin(1e-9));
  }
}

TEST_CASE("samples of parted flows have the mean of hashed flows", "[routing]") {
  const LinkState state;
  constexpr std::uint64_t seeds = 500;
  for (const char* policy : {"ecmp", "valiant"})
    for (const auto& [kind, keys] : parted()) {
      const Fabric fabric = fabric_of(kind, demand_of(24, 1), keys);
      const Traffic t = traffic(fabric);
      INFO(policy << ", " << kind);
      std::vector<double> parts(fabric.links(), 0), hashed(parts), squares(parts);
      for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        const auto router = router_of(policy, fabric, state, seed);
        REQUIRE(router->parting() == Router::Parting::at_random);
        std::vector<double> now(fabric.links(), 0);
        router->part_pairs(t.pairs, 1, [&](std::uint32_t l, double flows) { parts[l] += flows; });
        Path path;
        for (std::size_t p = 0; p < t.pairs.size(); ++p)
          for (std::uint32_t q = 0; q < t.pairs[p].flows; ++q) {
            REQUIRE(router->route({t.ends[p].first, t.ends[p].second, 17 * q, 5 + q}, path));
            for (std::size_t i = 1; i + 1 < path.resources.size(); ++i) now[path.resources[i]] += 1;
          }
        for (std::size_t l = 0; l < now.size(); ++l) hashed[l] += now[l], squares[l] += now[l] * now[l];
      }
      for (std::size_t l = 0; l < parts.size(); ++l) {
        const double mean = hashed[l] / seeds, variance = squares[l] / seeds - mean * mean;
        // Two means of 500 samples each; five deviations.
        REQUIRE(std::abs(parts[l] - hashed[l]) / seeds <= 5 * std::sqrt(2 * variance / seeds) + 1e-9);
      }
    }
}

}  // namespace
}  // namespace fabricast
