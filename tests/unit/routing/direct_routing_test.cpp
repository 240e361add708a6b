// Minimal routing on dragonflies, tori and HyperX networks against closed forms, and parted flows.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <set>

#include "support/routed_loads.hpp"

namespace fabricast {
namespace {

using test::canonical, test::demand_of, test::fabric_of, test::group_of, test::Keys, test::loads, test::Pairs,
    test::router_of, test::to_next_group;

TEST_CASE("minimal routing sends all traffic to the next group over one cable", "[routing]") {
  const Fabric fabric = canonical();
  const LinkState state;
  for (const char* policy : {"adaptive", "spray", "ecmp", "static"}) {
    const std::vector<double> load = loads(fabric, *router_of(policy, fabric, state), to_next_group());
    // Throughput of a host is 1 / (a p).
    CHECK(*std::max_element(load.begin(), load.end()) == Approx(8));
  }
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
    const Fabric fabric = fabric_of(kind, demand_of(60, 1), keys);
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

/// A cable between two switches, the last one; with `cut` also all cables of the first switch.
LinkState broken(const Fabric& fabric, bool cut) {
  LinkState state;
  for (const std::uint32_t l : {fabric.links() - 2, fabric.links() - 1}) state.set(LinkId(l), 0);
  for (std::uint32_t l = 2 * fabric.endpoints(); cut && l < fabric.links(); ++l) {
    const auto [from, to] = fabric.link(LinkId(l));
    if (std::min(from.value, to.value) == fabric.endpoints()) state.set(LinkId(l), 0);
  }
  return state;
}

TEST_CASE("flows parted between switches equal those routed one by one", "[routing]") {
  for (const auto& [kind, keys] : parted())
    for (const int faults : {0, 1, 2}) {
      const Fabric fabric = fabric_of(kind, demand_of(24, 1), keys);
      const LinkState state = faults ? broken(fabric, faults == 2) : LinkState();
      const Traffic t = traffic(fabric);
      INFO(kind << ", faults " << faults);
      for (const bool detours : {false, true}) {
        const auto router = detours
                                ? router_of("valiant", fabric, state, 1, {{"choice", "packet"}, {"nonminimal", "0.7"}})
                                : router_of("spray", fabric, state);
        REQUIRE(router->parting() == Router::Parting::evenly);
        std::vector<double> load(fabric.links(), 0), routed(load);
        std::vector<SwitchFlows> connected;
        Path path;
        for (std::size_t p = 0; p < t.pairs.size(); ++p) {
          if (!router->route({t.ends[p].first, t.ends[p].second, 1, 2}, path)) continue;
          connected.push_back(t.pairs[p]);
          for (std::size_t i = 1; i + 1 < path.resources.size(); ++i)
            routed[path.resources[i]] += path.weight(i) * static_cast<double>(t.pairs[p].flows);
        }
        CHECK((connected.size() < t.pairs.size()) == (faults == 2));
        router->part_pairs(connected, 1, [&](std::uint32_t l, double flows) { load[l] += flows; });
        // Detours are parted in units of 2^-24 of a flow, one for each pair of switches.
        const double unit = detours ? static_cast<double>(t.pairs.size()) * 0x1p-24 : 1e-9;
        for (std::size_t l = 0; l < load.size(); ++l) REQUIRE(load[l] == Approx(routed[l]).margin(unit));
      }
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
