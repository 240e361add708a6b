// Routers on small fabrics: valid ways, spread, polarization, contention, links that are down.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <set>

#include "fabricast/core/names.hpp"
#include "fabricast/core/rng.hpp"
#include "support/fabrics.hpp"

namespace fabricast {
namespace {

using test::demand_of, test::fabric_of, test::Keys, test::router_of;

std::vector<std::uint32_t> way(const Router& router, const Flow& flow) {
  Path path;
  REQUIRE(router.route(flow, path));
  return path.resources;
}

TEST_CASE("ECMP spreads flows evenly over the uplinks of a leaf", "[routing]") {
  const Fabric fabric = fabric_of("fat_tree", demand_of(1024, 1));
  const Clos& clos = *fabric.clos();
  REQUIRE(clos.leaf_up == 32);
  const LinkState state;
  for (const char* hash : {"crc16", "crc32"})
    for (const std::uint64_t seed : {1ULL, 2ULL, 3ULL}) {
      const auto router = router_of("ecmp", fabric, state, seed, {{"hash", hash}});
      Rng rng(seed);
      std::vector<double> count(32, 0);
      constexpr int flows = 16'384;
      for (int i = 0; i < flows; ++i) {
        const auto from = static_cast<std::uint32_t>(rng.below(32)),
                   to = static_cast<std::uint32_t>(32 + rng.below(992));
        const auto qp = static_cast<std::uint32_t>(rng.below(1 << 20));
        count[(way(*router, {from, to, qp, qp + 7})[1] - clos.leaf_to_spine(0, 0)) / 2] += 1;
      }
      double chi2 = 0;
      for (const double c : count) chi2 += (c - flows / 32.) * (c - flows / 32.) / (flows / 32.);
      INFO(hash << ", seed " << seed);
      // 31 degrees of freedom: mean 31, deviation 7.9; five deviations.
      CHECK(chi2 < 71);
    }
}

TEST_CASE("one seed is one outcome, another seed another", "[routing]") {
  const Fabric fabric = fabric_of("fat_tree", demand_of(128, 1), {{"switch.ports", "8"}});
  const LinkState state;
  const auto outcome = [&](std::uint64_t seed) {
    const auto router = router_of("ecmp", fabric, state, seed);
    std::vector<std::vector<std::uint32_t>> paths;
    for (std::uint32_t e = 0; e < 128; ++e) paths.push_back(way(*router, {e, (e + 37) % 128, e, e}));
    return paths;
  };
  CHECK(outcome(1) == outcome(1));
  CHECK(outcome(1) != outcome(2));
  CHECK(outcome(2) != outcome(3));
}

/// Share of the spines' uplinks that any of many flows between groups takes.
double used_spine_uplinks(const Fabric& fabric, const Keys& keys, std::uint64_t seed) {
  const Clos& clos = *fabric.clos();
  const LinkState state;
  const auto router = router_of("ecmp", fabric, state, seed, keys);
  std::set<std::uint32_t> used;
  Rng rng(seed);
  const std::uint32_t per_group = clos.nodes_per_block * clos.leaves_per_group;
  for (std::uint32_t from = 0; from < fabric.endpoints(); ++from)
    for (int i = 0; i < 100; ++i) {
      const auto to = static_cast<std::uint32_t>(rng.below(fabric.endpoints()));
      if (from / per_group == to / per_group) continue;
      const auto qp = static_cast<std::uint32_t>(rng.below(1 << 20));
      used.insert(way(*router, {from, to, qp, qp})[2]);
    }
  return static_cast<double>(used.size()) / clos.spine_cables();
}

TEST_CASE("polarization: what seeds and bits leave of the uplinks", "[routing]") {
  // 16 ports: leaves and spines have 8 uplinks each, groups 8 leaves; about 90 flows cross each spine uplink.
  const Fabric fabric = fabric_of("fat_tree", demand_of(1024, 1), {{"switch.ports", "16"}});
  REQUIRE(fabric.clos()->spine_up == 8);
  REQUIRE(fabric.clos()->leaf_up == 8);
  REQUIRE(fabric.clos()->leaves_per_group == 8);
  // Equal seeds and bits: a spine repeats the choice that brought the flow to it, so it uses one uplink of eight.
  CHECK(used_spine_uplinks(fabric, {{"salt", "shared"}, {"bits", "same"}}, 1) == Approx(1. / 8));
  // CRC is linear: a seed of its own per switch only shifts the choice. Each of the eight leaves below a spine uses one
  // of its uplinks at random: 1 - (7/8)^8 of them are used.
  double sum = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed)
    sum += used_spine_uplinks(fabric, {{"salt", "per_switch"}, {"bits", "same"}}, seed);
  CHECK(sum / 10 == Approx(1 - std::pow(7. / 8, 8)).margin(0.02));
  // Other bits at each tier undo it, with equal seeds or not.
  CHECK(used_spine_uplinks(fabric, {{"salt", "per_switch"}, {"bits", "per_tier"}}, 1) > 0.999);
  CHECK(used_spine_uplinks(fabric, {{"salt", "shared"}, {"bits", "per_tier"}}, 1) > 0.999);
}

TEST_CASE("queue pairs of one NIC spread, unless their ports are not hashed", "[routing]") {
  const Fabric fabric = fabric_of("fat_tree", demand_of(1024, 1));
  const LinkState state;
  const auto uplinks = [&](const Keys& keys, std::uint32_t qps) {
    const auto router = router_of("ecmp", fabric, state, 5, keys);
    std::set<std::uint32_t> used;
    for (std::uint32_t qp = 0; qp < qps; ++qp) used.insert(way(*router, {0, 100, qp, qp})[1]);
    return used.size();
  };
  // 64 balls in 32 boxes leave 32 (31/32)^64 = 4.2 empty, give or take 1.7.
  CHECK(uplinks({}, 64) >= 20);
  CHECK(uplinks({}, 1) == 1);
  CHECK(uplinks({{"fields", "src_ip dst_ip"}}, 64) == 1);
  CHECK(uplinks({{"fields", "src_ip dst_ip dst_port protocol"}}, 64) == 1);  // RoCE's destination port is fixed
}

/// The most flows on a link when every endpoint sends to the one `shift` further.
int worst_load(const Fabric& fabric, const Router& router, std::uint32_t shift) {
  const std::uint32_t n = fabric.endpoints();
  std::map<std::uint32_t, int> flows;
  int worst = 0;
  for (std::uint32_t e = 0; e < n; ++e)
    for (const std::uint32_t link : way(router, {e, (e + shift) % n, 1, 1})) worst = std::max(worst, ++flows[link]);
  return worst;
}

TEST_CASE("d-mod-k routes shifts without contention [Zahavi2010]", "[routing]") {
  const LinkState state;
  for (const auto& [ports, hosts] :
       std::vector<std::pair<const char*, std::uint32_t>>{{"4", 16}, {"8", 128}, {"6", 54}}) {
    const Fabric fabric = fabric_of("fat_tree", demand_of(hosts, 1), {{"switch.ports", ports}});
    const auto fixed = router_of("static", fabric, state);
    for (std::uint32_t shift = 1; shift < hosts; ++shift) {
      INFO("shift " << shift << " of " << hosts);
      REQUIRE(worst_load(fabric, *fixed, shift) == 1);
    }
  }
  // Two tiers, and eight NICs a node.
  const Fabric leaf_spine = fabric_of("fat_tree", demand_of(512, 1), {{"switch.ports", "32"}});
  const Fabric wide = fabric_of("fat_tree", demand_of(64, 8));
  for (const std::uint32_t shift : {1U, 8U, 15U, 16U, 17U, 100U, 256U, 511U}) {
    CHECK(worst_load(leaf_spine, *router_of("static", leaf_spine, state), shift) == 1);
    CHECK(worst_load(wide, *router_of("static", wide, state), shift) == 1);
  }
  // ECMP does collide: with 16 flows on 16 links of every leaf some link has three or more.
  CHECK(worst_load(leaf_spine, *router_of("ecmp", leaf_spine, state), 16) >= 3);
}

TEST_CASE("rings along the rails of a rail-optimized fabric meet no contention under static routing", "[routing]") {
  const LinkState state;
  for (const std::uint32_t nodes : {64U, 512U}) {
    const Fabric fabric = fabric_of("rail_optimized", demand_of(nodes, 8));
    CHECK(worst_load(fabric, *router_of("static", fabric, state), 8) == 1);       // to the next node
    CHECK(worst_load(fabric, *router_of("static", fabric, state), 8 * 40) == 1);  // 40 nodes further
  }
}

TEST_CASE("adaptive routing and spray fill a whole tier", "[routing]") {
  const Fabric fabric = fabric_of("fat_tree", demand_of(128, 1), {{"switch.ports", "8"}});
  const Clos& clos = *fabric.clos();
  LinkState state;
  const auto adaptive = router_of("adaptive", fabric, state), spray = router_of("spray", fabric, state);
  for (const Router* router : {adaptive.get(), spray.get()}) {
    Path path;
    REQUIRE(router->route({0, 127, 1, 1}, path));
    REQUIRE(path.resources.size() == 6);
    for (std::size_t i = 0; i < 6; ++i) CHECK(path.weight(i) == 1);
    const Router::Bundle leaf = router->bundle(path.resources[1] - fabric.links());
    CHECK(leaf.first == clos.leaf_to_spine(0, 0));
    CHECK(leaf.count == 4);
    const Router::Bundle core = router->bundle(path.resources[2] - fabric.links());
    CHECK(core.first == clos.spine_to_core(0, 0));
    CHECK(core.count == 16);  // four spines with four cables each
    const Router::Bundle down = router->bundle(path.resources[4] - fabric.links());
    CHECK(down.first == clos.leaf_to_spine(31, 0) + 1);
    CHECK(capacity(fabric, *router, state, path.resources[1]).value == Approx(4 * 50e9));
    CHECK(resource_name(fabric, *router, path.resources[1]) == "leaf0-spines");
    CHECK(resource_name(fabric, *router, path.resources[2]) == "group0-cores");
    REQUIRE(router->route({0, 1, 1, 1}, path));
    CHECK(path.resources.size() == 2);
  }
  const std::uint32_t bundle = fabric.links();  // of leaf 0 upwards
  state.set(LinkId(clos.leaf_to_spine(0, 1)), 0.5);
  CHECK(capacity(fabric, *adaptive, state, bundle).value == Approx(3.5 * 50e9));
  CHECK(capacity(fabric, *spray, state, bundle).value == Approx(4 * 0.5 * 50e9));  // the slow one holds back all
  state.set(LinkId(clos.leaf_to_spine(0, 1)), 0);
  CHECK(capacity(fabric, *adaptive, state, bundle).value == Approx(3 * 50e9));
  CHECK(capacity(fabric, *spray, state, bundle).value == Approx(3 * 50e9));
}

/// Two leaves with two and one cables to a spine each, and a third way of three switches.
Fabric two_leaves() {
  FabricBuilder builder(2, 1);
  const LinkClass cable{LinkKind::roce, BytesPerSecond{50e9}, Seconds{1e-6}};
  const VertexId a = builder.add_switch(Tier::leaf, "a"), b = builder.add_switch(Tier::leaf, "b"),
                 s = builder.add_switch(Tier::spine, "s"), t = builder.add_switch(Tier::spine, "t");
  builder.add_cable(VertexId(0), a, cable, cable);
  builder.add_cable(VertexId(1), b, cable, cable);
  builder.add_cable(a, s, cable, cable);
  builder.add_cable(a, s, cable, cable);
  builder.add_cable(b, s, cable, cable);
  builder.add_cable(a, t, cable, cable);
  builder.add_cable(b, t, cable, cable);
  return std::move(builder).build();
}

TEST_CASE("on any graph spreading weights sum to one at each hop", "[routing]") {
  const Fabric fabric = two_leaves();
  const LinkState state;
  for (const char* policy : {"adaptive", "spray"}) {
    const auto router = router_of(policy, fabric, state);
    Path path;
    REQUIRE(router->route({0, 1, 1, 1}, path));
    const std::vector<int> hops = test::hops_from(fabric, 0);
    std::map<int, double> sum;
    for (std::size_t i = 0; i < path.resources.size(); ++i)
      sum[hops[fabric.link(LinkId(path.resources[i])).to.value]] += path.weight(i);
    REQUIRE(sum.size() == 4);
    for (const auto& [hop, weight] : sum) CHECK(weight == Approx(1));
    // a's three cables carry a third each; s hands on two thirds.
    for (std::size_t i = 0; i < path.resources.size(); ++i) {
      const std::string name = fabric.name(LinkId(path.resources[i]));
      if (name == "a-s#0" || name == "a-s#1" || name == "a-t" || name == "t-b") CHECK(path.weight(i) == Approx(1. / 3));
      if (name == "s-b") CHECK(path.weight(i) == Approx(2. / 3));
    }
    CHECK(path.latency.value == Approx(4e-6));
  }
}

TEST_CASE("links that are down are left out of every choice", "[routing]") {
  Rng rng(11);
  struct Case {
    const char* kind;
    std::uint32_t nodes, ports;
    Keys keys;
  };
  const std::vector<Case> cases = {{"leaf_spine", 12, 2, {{"leaves", "4"}, {"spines", "3"}, {"cables", "2"}}},
                                   {"fat_tree", 60, 1, {{"switch.ports", "8"}}},
                                   {"fat_tree", 40, 1, {{"switch.ports", "12"}, {"tiers", "3"}}},
                                   {"rail_optimized", 24, 4, {{"switch.ports", "12"}}}};
  int lost = 0;
  for (const Case& c : cases)
    for (int round = 0; round < 6; ++round) {
      const Fabric fabric = fabric_of(c.kind, demand_of(c.nodes, c.ports), c.keys);
      LinkState state;
      // Cables between switches, both directions: first one, at last enough to cut something off.
      const std::uint32_t first = fabric.endpoints();
      const std::uint32_t cables = fabric.cables() - first;
      for (std::uint32_t i = 0; i < std::max(1U, cables * static_cast<std::uint32_t>(round) / 8); ++i) {
        const auto cable = static_cast<std::uint32_t>(first + rng.below(cables));
        state.set(LinkId(2 * cable), 0), state.set(LinkId(2 * cable + 1), 0);
      }
      for (const char* policy : {"ecmp", "static", "adaptive", "spray"}) {
        const auto router = router_of(policy, fabric, state);
        INFO(c.kind << ", round " << round << ", " << policy);
        Path path;
        for (std::uint32_t from = 0; from < fabric.endpoints(); from += 5) {
          const std::vector<int> whole = test::hops_from(fabric, from), alive = test::hops_from(fabric, from, state);
          for (std::uint32_t to = 0; to < fabric.endpoints(); ++to) {
            if (to == from) continue;
            const bool found = router->route({from, to, 1, 1}, path);
            // A Clos goes up and down once: a longer way round is not taken.
            REQUIRE(found == (alive[to] == whole[to]));
            lost += !found;
            if (!found || router->bundles() > 0) continue;
            REQUIRE(test::joins(fabric, path.resources, from, to));
            for (const std::uint32_t l : path.resources) REQUIRE_FALSE(state.down(l));
          }
        }
      }
    }
  CHECK(lost > 0);  // the last rounds did cut
}

TEST_CASE("a dead link changes no way that leads elsewhere", "[routing]") {
  const Fabric fabric = fabric_of("fat_tree", demand_of(40, 1), {{"switch.ports", "12"}, {"tiers", "3"}});
  const Clos& clos = *fabric.clos();
  const std::map<const char*, std::uint32_t> dead = {{"leaf", clos.leaf_to_spine(1, 2)},
                                                     {"core", clos.spine_to_core(1, 3) + 1}};
  int changed = 0;
  for (const char* policy : {"ecmp", "static"})
    for (const auto& [tier, link] : dead) {
      LinkState state;
      state.set(LinkId(link), 0);
      const LinkState healthy;
      const auto whole = router_of(policy, fabric, healthy), around = router_of(policy, fabric, state);
      int same = 0, other = 0;
      for (std::uint32_t from = 0; from < fabric.endpoints(); ++from)
        for (std::uint32_t to = 0; to < fabric.endpoints(); ++to) {
          if (from == to) continue;
          const auto before = way(*whole, {from, to, 1, 1}), after = way(*around, {from, to, 1, 1});
          const bool met = std::find(before.begin(), before.end(), link) != before.end();
          (before == after ? same : other) += 1;
          if (met) CHECK(before != after);
          const std::uint32_t a = clos.leaf_of(from), b = clos.leaf_of(to);
          const bool may_differ = *tier == 'l' ? a == 1 || b == 1 : clos.group_of(a) == 0 || clos.group_of(b) == 0;
          if (!may_differ) REQUIRE(before == after);
        }
      CAPTURE(policy, tier);
      CHECK(same > other);
      changed += other;
    }
  CHECK(changed > 0);
}

TEST_CASE("a NIC that is down has no way in or out", "[routing]") {
  const Fabric fabric = fabric_of("leaf_spine", demand_of(8, 1));
  for (const char* policy : {"ecmp", "static", "adaptive", "spray"}) {
    LinkState state;
    state.set(LinkId(Clos::endpoint_up(3)), 0);
    const auto router = router_of(policy, fabric, state);
    Path path;
    CHECK_FALSE(router->route({3, 0, 1, 1}, path));
    CHECK(router->route({0, 3, 1, 1}, path));
    CHECK(router->route({1, 5, 1, 1}, path));
  }
}

TEST_CASE("on any graph ways avoid what is down, if need be by a longer one", "[routing]") {
  const Fabric fabric = two_leaves();
  LinkState state;
  for (const LinkId l : fabric.find_links("t")) state.set(l, 0);
  for (const LinkId l : fabric.find_links("a-s#0")) state.set(l, 0);
  const auto router = router_of("ecmp", fabric, state);
  std::vector<std::string> names;
  for (const std::uint32_t l : way(*router, {0, 1, 1, 1})) names.push_back(fabric.name(LinkId(l)));
  CHECK(names == std::vector<std::string>{"node0.nic0-a", "a-s#1", "s-b", "b-node1.nic0"});
  for (const LinkId l : fabric.find_links("b-s")) state.set(l, 0);
  Path path;
  CHECK_FALSE(router_of("ecmp", fabric, state)->route({0, 1, 1, 1}, path));
}

TEST_CASE("by flowlet a flow has one path, chosen by chance", "[routing]") {
  // Two leaves of four hosts, two spines: hosts 0 and 1 send to 4 and 5, and meet on an uplink in half of all samples.
  const Fabric fabric = fabric_of("leaf_spine", demand_of(8, 1), {{"leaves", "2"}, {"spines", "2"}});
  REQUIRE(fabric.clos()->leaf_of(4) == 1);
  const LinkState state;
  constexpr int seeds = 4096;
  int met = 0, moved = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const auto router = router_of("adaptive", fabric, state, seed, {{"by", "flowlet"}});
    const auto one = way(*router, {0, 4, 1, 1}), two = way(*router, {1, 5, 1, 1});
    REQUIRE(one.size() == 4);
    CHECK(way(*router, {0, 4, 1, 1}) == one);
    met += one[1] == two[1] ? 1 : 0;
    // Another queue pair of the same hosts is another flow.
    moved += way(*router, {0, 4, 2, 2}) != one ? 1 : 0;
  }
  // Binomial, five deviations of 32.
  CHECK(std::abs(met - seeds / 2) < 160);
  CHECK(std::abs(moved - seeds / 2) < 160);
}

TEST_CASE("only random policies have several samples", "[routing]") {
  const RoutingPolicy& adaptive = *find_by_name(routing_policies(), "adaptive");
  CHECK(adaptive.paths(adaptive.defaults()) == PathKind::by_load);
  const auto paths = [](std::string_view name) {
    const RoutingPolicy& policy = *find_by_name(routing_policies(), name);
    return policy.paths(policy.defaults());
  };
  CHECK(paths("ecmp") == PathKind::by_chance);
  CHECK(paths("static") == PathKind::fixed);
  CHECK(paths("spray") == PathKind::in_turn);
  for (const RoutingPolicy& policy : routing_policies()) {
    const Samples samples = policy.samples(policy.defaults());
    CHECK(samples.count == (policy.name == "ecmp" || policy.name == "valiant" ? 16 : 1));
    CHECK(samples.first_seed == 1);
  }
}

}  // namespace
}  // namespace fabricast
