// ECMP against combinatorics: whatever the switches compute, by default their choices are those of dice.
//
// Nothing here asks the engine. A fabric is given by its numbers of cables, flows are those of NCCL's connections, and
// what the router chooses is compared with closed forms: uniform and pairwise independent choices (chi-square), and the
// most loaded cable of balls thrown into bins (Kolmogorov-Smirnov).
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <set>

#include "fabricast/core/rng.hpp"
#include "support/fabrics.hpp"

namespace fabricast {
namespace {

using test::Keys, test::router_of;

/// Two groups of two leaves; every leaf has `leaf_cables` cables to each of `spines` spines, every spine `core_cables`
/// to each of `cores` cores.
struct Shape {
  std::uint32_t nodes_per_leaf, spines, leaf_cables, cores, core_cables;
};

Clos clos_of(const Shape& s) {
  Clos clos;
  clos.endpoints = 4 * s.nodes_per_leaf;
  clos.nodes_per_block = s.nodes_per_leaf;
  clos.leaves = 4, clos.leaves_per_group = 2, clos.groups = clos.groups_per_island = 2;
  clos.spines_per_group = s.spines, clos.leaf_spine_cables = s.leaf_cables, clos.leaf_up = s.spines * s.leaf_cables;
  clos.cores_per_plane = s.cores, clos.spine_core_cables = s.core_cables, clos.spine_up = s.cores * s.core_cables;
  return clos;
}

Fabric fabric_of(const Clos& clos) {
  const LinkClass link{LinkKind::roce, BytesPerSecond{50e9}, Seconds{1e-6}};
  const std::array<FabricBuilder::TierClasses, 3> tiers{{{link, link}, {link, link}, {link, link}}};
  return FabricBuilder::build_clos(clos, clos.endpoints, tiers);
}

constexpr std::size_t tiers = 4;  // leaf up, spine up, core down, spine down

/// What a way between the groups chooses at each tier, and among how many.
struct Choices {
  std::array<std::uint32_t, tiers> of;
};
std::array<std::uint32_t, tiers> numbers(const Clos& clos) {
  return {clos.leaf_up, clos.spine_up, clos.spine_core_cables, clos.leaf_spine_cables};
}
Choices choices_of(const Clos& clos, const std::vector<std::uint32_t>& links) {
  REQUIRE(links.size() == 6);
  const auto cable = [&](std::size_t i, std::uint32_t first, std::uint32_t per_switch) {
    return (links[i] / 2 - first) % per_switch;
  };
  const std::uint32_t first_leaf = clos.endpoints, first_spine = clos.endpoints + clos.leaf_cables();
  return {{cable(1, first_leaf, clos.leaf_up), cable(2, first_spine, clos.spine_up),
           cable(3, first_spine, clos.spine_up) % clos.spine_core_cables,
           cable(4, first_leaf, clos.leaf_up) % clos.leaf_spine_cables}};
}

/// How many standard deviations a table's chi-square is above its mean, where all cells are alike.
double excess(const std::vector<double>& cells, double degrees) {
  double sum = 0;
  for (const double c : cells) sum += c;
  const double expected = sum / static_cast<double>(cells.size());
  double chi2 = 0;
  for (const double c : cells) chi2 += (c - expected) * (c - expected) / expected;
  return (chi2 - degrees) / std::sqrt(2 * degrees);
}

/// The connections of NCCL between the ports of two leaves: queue pairs are numbered by channel and direction.
template <class Use>
void for_each_connection(std::uint32_t nodes_per_leaf, std::uint32_t channels, Use use) {
  for (std::uint32_t a = 0; a < nodes_per_leaf; ++a)
    for (std::uint32_t b = 0; b < nodes_per_leaf; ++b)
      for (std::uint32_t channel = 0; channel < channels; ++channel)
        use(Flow{a, 3 * nodes_per_leaf + b, 8 * channel, 8 * channel + 2});
}

}  // namespace

TEST_CASE("choices of all tiers are uniform and independent of each other, for each hash function", "[ecmp]") {
  // Powers of two, odd numbers, and those with a factor of 2^32 - 1 in common: 3, 5, 17.
  const std::vector<Shape> shapes = {{128, 16, 2, 8, 4}, {128, 32, 4, 16, 2},  {128, 3, 4, 5, 3},
                                     {128, 12, 1, 6, 2}, {128, 17, 3, 17, 17}, {128, 16, 1, 16, 3}};
  for (const Shape& shape : shapes) {
    const Clos clos = clos_of(shape);
    const Fabric fabric = fabric_of(clos);
    const auto n = numbers(clos);
    const LinkState state;
    for (const char* hash : {"crc16", "crc32", "xor"})
      for (const char* salt : {"shared", "per_switch"}) {
        const auto router = router_of("ecmp", fabric, state, 7, {{"hash", hash}, {"salt", salt}});
        std::array<std::array<std::vector<double>, tiers>, tiers> pairs;
        for (std::size_t t = 0; t < tiers; ++t)
          for (std::size_t u = 0; u < tiers; ++u) pairs[t][u].assign(n[t] * (t == u ? 1 : n[u]), 0);
        Path path;
        std::size_t flows = 0;
        for_each_connection(shape.nodes_per_leaf, 62, [&](const Flow& flow) {
          REQUIRE(router->route(flow, path));
          const Choices c = choices_of(clos, path.resources);
          for (std::size_t t = 0; t < tiers; ++t) {
            pairs[t][t][c.of[t]] += 1;
            for (std::size_t u = t + 1; u < tiers; ++u) pairs[t][u][c.of[t] * n[u] + c.of[u]] += 1;
          }
          ++flows;
        });
        REQUIRE(flows > 1'000'000);
        for (std::size_t t = 0; t < tiers; ++t)
          for (std::size_t u = t; u < tiers; ++u) {
            const double cells = static_cast<double>(pairs[t][u].size());
            if (cells < 2) continue;
            CAPTURE(hash, salt, n, t, u);
            // A thousand tables: one may be four deviations off.
            CHECK(excess(pairs[t][u], cells - 1) < 5);
          }
      }
  }
}

TEST_CASE("tiers that hash alike choose alike: polarization where it is asked for", "[ecmp]") {
  const Clos clos = clos_of({128, 16, 2, 8, 4});
  const Fabric fabric = fabric_of(clos);
  const LinkState state;
  for (const char* hash : {"crc16", "crc32", "xor"})
    for (const char* salt : {"shared", "per_switch"}) {
      const auto router = router_of("ecmp", fabric, state, 7, {{"hash", hash}, {"salt", salt}, {"bits", "same"}});
      std::set<std::pair<std::uint32_t, std::uint32_t>> seen;
      Path path;
      for_each_connection(128, 4, [&](const Flow& flow) {
        REQUIRE(router->route(flow, path));
        const Choices c = choices_of(clos, path.resources);
        seen.emplace(c.of[0], c.of[1]);
      });
      CAPTURE(hash, salt);
      CHECK(seen.size() == 32);  // each of the leaf's cables goes on by one of the spine's 32
    }
}

namespace {

/// P(no bin has more than `most` of so many balls): balls! [x^balls] ( sum_{k <= most} x^k / k! )^bins / bins^balls.
double at_most(std::uint32_t balls, std::uint32_t bins, std::uint32_t most) {
  std::vector<double> inverse_factorial(balls + 1, 1);
  for (std::uint32_t k = 1; k <= balls; ++k) inverse_factorial[k] = inverse_factorial[k - 1] / k;
  std::vector<double> ways(balls + 1, 0);  // of so many balls in the bins so far, over their factorial
  ways[0] = 1;
  for (std::uint32_t bin = 0; bin < bins; ++bin) {
    std::vector<double> next(balls + 1, 0);
    for (std::uint32_t b = 0; b <= balls; ++b)
      for (std::uint32_t k = 0; k <= std::min(most, b); ++k) next[b] += ways[b - k] * inverse_factorial[k];
    ways = std::move(next);
  }
  double p = ways[balls];
  for (std::uint32_t k = 1; k <= balls; ++k) p *= static_cast<double>(k) / bins;
  return p;
}

/// Largest distance of two distribution functions: of the samples, and of balls in bins.
double kolmogorov_smirnov(const std::vector<std::uint32_t>& most_contended, std::uint32_t balls, std::uint32_t bins) {
  double distance = 0;
  const auto n = static_cast<double>(most_contended.size());
  for (std::uint32_t m = 0; m <= *std::max_element(most_contended.begin(), most_contended.end()); ++m) {
    const auto below = std::count_if(most_contended.begin(), most_contended.end(), [&](auto c) { return c <= m; });
    distance = std::max(distance, std::abs(static_cast<double>(below) / n - at_most(balls, bins, m)));
  }
  return distance;
}

/// Most flows on a link of those [first, first + 2 count) in steps of two.
std::uint32_t most_on(const std::map<std::uint32_t, std::uint32_t>& flows, std::uint32_t first, std::uint32_t count) {
  std::uint32_t most = 0;
  for (std::uint32_t i = 0; i < count; ++i)
    if (const auto it = flows.find(first + 2 * i); it != flows.end()) most = std::max(most, it->second);
  return most;
}

}  // namespace

TEST_CASE("the closed form of balls in bins", "[ecmp]") {
  CHECK(at_most(1, 7, 1) == Approx(1));
  CHECK(at_most(2, 2, 1) == Approx(0.5));
  CHECK(at_most(23, 365, 1) == Approx(0.492702766));  // no two of 23 have the same birthday
  CHECK(at_most(4, 2, 3) == Approx(1 - 2. / 16));
  CHECK(at_most(5, 3, 0) == 0);
}

TEST_CASE("the most loaded cable is that of balls in bins, on two and three tiers", "[ecmp]") {
  constexpr std::uint32_t nodes = 8, channels = 4, balls = nodes * channels, samples = 1500;
  const double critical = 1.95 / std::sqrt(samples);  // one in a thousand; less, as the distribution is discrete
  for (const std::uint32_t cables : {1U, 2U, 4U}) {
    const Clos clos = clos_of({nodes, 8 / cables, cables, 8 / cables, cables});
    const Fabric fabric = fabric_of(clos);
    const LinkState state;
    for (const char* hash : {"crc16", "crc32", "xor"})
      for (const bool by_core : {false, true}) {
        // The first leaf sends to the second, of the same group, or to the fourth.
        const std::uint32_t to_leaf = by_core ? 3 : 1;
        std::array<std::vector<std::uint32_t>, tiers> most;
        Path path;
        for (std::uint64_t seed = 1; seed <= samples; ++seed) {
          const auto router = router_of("ecmp", fabric, state, seed, {{"hash", hash}});
          std::map<std::uint32_t, std::uint32_t> flows;
          for (std::uint32_t a = 0; a < nodes; ++a)
            for (std::uint32_t channel = 0; channel < channels; ++channel) {
              REQUIRE(router->route({a, to_leaf * nodes + a, 8 * channel, 8 * channel + 2}, path));
              for (const std::uint32_t link : path.resources) ++flows[link];
            }
          most[0].push_back(most_on(flows, clos.leaf_to_spine(0, 0), clos.leaf_up));
          most[1].push_back(most_on(flows, clos.leaf_to_spine(to_leaf, 0) + 1, clos.leaf_up));
          const std::uint32_t there = clos.group_of(to_leaf) * clos.spines_per_group;
          const std::uint32_t between = clos.spines_per_group * clos.spine_up;
          most[2].push_back(most_on(flows, clos.spine_to_core(0, 0), between));
          most[3].push_back(most_on(flows, clos.spine_to_core(there, 0) + 1, between));
        }
        CAPTURE(cables, hash, by_core);
        CHECK(kolmogorov_smirnov(most[0], balls, clos.leaf_up) < critical);
        CHECK(kolmogorov_smirnov(most[1], balls, clos.leaf_up) < critical);
        if (!by_core) continue;
        CHECK(kolmogorov_smirnov(most[2], balls, clos.spines_per_group * clos.spine_up) < critical);
        CHECK(kolmogorov_smirnov(most[3], balls, clos.spines_per_group * clos.spine_up) < critical);
      }
  }
}

TEST_CASE("d-mod-k uses all parallel cables between spines and cores, up and down", "[ecmp]") {
  // Two groups of 32 leaves below 64-port switches: one core per plane takes all 32 cables of each spine.
  const Fabric fabric = test::fabric_of("fat_tree", test::demand_of(256, 8), {{"switch.ports", "64"}, {"tiers", "3"}});
  const Clos& clos = *fabric.clos();
  REQUIRE(clos.spine_core_cables == 32);
  const LinkState state;
  const auto router = router_of("static", fabric, state);
  std::set<std::uint32_t> up, down;
  Path path;
  const std::uint32_t half = fabric.endpoints() / 2;
  for (std::uint32_t e = 0; e < half; ++e) {
    REQUIRE(router->route({e, half + e, 1, 1}, path));
    REQUIRE(path.resources.size() == 6);
    up.insert(path.resources[2]), down.insert(path.resources[3]);
  }
  // As many flows as cables, and no two on one.
  CHECK(up.size() == half);
  CHECK(down.size() == half);
}

}  // namespace fabricast
