// Detours on fabrics of 300 to 1,024 switches, against closed forms and against all detours one by one.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <string>

#include "sim/routing/detours.hpp"
#include "support/routed_loads.hpp"

namespace fabricast {
namespace {

using test::demand_of, test::fabric_of, test::Keys, test::loads, test::Pairs, test::router_of;

/// Groups of `a` switches with p hosts each. Switch i of each group has a cable to switch i of all others.
struct Grouped {
  std::uint32_t groups, a, p;
  Fabric fabric;
  Grouped(std::uint32_t groups_, std::uint32_t a_, std::uint32_t p_)
      : groups(groups_),
        a(a_),
        p(p_),
        fabric(fabric_of("dragonfly", demand_of(groups_ * a_ * p_, 1),
                         {{"groups", std::to_string(groups_)},
                          {"switches_per_group", std::to_string(a_)},
                          {"global_links", std::to_string(a_)},
                          {"switch.ports", "256"}})) {}
  std::uint32_t switches() const { return groups * a; }
  std::uint32_t group_of(std::uint32_t link_end) const { return (link_end - fabric.endpoints()) / a; }
  /// All hosts of each switch to those of the switch `by` further in its group, and `groups_by` groups further.
  std::vector<SwitchFlows> shifted(std::uint32_t groups_by, std::uint32_t by) const {
    std::vector<SwitchFlows> pairs;
    for (std::uint32_t to = 0; to < switches(); ++to) {
      const std::uint32_t group = (to / a + groups - groups_by) % groups, at = (to % a + a - by) % a;
      pairs.push_back({group * a + at, to, p});
    }
    return pairs;
  }
  /// The time in which a host sends one flow.
  double port() const { return 1 / fabric.link_class(LinkId(0)).rate.value; }
};

std::vector<double> parted(const Fabric& fabric, const Router& router, const std::vector<SwitchFlows>& pairs) {
  std::vector<double> load(fabric.links(), 0);
  router.part_pairs(pairs, 1, [&](std::uint32_t l, double flows) { load[l] += flows; });
  return load;
}
double most(const std::vector<double>& load) { return *std::max_element(load.begin(), load.end()); }

/// The most flows on a link of 1,024 switches with 24 hosts each, by load. Minimal paths put all on one.
double most_by_load(const Grouped& x, const Router& empty, const std::vector<SwitchFlows>& pairs) {
  CHECK(most(parted(x.fabric, empty, pairs)) == 24);
  const auto router = empty.under_load(pairs, x.port());
  REQUIRE(router);
  return most(parted(x.fabric, *router, pairs));
}

TEST_CASE("on 1,024 switches, traffic to the next group takes the best part of detours", "[routing]") {
  const Grouped x(32, 32, 24);
  const LinkState state;
  const auto empty = router_of("ugal", x.fabric, state);
  // p (1 - q) on the cable to the next group and 2 p q / (G - 2) on the others: 2 p / G at q = (G - 2) / G.
  CHECK(most_by_load(x, *empty, x.shifted(1, 0)) == Approx(2 * 24. / 32).epsilon(0.005));
}

TEST_CASE("on 1,024 switches, those of a group help each other, and what fits stays minimal", "[routing]") {
  const Grouped x(32, 32, 24);
  const LinkState state;
  const auto empty = router_of("ugal", x.fabric, state);
  // p (1 - q) on the cable to the next switch and 2 p q / (a - 2) on the others.
  CHECK(most_by_load(x, *empty, x.shifted(0, 1)) == Approx(2 * 24. / 32).epsilon(0.005));
  // An alltoall of N hosts puts (a p)^2 flows on the a cables between two groups, and as many on local ones:
  // at most p^2 (1 + 2 (G - 1) / 2) on each, of N that leave a host.
  std::vector<SwitchFlows> all;
  for (std::uint32_t to = 0; to < x.switches(); ++to)
    for (std::uint32_t from = 0; from < x.switches(); ++from)
      if (from != to) all.push_back({from, to, std::uint64_t{x.p} * x.p});
  const double n = x.switches() * x.p;
  CHECK(most(parted(x.fabric, *empty, all)) == Approx(x.p * x.p * x.groups).epsilon(0.001));
  CHECK(empty->under_load(all, n * x.port()) == nullptr);
}

TEST_CASE("a path lists some of many detours, and flows together use all of them", "[routing]") {
  const Grouped x(20, 16, 16);
  const LinkState state;
  const auto router = router_of("valiant", x.fabric, state, 1, {{"choice", "packet"}});
  const std::uint32_t hosts = x.a * x.p;
  Pairs flows;
  for (std::uint32_t e = 0; e < x.fabric.endpoints(); ++e) flows.emplace_back(e, (e + hosts) % x.fabric.endpoints());
  const std::vector<double> all = parted(x.fabric, *router, x.shifted(1, 0)), some = loads(x.fabric, *router, flows);
  for (std::uint32_t l = 2 * x.fabric.endpoints(); l < x.fabric.links(); ++l) {
    INFO(x.fabric.name(LinkId(l)) << ", " << some[l] << " of " << all[l]);
    REQUIRE(some[l] == Approx(all[l]).epsilon(0.1).margin(1e-5));
  }
  // Whatever enters a switch in between leaves it.
  Path path;
  REQUIRE(router->route({0, hosts, 1, 2}, path));
  CHECK(path.resources.size() < 1000);
  std::map<std::uint32_t, double> left;
  for (std::size_t i = 0; i < path.resources.size(); ++i) {
    const auto [from, to] = x.fabric.link(LinkId(path.resources[i]));
    left[from.value] += path.weight(i);
    left[to.value] -= path.weight(i);
  }
  for (const auto& [vertex, sum] : left) CHECK(sum == Approx(vertex == 0 ? 1 : vertex == hosts ? -1 : 0).margin(1e-9));
  // As long as the longest of all detours, which each queue pair draws.
  const auto drawn = router_of("valiant", x.fabric, state);
  const Seconds slowest = path.latency;
  Seconds longest;
  for (std::uint32_t q = 0; q < 3000; ++q) {
    REQUIRE(drawn->route({0, hosts, q, q + 1}, path));
    longest = std::max(longest, path.latency);
  }
  CHECK(slowest.value == Approx(longest.value));
}

TEST_CASE("flows of collectives take all of many detours, as one by one", "[routing]") {
  const Grouped x(20, 16, 16);
  LinkState state;
  const auto router = router_of("valiant", x.fabric, state, 1, {{"choice", "packet"}}),
             spray = router_of("spray", x.fabric, state);
  const auto* many = dynamic_cast<const ManyDetours*>(router.get());
  REQUIRE(many);
  REQUIRE(many->leaves_out());
  // Between groups and within one, with other numbers for each pair.
  std::vector<SwitchFlows> pairs;
  for (std::uint32_t to = 0; to < x.switches(); to += 37)
    for (std::uint32_t from = 3; from < x.switches(); from += 61)
      if (from != to) pairs.push_back({from, to, 1 + (from + to) % 5});
  pairs.push_back({5, x.switches() - 1, 3});
  std::vector<double> all(x.fabric.links(), 0), one_by_one(all);
  many->spread(pairs, all);
  Path path;
  const auto add = [&](std::uint32_t from, std::uint32_t to, double flows) {
    REQUIRE(spray->route({from * x.p, to * x.p, 0, 0}, path));
    for (std::size_t i = 1; i + 1 < path.resources.size(); ++i) one_by_one[path.resources[i]] += flows * path.weight(i);
  };
  for (const auto& [from, to, flows] : pairs) {
    const bool inside = from / x.a == to / x.a;
    std::vector<std::uint32_t> over;
    for (std::uint32_t v = 0; v < x.switches(); ++v)
      if (inside ? v / x.a == from / x.a && v != from && v != to : v / x.a != from / x.a && v / x.a != to / x.a)
        over.push_back(v);
    for (const std::uint32_t v : over) {
      add(from, v, static_cast<double>(flows) / static_cast<double>(over.size()));
      add(v, to, static_cast<double>(flows) / static_cast<double>(over.size()));
    }
    REQUIRE(router->route({from * x.p, to * x.p, 0, 0}, path));
    CHECK(many->latency({from * x.p, to * x.p, 0, 0}).value == Approx(path.latency.value));
  }
  for (std::uint32_t l = 2 * x.fabric.endpoints(); l < x.fabric.links(); ++l)
    REQUIRE(all[l] == Approx(one_by_one[l]).epsilon(1e-9).margin(1e-12));
  // Around a link that is down, and with few detours, paths are listed.
  state.set(LinkId(2 * x.fabric.endpoints()), 0);
  const auto around = router_of("valiant", x.fabric, state, 1, {{"choice", "packet"}});
  CHECK_FALSE(dynamic_cast<const ManyDetours*>(around.get())->leaves_out());
}

TEST_CASE("detours over thousands of switches are refused", "[routing]") {
  const LinkState state;
  const Fabric large = fabric_of("torus", demand_of(65 * 64, 1), {{"dimensions", "65 64"}});
  CHECK_THROWS_WITH(router_of("ugal", large, state), Catch::Contains("at most 4096 switches"));
  CHECK_THROWS_WITH(router_of("valiant", large, state, 1, {{"choice", "packet"}}), Catch::Contains("at most 4096"));
  CHECK_NOTHROW(router_of("valiant", large, state));
}

}  // namespace
}  // namespace fabricast
