// UGAL: how much of the traffic takes detours, against closed forms and scans of Valiant's fraction.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <string>

#include "support/routed_loads.hpp"

namespace fabricast {
namespace {

using test::canonical, test::demand_of, test::fabric_of, test::group_of, test::Keys, test::loads, test::Pairs,
    test::router_of, test::to_next_group;

struct Offered {
  std::vector<SwitchFlows> pairs;
  double port = 0;  ///< s/B
};

/// Flows between endpoints as flows between switches. Every endpoint has one link of one rate.
Offered offered(const Fabric& fabric, const Pairs& flows) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> between;  // by destination
  std::vector<double> out(fabric.endpoints(), 0), in(out);
  const auto at = [&](std::uint32_t e) { return fabric.link(LinkId(2 * e)).to.value - fabric.endpoints(); };
  for (const auto& [from, to] : flows) {
    if (at(from) != at(to)) ++between[{at(to), at(from)}];
    ++out[from];
    ++in[to];
  }
  Offered made;
  for (const auto& [ends, count] : between) made.pairs.push_back({ends.second, ends.first, count});
  made.port = std::max(*std::max_element(out.begin(), out.end()), *std::max_element(in.begin(), in.end())) /
              fabric.link_class(LinkId(0)).rate.value;
  return made;
}

/// The largest load of a link between switches.
double most(const Fabric& fabric, const std::vector<double>& load) {
  return *std::max_element(load.begin() + 2 * fabric.endpoints(), load.end());
}
double most_by_load(const Fabric& fabric, const Pairs& flows, const LinkState& state = {}) {
  const auto empty = router_of("ugal", fabric, state);
  REQUIRE(empty->follows_load());
  const Offered o = offered(fabric, flows);
  const auto loaded = empty->under_load(o.pairs, o.port);
  return most(fabric, loads(fabric, loaded ? *loaded : *empty, flows));
}
double most_minimal(const Fabric& fabric, const Pairs& flows) {
  const LinkState state;
  return most(fabric, loads(fabric, *router_of("spray", fabric, state), flows));
}
/// The least of a scan over Valiant's fraction.
double least_of_scan(const Fabric& fabric, const Pairs& flows) {
  const LinkState state;
  double least = 1e9;
  for (int percent = 0; percent <= 100; ++percent)
    least = std::min(
        least, most(fabric, loads(fabric,
                                  *router_of("valiant", fabric, state, 1,
                                             {{"choice", "packet"}, {"nonminimal", std::to_string(percent / 100.)}}),
                                  flows)));
  return least;
}

/// Host i of each of `switches` with `hosts` sends to host i of the one `by` further.
Pairs shifted(std::uint32_t switches, std::uint32_t hosts, std::uint32_t by) {
  Pairs flows;
  for (std::uint32_t e = 0; e < switches * hosts; ++e) flows.emplace_back(e, (e + by * hosts) % (switches * hosts));
  return flows;
}
Pairs all_to_all(std::uint32_t n) {
  Pairs flows;
  for (std::uint32_t from = 0; from < n; ++from)
    for (std::uint32_t to = 0; to < n; ++to)
      if (from != to) flows.emplace_back(from, to);
  return flows;
}

TEST_CASE("by load, traffic to the next group takes the best part of detours", "[routing]") {
  const Fabric fabric = canonical();
  // 8 (1 - q) on the direct cable and 2 q 8 / 7 on the others: 16 / 9 at q = 7 / 9, where minimal paths put 8.
  CHECK(most_by_load(fabric, to_next_group()) == Approx(16. / 9).epsilon(0.005));
  // Large dragonflies reach half the rate of a host: h / (2 p) [Kim2008]. Here a = 4 switches, p = h = 2, and with
  // g = 9 groups 1 / max(1, 16 / 9) = 0.56.
  CHECK(1 / most_by_load(fabric, to_next_group()) > 0.5);
}

TEST_CASE("by load, one group alone uses the cables of all others", "[routing]") {
  const Fabric fabric = canonical();
  Pairs flows;
  for (std::uint32_t e = 0; e < 8; ++e) flows.emplace_back(e, e + 8);
  // 8 (1 - q) on the direct cable and 8 q / 7 on each detour: 1 at q = 7 / 8, the rate of NIC ports.
  CHECK(most_minimal(fabric, flows) == 8);
  CHECK(most_by_load(fabric, flows) == Approx(1).epsilon(0.005));
}

TEST_CASE("by load, traffic that fits stays minimal", "[routing]") {
  const LinkState state;
  for (const auto& [kind, keys] : std::vector<std::pair<const char*, Keys>>{
           {"dragonfly", {{"groups", "9"}, {"switches_per_group", "4"}, {"switch.ports", "7"}}},
           {"torus", {{"dimensions", "4 3 3"}}},
           {"hyperx", {{"dimensions", "6 6"}}},
           {"dragonfly_plus",
            {{"groups", "4"}, {"leaves_per_group", "3"}, {"spines_per_group", "3"}, {"global_links", "9"}}},
           {"ocs", {{"pods", "4"}, {"leaves_per_pod", "3"}, {"spines_per_pod", "3"}}}}) {
    const Fabric fabric = fabric_of(kind, demand_of(36, 1), keys);
    INFO(kind);
    const Offered o = offered(fabric, all_to_all(36));
    const auto router = router_of("ugal", fabric, state), minimal = router_of("spray", fabric, state);
    CHECK(router->under_load(o.pairs, o.port) == nullptr);
    CHECK(router->under_load({}, 1) == nullptr);
    Path a, b;
    for (std::uint32_t to = 1; to < 36; ++to) {
      REQUIRE(router->route({0, to, 1, 2}, a));
      REQUIRE(minimal->route({0, to, 1, 2}, b));
      CHECK(a.resources.size() == b.resources.size());
      CHECK(a.latency == b.latency);
    }
  }
}

TEST_CASE("by load, switches of a group or a mesh help each other", "[routing]") {
  // p (1 - q) on the cable to the next switch and 2 p q / (a - 2) on the others: 2 p / a, or the rate of NIC ports.
  for (const auto& [a, p] : std::vector<std::pair<std::uint32_t, std::uint32_t>>{{5, 3}, {8, 4}, {8, 2}, {6, 5}}) {
    INFO(a << " switches, " << p << " hosts");
    const Fabric group = fabric_of("dragonfly", demand_of(a * p, 1),
                                   {{"groups", "1"}, {"switches_per_group", std::to_string(a)}}),
                 mesh = fabric_of("hyperx", demand_of(a * p, 1), {{"dimensions", std::to_string(a)}});
    for (const Fabric* fabric : {&group, &mesh}) {
      CHECK(most_minimal(*fabric, shifted(a, p, 1)) == p);
      CHECK(most_by_load(*fabric, shifted(a, p, 1)) == Approx(std::max(1., 2. * p / a)).epsilon(0.005));
    }
  }
}

TEST_CASE("by load, no fraction of Valiant's is better for traffic that is alike everywhere", "[routing]") {
  struct Case {
    const char* kind;
    std::uint32_t hosts;
    Keys keys;
    Pairs flows;
  };
  const std::vector<Case> cases = {
      // Tornado traffic: almost half around a ring [Kim2008].
      {"torus", 8, {{"dimensions", "8"}}, shifted(8, 1, 3)},
      {"torus", 64, {{"dimensions", "8 4"}}, shifted(32, 2, 3)},
      {"hyperx", 36, {{"dimensions", "3 3"}}, shifted(9, 4, 1)},
      {"dragonfly_plus",
       48,
       {{"groups", "6"}, {"leaves_per_group", "2"}, {"spines_per_group", "2"}, {"global_links", "1"}},
       shifted(12, 4, 2)},
      {"ocs", 48, {{"pods", "6"}, {"leaves_per_pod", "2"}, {"spines_per_pod", "2"}}, shifted(12, 4, 2)}};
  for (const Case& c : cases) {
    const Fabric fabric = fabric_of(c.kind, demand_of(c.hosts, 1), c.keys);
    INFO(c.kind);
    const double found = most_by_load(fabric, c.flows), scan = least_of_scan(fabric, c.flows);
    CHECK(found <= std::max(1., scan * 1.01));
    CHECK(found <= most_minimal(fabric, c.flows) * (1 + 1e-9));
  }
}

TEST_CASE("by load, other traffic stays where it is", "[routing]") {
  // All of group 0 sends to group 1, and one host of group 5 to group 6, which is no bottleneck.
  const Fabric fabric = canonical();
  const LinkState state;
  Pairs flows;
  for (std::uint32_t e = 0; e < 8; ++e) flows.emplace_back(e, e + 8);
  flows.emplace_back(40, 48);
  const Offered o = offered(fabric, flows);
  const auto router = router_of("ugal", fabric, state)->under_load(o.pairs, o.port);
  REQUIRE(router);
  Path busy, alone;
  REQUIRE(router->route({0, 8, 1, 2}, busy));
  REQUIRE(router->route({40, 48, 1, 2}, alone));
  CHECK(busy.resources.size() > 20);
  CHECK(alone.resources.size() <= 5);
  CHECK(most(fabric, loads(fabric, *router, flows)) < 1.3);
}

TEST_CASE("by load, queue pairs take what packets take on average", "[routing]") {
  const Fabric fabric = canonical();
  const LinkState state;
  const Offered o = offered(fabric, to_next_group());
  const auto router = router_of("ugal", fabric, state, 1, {{"choice", "queue_pair"}})->under_load(o.pairs, o.port);
  REQUIRE(router);
  constexpr std::uint32_t pairs = 4000;
  CHECK(most(fabric, loads(fabric, *router, to_next_group(), pairs)) == Approx(16. / 9 * pairs).epsilon(0.05));
}

TEST_CASE("by load, flows parted between switches equal those routed one by one", "[routing]") {
  const Fabric fabric = canonical();
  const LinkState state;
  const Offered o = offered(fabric, to_next_group());
  const auto router = router_of("ugal", fabric, state)->under_load(o.pairs, o.port);
  REQUIRE(router);
  std::vector<double> parted(fabric.links(), 0);
  router->part_pairs(o.pairs, 1, [&](std::uint32_t l, double flows) { parted[l] += flows; });
  const std::vector<double> routed = loads(fabric, *router, to_next_group());
  for (std::uint32_t l = 2 * fabric.endpoints(); l < fabric.links(); ++l)
    REQUIRE(parted[l] == Approx(routed[l]).margin(1e-5));
}

TEST_CASE("by load, traffic avoids what is slow or dead", "[routing]") {
  const Fabric fabric = canonical();
  Pairs flows;
  for (std::uint32_t e = 0; e < 8; ++e) flows.emplace_back(e, e + 8);
  LinkState state;
  for (std::uint32_t l = 2 * fabric.endpoints(); l < fabric.links(); ++l) {
    const auto [from, to] = fabric.link(LinkId(l));
    if (group_of(fabric, from) + group_of(fabric, to) == 1 && group_of(fabric, from) != group_of(fabric, to))
      state.set(LinkId(l), 0.5);
  }
  // The direct cable at half its rate: 16 (1 - q) = 8 q / 7 at q = 14 / 15, and 16 / 15 of the rate of a port.
  const Offered o = offered(fabric, flows);
  const auto busy = [&](const LinkState& of) {
    const auto empty = router_of("ugal", fabric, of);
    const auto router = empty->under_load(o.pairs, o.port);
    std::vector<double> load = loads(fabric, router ? *router : *empty, flows);
    for (std::uint32_t l = 0; l < load.size(); ++l)
      load[l] = of.down(l) ? (load[l] > 0 ? 1e9 : 0) : load[l] / of.factor(l);
    return most(fabric, load);
  };
  CHECK(busy(state) == Approx(16. / 15).epsilon(0.005));
  // Dead: minimal paths have two cables between groups, and detours as many.
  LinkState dead = state;
  for (const auto& [link, factor] : state.factors()) dead.set(LinkId(link), 0);
  CHECK(busy(dead) <= 8. / 7 * 1.02);
}

TEST_CASE("by load, flows to a switch that is cut off are left out", "[routing]") {
  const Fabric fabric = canonical();
  LinkState state;  // the last switch of the last group
  for (std::uint32_t l = 2 * fabric.endpoints(); l < fabric.links(); ++l) {
    const auto [from, to] = fabric.link(LinkId(l));
    if (std::max(from.value, to.value) == fabric.endpoints() + 35) state.set(LinkId(l), 0);
  }
  const Offered o = offered(fabric, to_next_group());
  const auto router = router_of("ugal", fabric, state)->under_load(o.pairs, o.port);
  REQUIRE(router);
  Path path;
  CHECK(router->route({0, 8, 1, 2}, path));
  CHECK_FALSE(router->route({62, 70, 1, 2}, path));
}

TEST_CASE("UGAL needs switches that are connected directly", "[routing]") {
  const LinkState state;
  CHECK_THROWS_WITH(router_of("ugal", fabric_of("fat_tree", demand_of(16, 1)), state),
                    Catch::Contains("needs a fabric with direct links"));
}

}  // namespace
}  // namespace fabricast
