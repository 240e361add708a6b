// Dragonflies, tori and HyperX networks: their sizes against published machines and closed forms, and their distances
// against searches of the graph.
#include <array>
#include <catch2/catch.hpp>
#include <deque>
#include <set>

#include "support/fabrics.hpp"

namespace fabricast {
namespace {

using test::demand_of, test::fabric_of, test::Keys;

struct DirectCase {
  const char* kind;
  std::uint32_t nodes, ports;
  Keys keys;
  std::uint32_t group = 0;  ///< leaves of a group, where groups exist
};

const std::vector<DirectCase>& direct_cases() {
  static const std::vector<DirectCase> list = {
      {"dragonfly", 72, 1, {{"groups", "9"}, {"switches_per_group", "4"}, {"switch.ports", "7"}}, 4},
      {"dragonfly", 40, 2, {{"groups", "5"}, {"switches_per_group", "4"}, {"global_links", "3"}}, 4},
      {"dragonfly",
       30,
       1,
       {{"groups", "3"}, {"switches_per_group", "5"}, {"global_links", "12"}, {"local_links", "2"}},
       5},
      {"dragonfly",
       16,
       4,
       {{"groups", "2"}, {"switches_per_group", "4"}, {"global_links", "1"}, {"node_switches", "4"}},
       4},
      {"dragonfly", 12, 1, {{"groups", "1"}, {"switches_per_group", "6"}}, 6},
      {"dragonfly", 14, 1, {{"groups", "7"}, {"switches_per_group", "1"}}, 1},
      {"dragonfly_plus",
       24,
       2,
       {{"groups", "4"}, {"leaves_per_group", "3"}, {"spines_per_group", "2"}, {"global_links", "1"}},
       3},
      {"dragonfly_plus",
       30,
       1,
       {{"groups", "5"}, {"leaves_per_group", "2"}, {"spines_per_group", "3"}, {"global_links", "4"}},
       2},
      {"dragonfly_plus",
       12,
       1,
       {{"groups", "2"},
        {"leaves_per_group", "3"},
        {"spines_per_group", "4"},
        {"local_links", "2"},
        {"global_links", "3"}},
       3},
      {"torus", 24, 2, {{"dimensions", "4 3 2"}}},
      {"torus", 36, 1, {{"dimensions", "6 6"}, {"cables", "2"}}},
      {"torus", 9, 1, {{"dimensions", "9"}}},
      {"torus", 35, 1, {{"dimensions", "5 7"}, {"paths", "dimension_order"}}},
      {"hyperx", 36, 2, {{"dimensions", "3 4 3"}}},
      {"hyperx", 20, 1, {{"dimensions", "5 4"}, {"cables", "2"}, {"paths", "dimension_order"}}},
      // Pods have no rule of one cable at most between them, so their links are not told apart here.
      {"ocs", 24, 2, {{"pods", "4"}, {"leaves_per_pod", "3"}, {"spines_per_pod", "2"}}},
      {"ocs",
       32,
       1,
       {{"pods", "4 2"}, {"matching", "torus"}, {"leaves_per_pod", "2"}, {"spines_per_pod", "3"}, {"cables", "2"}}},
      {"ocs", 18, 1, {{"pods", "9"}, {"matching", "torus"}, {"leaves_per_pod", "1"}, {"spines_per_pod", "2"}}},
      {"ocs", 12, 1, {{"pods", "2 3"}, {"leaves_per_pod", "2"}, {"spines_per_pod", "1"}, {"local_links", "2"}}},
  };
  return list;
}

std::uint32_t switch_of(const Fabric& fabric, std::uint32_t endpoint) {
  return fabric.link(LinkId(2 * endpoint)).to.value - fabric.endpoints();
}

/// Whether a link joins two groups, by the order in which switches are numbered: leaves, then spines, group by group.
bool is_global(const Fabric& fabric, const DirectCase& c, std::uint32_t link) {
  if (c.group == 0) return false;
  const std::uint32_t leaves = fabric.switches_in(Tier::leaf), groups = leaves / c.group;
  const auto group = [&](VertexId v) {
    const std::uint32_t s = v.value - fabric.endpoints();
    return s < leaves ? s / c.group : (s - leaves) / (fabric.switches_in(Tier::spine) / groups);
  };
  const auto [from, to] = fabric.link(LinkId(link));
  return !fabric.is_endpoint(from) && !fabric.is_endpoint(to) && group(from) != group(to);
}

/// Links from an endpoint to every other one, over at most one global link; -1: there is no way.
std::vector<int> hops_over_one_global(const Fabric& fabric, const DirectCase& c, std::uint32_t endpoint) {
  const Fabric::Adjacency adjacency(fabric);
  std::vector<std::array<int, 2>> hops(fabric.vertices(), {-1, -1});
  std::deque<std::pair<std::uint32_t, std::size_t>> queue{{endpoint, 0}};
  hops[endpoint][0] = 0;
  while (!queue.empty()) {
    const auto [here, globals] = queue.front();
    queue.pop_front();
    if (here != endpoint && fabric.is_endpoint(VertexId(here))) continue;
    for (const LinkId l : adjacency.out(VertexId(here))) {
      const std::size_t then = globals + (is_global(fabric, c, l.value) ? 1 : 0);
      const std::uint32_t there = fabric.link(l).to.value;
      if (then > 1 || hops[there][then] >= 0) continue;
      hops[there][then] = hops[here][globals] + 1;
      queue.emplace_back(there, then);
    }
  }
  std::vector<int> best;
  for (const auto& [none, one] : hops) best.push_back(none < 0 ? one : one < 0 ? none : std::min(none, one));
  return best;
}

TEST_CASE("minimal routes are as short as a search over at most one global link", "[topology]") {
  for (const DirectCase& c : direct_cases()) {
    const Fabric fabric = fabric_of(c.kind, demand_of(c.nodes, c.ports), c.keys);
    const LinkState state;
    INFO(c.kind << ", " << c.nodes << " nodes of " << c.ports);
    for (const char* policy : {"ecmp", "static"}) {
      const auto router = test::router_of(policy, fabric, state);
      Path path;
      for (std::uint32_t from = 0; from < fabric.endpoints(); from += 3) {
        const std::vector<int> hops = hops_over_one_global(fabric, c, from);
        for (std::uint32_t to = 0; to < fabric.endpoints(); ++to) {
          if (to == from) continue;
          REQUIRE(router->route({from, to, 3, 5}, path));
          REQUIRE(static_cast<int>(path.resources.size()) == hops[to]);
          REQUIRE(test::joins(fabric, path.resources, from, to));
          int globals = 0;
          for (const std::uint32_t l : path.resources) globals += is_global(fabric, c, l);
          REQUIRE(globals <= 1);
        }
      }
    }
  }
}

TEST_CASE("distances by arithmetic are those of the graph", "[topology]") {
  for (const DirectCase& c : direct_cases()) {
    const Fabric fabric = fabric_of(c.kind, demand_of(c.nodes, c.ports), c.keys);
    const Distances& metric = *fabric.metric();
    const std::uint32_t n = fabric.switches(), first = fabric.endpoints();
    INFO(c.kind << ": " << metric.text());
    // Floyd and Warshall.
    constexpr std::uint32_t far = 1000000;
    std::vector<std::uint32_t> d(std::size_t{n} * n, far);
    for (std::uint32_t s = 0; s < n; ++s) d[s * n + s] = 0;
    for (std::uint32_t l = 0; l < fabric.links(); ++l) {
      const auto [from, to] = fabric.link(LinkId(l));
      if (from.value < first || to.value < first) continue;
      const std::uint32_t a = from.value - first, b = to.value - first;
      REQUIRE(metric.length(a, b) == metric.length(b, a));
      d[a * n + b] = metric.length(a, b);
    }
    for (std::uint32_t k = 0; k < n; ++k)
      for (std::uint32_t a = 0; a < n; ++a)
        for (std::uint32_t b = 0; b < n; ++b) d[a * n + b] = std::min(d[a * n + b], d[a * n + k] + d[k * n + b]);
    for (std::uint32_t a = 0; a < n; ++a)
      for (std::uint32_t b = 0; b < n; ++b) {
        INFO(a << " to " << b);
        REQUIRE(metric.distance(a, b) == d[a * n + b]);
      }
  }
}

TEST_CASE("the largest canonical dragonfly has a h + 1 groups [Kim2008]", "[topology]") {
  // p hosts and h global cables at each of a switches, a = 2 p = 2 h: N = a p (a h + 1).
  for (const std::uint32_t p : {2U, 3U, 4U}) {
    const std::uint32_t a = 2 * p, groups = a * p + 1, nodes = a * p * groups;
    Keys keys = {{"groups", std::to_string(groups)},
                 {"switches_per_group", std::to_string(a)},
                 {"switch.ports", std::to_string(p + a - 1 + p)}};
    const Fabric fabric = fabric_of("dragonfly", demand_of(nodes, 1), keys);
    CHECK(fabric.switches() == a * groups);
    CHECK(fabric.cables() == nodes + groups * a * (a - 1) / 2 + groups * (groups - 1) / 2);
    // Every switch uses all its ports.
    const Fabric::Adjacency adjacency(fabric);
    for (std::uint32_t s = 0; s < fabric.switches(); ++s)
      REQUIRE(adjacency.out(VertexId(fabric.endpoints() + s)).size() == 2 * p + a - 1);
    keys["groups"] = std::to_string(groups + 1);
    CHECK_THROWS_WITH(fabric_of("dragonfly", demand_of(nodes, 1), keys), Catch::Contains("cannot all be connected"));
  }
}

TEST_CASE("a Slingshot network has at most 545 groups of 512 ports [DeSensi2020]", "[topology]") {
  Keys keys = {{"groups", "545"}, {"switches_per_group", "32"}, {"nodes_per_switch", "16"}};
  const Fabric fabric = fabric_of("dragonfly", demand_of(279040, 1), keys);
  CHECK(fabric.endpoints() == 279040);
  CHECK(fabric.switches() == 545 * 32);
  keys["groups"] = "546";
  CHECK_THROWS_WITH(fabric_of("dragonfly", demand_of(279040, 1), keys), Catch::Contains("cannot all be connected"));
}

TEST_CASE("the compute groups of Frontier [Frontier-network]", "[topology]") {
  // 74 groups of 32 switches and 128 nodes of 4 NICs; 4 cables between two groups.
  const Fabric fabric = fabric_of("dragonfly", demand_of(74 * 128, 4),
                                  {{"groups", "74"},
                                   {"switches_per_group", "32"},
                                   {"nodes_per_switch", "4"},
                                   {"node_switches", "4"},
                                   {"global_links", "4"}});
  CHECK(fabric.switches() == 2368);
  const Fabric::Adjacency adjacency(fabric);
  std::uint32_t down = 0, local = 0, global = 0;
  for (std::uint32_t s = 0; s < 32; ++s)
    for (const LinkId l : adjacency.out(VertexId(fabric.endpoints() + s))) {
      const VertexId to = fabric.link(l).to;
      if (fabric.is_endpoint(to))
        ++down;
      else
        ++((to.value - fabric.endpoints()) / 32 == 0 ? local : global);
    }
  CHECK(down == 512);
  CHECK(local == 992);
  CHECK(global == 4 * 73);
  CHECK(static_cast<double>(down) / global == Approx(1.753).epsilon(1e-3));
  // The NICs of a node are on four switches.
  std::set<std::uint32_t> of_node;
  for (std::uint32_t port = 0; port < 4; ++port) of_node.insert(switch_of(fabric, 4 * 77 + port));
  CHECK(of_node.size() == 4);
}

TEST_CASE("a dragonfly+ of 40-port switches with 18 leaves and spines has 23 groups [Leonardo2023]", "[topology]") {
  Keys keys = {{"groups", "23"},           {"leaves_per_group", "18"}, {"spines_per_group", "18"},
               {"nodes_per_switch", "10"}, {"switch.ports", "40"},     {"breakout", "2"}};
  const Fabric fabric = fabric_of("dragonfly_plus", demand_of(3456, 4), keys);
  CHECK(fabric.switches() == 23 * 36);
  // Each spine has a cable to each other group: 18 between two groups.
  CHECK(fabric.cables() == 3456 * 4 + 23 * 18 * 18 + 18 * 23 * 22 / 2);
  keys["groups"] = "24", keys["global_links"] = "18";
  CHECK_THROWS_WITH(fabric_of("dragonfly_plus", demand_of(3456, 4), keys),
                    Catch::Contains("a spine needs 41 ports but has 40"));
}

TEST_CASE("tori and HyperX networks by closed forms", "[topology]") {
  // A TPU v4 pod: 4,096 chips of six links in 16 x 16 x 16 [Jouppi2023].
  const Fabric pod = fabric_of("torus", demand_of(4096, 1), {{"dimensions", "16 16 16"}, {"switch.ports", "7"}});
  CHECK(pod.cables() == 4096 + 3 * 4096);
  std::uint32_t diameter = 0, halves = 0;
  for (std::uint32_t s = 0; s < 4096; ++s) diameter = std::max(diameter, pod.metric()->distance(0, s));
  CHECK(diameter == 24);
  for (std::uint32_t l = 2 * 4096; l < pod.links(); l += 2) {
    const auto [from, to] = pod.link(LinkId(l));
    halves += (from.value - 4096) / 2048 != (to.value - 4096) / 2048;
  }
  CHECK(halves == 2 * 16 * 16);  // the bisection: two cables of each ring of the last dimension
  // A ring of two has one cable, and a dimension of one has none.
  CHECK(fabric_of("torus", demand_of(6, 1), {{"dimensions", "2 1 3"}}).cables() == 6 + 3 + 6);

  // S1 S2 ( (S1 - 1) + (S2 - 1) ) / 2 cables, each several times.
  const Fabric hyperx = fabric_of("hyperx", demand_of(40, 1), {{"dimensions", "8 5"}, {"cables", "3"}});
  CHECK(hyperx.cables() == 40 + 3 * 40 * (7 + 4) / 2);
  CHECK(hyperx.metric()->distance(0, 39) == 2);
}

TEST_CASE("the GPU nodes of Alps fill 21 groups of Slingshot's largest size [Alps-hardware]", "[topology]") {
  // 2,688 nodes of four NICs. Groups of 32 switches and 512 NIC ports are assumed: they are not stated.
  Keys keys = {{"groups", "21"}, {"switches_per_group", "32"}, {"nodes_per_switch", "4"}, {"node_switches", "4"}};
  const Fabric fabric = fabric_of("dragonfly", demand_of(2688, 4), keys);
  CHECK(fabric.endpoints() == 10752);
  CHECK(fabric.switches() == 672);
  CHECK_THROWS_WITH(fabric_of("dragonfly", demand_of(2689, 4), keys), Catch::Contains("room for 2688 nodes"));
}

TEST_CASE("pods that optical switches join, by closed forms", "[topology]") {
  // P pods of l leaves and s spines: P l s local cables; s P (P - 1) / 2 in a mesh, s P in a ring.
  const Keys pod = {{"leaves_per_pod", "3"}, {"spines_per_pod", "4"}, {"cables", "2"}};
  const auto with = [&](Keys more) {
    more.insert(pod.begin(), pod.end());
    return more;
  };
  const Fabric mesh = fabric_of("ocs", demand_of(48, 2), with({{"pods", "8"}})),
               ring = fabric_of("ocs", demand_of(48, 2), with({{"pods", "8"}, {"matching", "torus"}}));
  CHECK(mesh.cables() == 96 + 8 * 3 * 4 + 2 * 4 * 8 * 7 / 2);
  CHECK(ring.cables() == 96 + 8 * 3 * 4 + 2 * 4 * 8);
  CHECK(mesh.switches_in(Tier::leaf) == 24);
  CHECK(mesh.switches_in(Tier::spine) == 32);
  // Leaf, spine, spine, leaf; around half a ring, four cables between pods.
  CHECK(mesh.metric()->distance(0, 23) == 3);
  CHECK(ring.metric()->distance(0, 12) == 6);
  // The latency of a cable between pods is that of its fibers, without a switch of its own.
  const LinkClass &far = mesh.link_class(LinkId(mesh.links() - 1)), &near = mesh.link_class(LinkId(2 * 96));
  CHECK(far.latency.value - near.latency.value == Approx(80 * 4.9e-9));
  // 7 other pods take 14 ports of a spine, its leaves 3.
  CHECK_NOTHROW(fabric_of("ocs", demand_of(48, 2), with({{"pods", "8"}, {"switch.ports", "17"}})));
  CHECK_THROWS_WITH(fabric_of("ocs", demand_of(48, 2), with({{"pods", "8"}, {"switch.ports", "16"}})),
                    Catch::Contains("a spine needs 17 ports but has 16"));
  // A cube of 4 x 4 x 4 chips is a torus already: 64 cubes of a TPU v4 pod, each joined to six others [Jouppi2023].
  const Fabric cubes =
      fabric_of("ocs", demand_of(64, 1),
                {{"pods", "4 4 4"}, {"matching", "torus"}, {"leaves_per_pod", "1"}, {"spines_per_pod", "1"}});
  CHECK(cubes.cables() == 64 + 64 + 3 * 64);
}

TEST_CASE("nodes that do not fit are refused in words", "[topology]") {
  const auto refusal = [](const char* kind, std::uint32_t nodes, std::uint32_t ports, const Keys& keys) {
    CHECK_THROWS(fabric_of(kind, demand_of(nodes, ports), keys));
    try {
      fabric_of(kind, demand_of(nodes, ports), keys);
    } catch (const std::exception& e) { return std::string(e.what()); }
    return std::string();
  };
  CHECK_THAT(refusal("dragonfly", 4, 1, {}), Catch::Contains("neither the groups nor the nodes"));
  CHECK_THAT(refusal("torus", 17, 1, {{"nodes_per_switch", "1"}}),
             Catch::Contains("room for 16 nodes, but there are 17"));
  CHECK_THAT(refusal("torus", 64, 1, {{"switch.ports", "7"}}), Catch::Contains("a switch needs 8 ports but has 7"));
  CHECK_THAT(refusal("hyperx", 16, 2, {{"node_switches", "4"}}), Catch::Contains("2 NIC ports on 4 switches"));
  CHECK_THAT(refusal("hyperx", 16, 1, {{"dimensions", "2000 2000"}}), Catch::Contains("at most 1048576 switches"));
}

}  // namespace
}  // namespace fabricast
