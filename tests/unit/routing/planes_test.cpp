// Fabrics of several planes: their sizes against a published pod, and that planes hash, share and fail by themselves.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "fabricast/fabric/planes.hpp"
#include "support/fabrics.hpp"

namespace fabricast {
namespace {

using test::demand_of, test::fabric_of, test::Keys, test::router_of;

TEST_CASE("a pod of HPN 7.0: two planes, 15 segments of 128 hosts [Qian2024]", "[topology]") {
  // 128 ports of 400 Gb/s; 64 of a leaf are split into 128 of 200 Gb/s for NICs, 60 go up.
  const Fabric fabric = fabric_of("multi_plane", demand_of(15 * 128, 8),
                                  {{"planes", "2"},
                                   {"switch.ports", "128"},
                                   {"switch.rate", "400Gbps"},
                                   {"nodes_per_leaf", "128"},
                                   {"breakout", "2"},
                                   {"leaf_up", "60"}});
  CHECK(fabric.switches_in(Tier::leaf) == 240);
  CHECK(fabric.switches_in(Tier::spine) == 120);
  CHECK(fabric.cables_below(Tier::leaf) == 1920 * 8 * 2);
  CHECK(fabric.cables_below(Tier::spine) == 240 * 60);
  // A NIC of 400 Gb/s has 200 in each plane.
  CHECK(fabric.link_class(LinkId(0)).rate.value == Approx(25e9));
}

Fabric small(const Keys& more = {}) {
  Keys keys = {{"planes", "4"}, {"nodes_per_leaf", "4"}, {"leaf_up", "4"}, {"switch.ports", "8"}};
  for (const auto& [key, value] : more) keys[key] = value;
  return fabric_of("multi_plane", demand_of(16, 2), keys);
}
std::uint32_t plane_of(const Fabric& fabric, std::uint32_t link) {
  const auto [from, to] = fabric.link(LinkId(link));
  const VertexId end = fabric.is_endpoint(from) ? to : from;
  return planes_of(fabric)->plane_of(end.value - fabric.endpoints());
}

TEST_CASE("a flow has equal parts in all planes, which hash by themselves", "[routing]") {
  const Fabric fabric = small();
  const LinkState state;
  const std::uint32_t ports = fabric.ports_per_node();
  REQUIRE(ports == 8);
  int alike = 0, flows = 0;
  for (const char* policy : {"ecmp", "spray", "static"}) {
    const auto router = router_of(policy, fabric, state);
    Path path;
    for (std::uint32_t a = 0; a < 16; ++a)
      for (std::uint32_t b = 0; b < 16; ++b) {
        if (a / 4 == b / 4) continue;
        REQUIRE(router->route({a * ports + 1, b * ports + 1, a, b}, path));
        std::map<std::uint32_t, double> up;            // by plane
        std::map<std::uint32_t, std::uint32_t> spine;  // by plane: number within it
        for (std::size_t i = 0; i < path.resources.size(); ++i) {
          const auto [from, to] = fabric.link(LinkId(path.resources[i]));
          if (fabric.is_endpoint(from)) {
            CHECK(from.value % ports % 2 == 1);  // the same NIC
            up[plane_of(fabric, path.resources[i])] += path.weight(i);
          } else if (!fabric.is_endpoint(to) && fabric.tier(to) == Tier::spine) {
            spine[plane_of(fabric, path.resources[i])] = to.value % fabric.switches_in(Tier::spine);
          }
        }
        REQUIRE(up.size() == 4);
        for (const auto& [plane, part] : up) REQUIRE(part == Approx(0.25));
        if (std::string(policy) != "ecmp") continue;
        const std::uint32_t spines = fabric.switches_in(Tier::spine) / 4;
        std::set<std::uint32_t> distinct;
        for (const auto& [plane, s] : spine) distinct.insert(s % spines);
        alike += distinct.size() == 1;
        ++flows;
      }
  }
  // Four planes of four spines take the same one with a probability of 1/64.
  REQUIRE(fabric.switches_in(Tier::spine) == 16);
  CHECK(alike < flows / 20);
}

TEST_CASE("with a plane for each queue pair, planes are taken at random", "[routing]") {
  const Fabric fabric = small({{"choice", "queue_pair"}});
  const LinkState state;
  const auto router = router_of("ecmp", fabric, state);
  std::map<std::uint32_t, int> times;
  Path path;
  for (std::uint32_t q = 0; q < 4000; ++q) {
    REQUIRE(router->route({0, 15 * 8, q, q + 1}, path));
    CHECK(path.weights.empty());
    REQUIRE(path.resources.size() == 4);
    ++times[plane_of(fabric, path.resources[0])];
  }
  REQUIRE(times.size() == 4);
  // Binomial with a deviation of 27; five deviations.
  for (const auto& [plane, count] : times) CHECK(std::abs(count - 1000) < 137);
}

TEST_CASE("a plane that fails leaves its part to the others", "[routing]") {
  for (const char* choice : {"packet", "queue_pair"}) {
    const Fabric fabric = small({{"choice", choice}});
    LinkState state;
    const std::vector<LinkId> dead = fabric.find_links("plane2");
    // Both directions of all cables of a plane.
    CHECK(dead.size() == fabric.links() / 4);
    for (const LinkId l : dead) state.set(l, 0);
    Path path;
    for (const char* policy : {"ecmp", "adaptive"}) {
      const auto router = router_of(policy, fabric, state);
      for (std::uint32_t q = 0; q < 50; ++q) {
        REQUIRE(router->route({1, 15 * 8 + 1, q, q + 1}, path));
        double sum = 0;
        for (std::size_t i = 0; i < path.resources.size(); ++i) {
          REQUIRE(plane_of(fabric, path.resources[i]) != 2);
          if (fabric.is_endpoint(fabric.link(LinkId(path.resources[i])).from)) sum += path.weight(i);
        }
        CHECK(sum == Approx(1));
      }
    }
  }
}

TEST_CASE("planes that do not fit are refused in words, and so is a detour", "[topology]") {
  CHECK_THROWS_WITH(small({{"nodes_per_leaf", "5"}}), Catch::Contains("a leaf has 4 ports for NICs, which is 4 nodes"));
  CHECK_THROWS_WITH(small({{"nodes_per_leaf", "1"}}), Catch::Contains("32 leaves of a plane do not fit"));
  const Fabric fabric = small();
  const LinkState state;
  CHECK_THROWS_WITH(router_of("valiant", fabric, state), Catch::Contains("needs a fabric with direct links"));
}

}  // namespace
}  // namespace fabricast
