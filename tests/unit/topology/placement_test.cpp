// Placement policies: what each takes of free hosts, and in which order.
#include "fabricast/topology/placement.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <numeric>

#include "fabricast/core/rng.hpp"
#include "support/fabrics.hpp"

namespace fabricast {
namespace {

using Hosts = std::vector<std::uint32_t>;

/// Leaves of four hosts.
Locality in_fours(std::uint32_t hosts, std::uint32_t leaves_per_group) {
  Locality at;
  for (std::uint32_t h = 0; h < hosts; ++h) at.leaf.push_back(h / 4), at.group.push_back(h / 4 / leaves_per_group);
  return at;
}

Hosts place(Placement p, const Locality& at, const Hosts& free, std::size_t wanted, std::uint64_t seed = 1) {
  return place_units(p, &at, units_of(free, 1, 1), wanted, seed);
}

constexpr std::array policies{Placement::in_order, Placement::random,       Placement::packed,
                              Placement::spread,   Placement::rail_aligned, Placement::topology_aware};

TEST_CASE("each placement policy, on a case small enough to see", "[placement]") {
  // Free: leaf 0 has 1 host, leaf 1 all four, leaf 2 three, leaf 3 two.
  const Locality at = in_fours(16, 2);
  const Hosts free{3, 4, 5, 6, 7, 8, 9, 10, 12, 13};
  CHECK(place(Placement::in_order, at, free, 3) == Hosts{3, 4, 5});
  CHECK(place(Placement::packed, at, free, 6) == Hosts{4, 5, 6, 7, 8, 9});
  CHECK(place(Placement::spread, at, free, 6) == Hosts{3, 4, 8, 12, 5, 9});
  CHECK(place(Placement::rail_aligned, at, free, 6) == Hosts{4, 5, 6, 8, 9, 10});
  // Two hosts: the leaf that has just two. Five: the group of leaves 0 and 1 has five, that of 2 and 3 as well.
  CHECK(place(Placement::topology_aware, at, free, 2) == Hosts{12, 13});
  CHECK(place(Placement::topology_aware, at, free, 5) == Hosts{4, 5, 6, 7, 3});
  CHECK(place(Placement::topology_aware, at, free, 3) == Hosts{8, 9, 10});
  // More than a group has: one whole, and the rest from where it fits best.
  CHECK(place(Placement::topology_aware, at, free, 6) == Hosts{4, 5, 6, 7, 3, 12});
}

TEST_CASE("placements are distinct free hosts, the same each time", "[placement]") {
  Rng rng(7);
  for (int round = 0; round < 200; ++round) {
    const Locality at = in_fours(64, 4);
    Hosts free;
    for (std::uint32_t h = 0; h < 64; ++h)
      if (rng.uniform() < 0.6) free.push_back(h);
    const auto wanted = static_cast<std::size_t>(1 + rng.below(free.size()));
    std::size_t fewest = 64;
    for (const Placement p : policies) {
      const Hosts hosts = place(p, at, free, wanted, 3);
      REQUIRE(hosts.size() == wanted);
      CHECK(hosts == place(p, at, free, wanted, 3));
      Hosts sorted = hosts;
      std::sort(sorted.begin(), sorted.end());
      CHECK(std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end());
      CHECK(std::includes(free.begin(), free.end(), sorted.begin(), sorted.end()));
      const PlacementShape shape = shape_of(at, hosts);
      fewest = std::min(fewest, shape.leaves);
      if (p == Placement::packed || p == Placement::rail_aligned || p == Placement::topology_aware)
        CHECK(shape.leaf_hops == (shape.leaves > 1 ? shape.leaves : 0));  // leaf after leaf
    }
    CHECK(shape_of(at, place(Placement::packed, at, free, wanted)).leaves == fewest);
    CHECK(shape_of(at, place(Placement::rail_aligned, at, free, wanted)).leaves == fewest);
  }
}

TEST_CASE("a job takes as few groups as hold it", "[placement]") {
  Rng rng(11);
  for (int round = 0; round < 100; ++round) {
    const Locality at = in_fours(64, 4);
    Hosts free;
    std::vector<std::size_t> in_group(4, 0), in_leaf(16, 0);
    for (std::uint32_t h = 0; h < 64; ++h)
      if (rng.uniform() < 0.5) free.push_back(h), ++in_group[at.group[h]], ++in_leaf[at.leaf[h]];
    const auto wanted = static_cast<std::size_t>(1 + rng.below(free.size()));
    std::sort(in_group.rbegin(), in_group.rend());
    std::size_t groups = 0;
    for (std::size_t room = 0; room < wanted; ++groups) room += in_group[groups];
    const PlacementShape shape = shape_of(at, place(Placement::topology_aware, at, free, wanted));
    CHECK(shape.groups == groups);
    if (*std::max_element(in_leaf.begin(), in_leaf.end()) >= wanted) CHECK(shape.leaves == 1);
  }
}

TEST_CASE("hosts of a NVLink domain stay together", "[placement]") {
  const Hosts free{0, 1, 2, 3, 5, 6, 7, 8, 9, 10, 11};
  CHECK(units_of(free, 4, 4) == std::vector<HostUnit>{{0, 1, 2, 3}, {8, 9, 10, 11}});
  CHECK(units_of(free, 4, 3) == std::vector<HostUnit>{{0, 1, 2}, {5, 6, 7}, {8, 9, 10}});
  const Hosts random = place_units(Placement::random, nullptr, units_of(free, 4, 2), 4, 5);
  for (std::size_t i = 0; i < random.size(); i += 2) CHECK(random[i + 1] == random[i] + 1);
}

TEST_CASE("where hosts are plugged in", "[placement]") {
  // Eight ports a host, units of 16 hosts.
  const Fabric rails = test::fabric_of("rail_optimized", test::demand_of(64, 8), {{"nodes_per_su", "16"}});
  const Locality at = locality_of(rails);
  for (std::uint32_t h = 0; h < 64; ++h) CHECK(at.leaf[h] == h / 16);
  CHECK(*std::max_element(at.group.begin(), at.group.end()) == 0);
  const Fabric pods = test::fabric_of("fat_tree", test::demand_of(128, 1), {{"switch.ports", "8"}, {"tiers", "3"}});
  const Locality in_pods = locality_of(pods);
  CHECK(in_pods.leaf[127] == 31);
  CHECK(in_pods.group[0] == in_pods.group[15]);
  CHECK(in_pods.group[0] != in_pods.group[16]);
}

}  // namespace
}  // namespace fabricast
