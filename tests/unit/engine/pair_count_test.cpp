// Messages between all pairs of nodes, counted in closed form, against routing every one of them.
#include "sim/engine/count/pair_count.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "fabricast/engine/engine.hpp"
#include "fabricast/scenario/scenario.hpp"
#include "fabricast/scenario/world.hpp"
#include "sim/engine/count/crossings.hpp"

namespace fabricast {
namespace {

struct Collective {
  World world;
  Plan plan;

  const NetworkSegment& segment() const { return world.setup().segments.front(); }
  std::unique_ptr<Router> router(std::uint64_t seed) const {
    return world.setup().policy->make(*world.setup().policy_spec, *world.fabric(), segment().links, seed);
  }
  FabricCount::Input input(const Router& router) const {
    return {world.planner().comm, plan, *world.fabric(), router, segment()};
  }
};

Collective alltoall(const std::string& node, const std::string& cluster, const std::string& fabric,
                    const std::string& routing, const std::string& env = "") {
  const std::string text = fmt::format(
      "fabricast: 1\nnode: {}\ncluster: {}\nfabric: {}\nrouting: {{kind: {}}}\nnccl: {{env: {{{}}}}}\n"
      "workload: {{collective: alltoall, sizes: [1GiB]}}\n",
      node, cluster, fabric, routing, env);
  Collective made{build_world(parse_scenario(text, "pairs.yaml", {}).scenario), {}};
  made.plan = plan_collective(made.world.planner(), CollectiveOp::alltoall, 1 << 30, Algorithm::p2p, Protocol::simple);
  return made;
}

/// By resource, and the number of paths of each latency.
struct Routed {
  std::vector<std::uint64_t> counts;
  std::map<double, std::uint64_t> trips;
};

/// Calls use(path, weight) for every message.
template <class Use>
void route_messages(const Collective& x, const Router& router, Use use) {
  const Communicator& comm = x.world.planner().comm;
  const auto edges = list_edges(*find_by_algorithm(Algorithm::p2p), comm, x.plan, 0);
  Path path;
  for (std::size_t e = 0; e < edges.size(); ++e)
    for (std::uint32_t pair = 0; pair < static_cast<std::uint32_t>(comm.qps_per_connection); ++pair) {
      REQUIRE(router.route(flow_of(comm, *x.world.fabric(), edges[e], 0, e, pair), path));
      use(path, edges[e].weight);
    }
}

Routed route_all(const Collective& x, const Router& router) {
  Routed routed;
  routed.counts.resize(x.world.fabric()->links() + router.bundles());
  route_messages(x, router, [&](const Path& path, std::uint32_t weight) {
    for (std::size_t i = 0; i < path.resources.size(); ++i)
      routed.counts[path.resources[i]] += weight * count_of(path, i);
    ++routed.trips[path.latency.value];
  });
  return routed;
}

constexpr const char* h100 = "{gpu: h100-sxm, gpus: 8}";

TEST_CASE("with spreading, counts in closed form equal those of each message", "[engine]") {
  for (const char* routing : {"adaptive", "spray"})
    for (const char* node : {h100, "{gpu: h100-sxm, gpus: 8, nics: {count: 2}}", "{gpu: a100-sxm, gpus: 4}"})
      for (const char* fabric :
           {"{kind: fat_tree, tiers: 3, switch: {ports: 16}}", "{kind: fat_tree, switch: {ports: 64}}",
            "{kind: rail_optimized, switch: {ports: 16}}",
            "{kind: leaf_spine, leaves: 14, spines: 2, cables: 2, nodes_per_leaf: 3, switch: {ports: 64}}"})
        for (const char* cluster : {"{nodes: 21}", "{nodes: 13, placement: random, seed: 3}"})
          for (const char* env : {"", "NCCL_PXN_DISABLE: 1", "NCCL_IB_QPS_PER_CONNECTION: 3"}) {
            CAPTURE(routing, node, fabric, cluster, env);
            const Collective x = alltoall(node, cluster, fabric, routing, env);
            const auto router = x.router(1);
            const auto found = count_pairs(x.input(*router));
            REQUIRE(found);
            const Routed routed = route_all(x, *router);
            CHECK(found->counts == routed.counts);
            std::map<double, std::uint64_t> trips;
            for (const FabricCount::Trips& t : found->trips) trips[t.latency] += t.count;
            CHECK(trips == routed.trips);
          }
}

TEST_CASE("in a fabric from a file, counts between switches equal those of each message", "[engine]") {
  // Three leaves of unequal nodes and cables, two spines. NICs are listed in no order.
  std::string file = "switches: [tor0, tor1, tor2, agg0, agg1]\nlinks:\n";
  for (const int n : {4, 0, 6, 1, 3, 5, 2})
    for (const int k : {1, 0})
      file += fmt::format("  - {{from: node{}.nic{}, to: tor{}}}\n", n, k, n < 2 ? 0 : n < 3 ? 1 : 2);
  for (int t = 0; t < 3; ++t)
    for (int a = 0; a < 2; ++a)
      file += fmt::format("  - {{from: tor{}, to: agg{}, count: {}, latency: {}ns}}\n", t, a, 1 + (t + a) % 2,
                          300 + 50 * t);
  const auto path = std::filesystem::temp_directory_path() / fmt::format("fabricast-pairs-{}.yaml", getpid());
  std::ofstream(path) << file;
  for (const char* routing : {"adaptive", "spray"}) {
    CAPTURE(routing);
    const Collective x = alltoall("{gpu: a100-sxm, gpus: 4, nics: {count: 2}}", "{nodes: 7}",
                                  fmt::format("{{kind: file, path: {}}}", path.string()), routing);
    const auto router = x.router(1);
    const auto found = count_pairs(x.input(*router));
    REQUIRE(found);
    const Communicator& comm = x.world.planner().comm;
    std::vector<double> counts(x.world.fabric()->links(), 0);
    std::map<double, std::uint64_t> trips, expected;
    const auto edges = list_edges(*find_by_algorithm(Algorithm::p2p), comm, x.plan, 0);
    Path flow;
    for (std::size_t e = 0; e < edges.size(); ++e) {
      REQUIRE(router->route(flow_of(comm, *x.world.fabric(), edges[e], 0, e, 0), flow));
      for (std::size_t i = 0; i < flow.resources.size(); ++i)
        counts[flow.resources[i]] += flow.weight(i) * edges[e].weight;
      ++expected[flow.latency.value];
    }
    for (std::size_t l = 0; l < counts.size(); ++l)
      CHECK(static_cast<double>(found->counts[l]) * 0x1p-20 == Approx(counts[l]).margin(1e-5));
    for (const FabricCount::Trips& t : found->trips) trips[t.latency] += t.count;
    CHECK(trips == expected);
  }
  std::filesystem::remove(path);
}

/// Largest distance of two empirical distributions.
double kolmogorov_smirnov(std::vector<double> a, std::vector<double> b) {
  std::sort(a.begin(), a.end()), std::sort(b.begin(), b.end());
  double most = 0;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const double x = std::min(a[i], b[j]);
    while (i < a.size() && a[i] == x) ++i;
    while (j < b.size() && b[j] == x) ++j;
    most = std::max(most, std::abs(static_cast<double>(i) / static_cast<double>(a.size()) -
                                   static_cast<double>(j) / static_cast<double>(b.size())));
  }
  return most;
}

TEST_CASE("with hashing, samples are distributed like counts of hashed messages", "[engine]") {
  constexpr std::uint64_t seeds = 400;
  for (const char* fabric :
       {"{kind: fat_tree, tiers: 3, switch: {ports: 16}}",
        "{kind: leaf_spine, leaves: 4, spines: 4, cables: 2, nodes_per_leaf: 4, switch: {ports: 64}}",
        "{kind: rail_optimized, switch: {ports: 16}}"}) {
    CAPTURE(fabric);
    const Collective x = alltoall(h100, "{nodes: 16}", fabric, "ecmp", "NCCL_PXN_DISABLE: 1");
    std::vector<double> hashed, sampled;
    std::vector<double> mean_hashed, mean_sampled;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
      const auto router = x.router(seed);
      CHECK_FALSE(count_pairs(x.input(*router)));
      const auto found = count_pairs(x.input(*router), 0);
      REQUIRE(found);
      const Routed routed = route_all(x, *router);
      const std::size_t links = routed.counts.size(), first = 2 * std::size_t{x.world.fabric()->endpoints()};
      mean_hashed.resize(links), mean_sampled.resize(links);
      for (std::size_t r = 0; r < links; ++r) {
        mean_hashed[r] += static_cast<double>(routed.counts[r]) / seeds;
        mean_sampled[r] += static_cast<double>(found->counts[r]) / seeds;
      }
      const auto most = [&](const std::vector<std::uint64_t>& counts) {
        return static_cast<double>(
            *std::max_element(counts.begin() + static_cast<std::ptrdiff_t>(first), counts.end()));
      };
      hashed.push_back(most(routed.counts)), sampled.push_back(most(found->counts));
    }
    // Two samples of one distribution differ by more with a probability of 0.1 %.
    CHECK(kolmogorov_smirnov(hashed, sampled) < 1.95 * std::sqrt(2.0 / seeds));
    double worst = 0;
    for (std::size_t r = 0; r < mean_hashed.size(); ++r) {
      REQUIRE((mean_hashed[r] > 0) == (mean_sampled[r] > 0));
      if (mean_hashed[r] == 0) continue;
      const double weight = 2, deviation = std::sqrt(2 * weight * mean_hashed[r] / seeds);
      worst = std::max(worst, std::abs(mean_hashed[r] - mean_sampled[r]) / deviation);
    }
    CHECK(worst < 5);
  }
}

constexpr const char* direct[] = {
    "{kind: dragonfly, groups: 4, switches_per_group: 4, global_links: 3, node_switches: 4}",
    "{kind: dragonfly_plus, groups: 3, leaves_per_group: 4, spines_per_group: 3, global_links: 5}",
    "{kind: torus, dimensions: [4, 3, 2], switch: {ports: 128}}",
    "{kind: hyperx, dimensions: [4, 4], paths: dimension_order}",
    // Quarters are exact in units of counts, so loads that are equal stay equal.
    "{kind: multi_plane, planes: 4, nodes_per_leaf: 4, leaf_up: 4, switch: {ports: 32}}"};

/// Routes every message by itself and compares counts, in units of 2^-20.
/// \returns numbers of messages by latency, counted and routed. Sums of latencies are rounded; picoseconds tell them apart.
std::array<std::map<double, std::uint64_t>, 2> compare_with_messages(const Collective& x, const Router& router,
                                                                     const PairCount& found) {
  std::vector<double> routed(x.world.fabric()->links());
  std::array<std::map<double, std::uint64_t>, 2> latencies;
  route_messages(x, router, [&](const Path& path, std::uint32_t weight) {
    for (std::size_t i = 0; i < path.resources.size(); ++i)
      routed[path.resources[i]] += weight * path.weight(i) * 0x1p20;
    ++latencies[1][std::round(path.latency.value * 1e12)];
  });
  for (std::size_t l = 0; l < routed.size(); ++l)
    REQUIRE(std::abs(static_cast<double>(found.counts[l]) - routed[l]) <= 1);
  for (const FabricCount::Trips& t : found.trips) latencies[0][std::round(t.latency * 1e12)] += t.count;
  return latencies;
}

TEST_CASE("between directly connected switches, fractions of spread messages equal those of each one", "[engine]") {
  const std::string spray = "spray", detours = "valiant, choice: packet, nonminimal: 0.7";
  for (const auto& [routing, fabric] : std::vector<std::pair<std::string, const char*>>{{spray, direct[0]},
                                                                                        {spray, direct[1]},
                                                                                        {spray, direct[2]},
                                                                                        {spray, direct[3]},
                                                                                        {spray, direct[4]},
                                                                                        {detours, direct[0]},
                                                                                        {detours, direct[3]}})
    for (const char* cluster : {"{nodes: 21}", "{nodes: 13, placement: random, seed: 3}"})
      for (const char* env : {"", "NCCL_PXN_DISABLE: 1", "NCCL_IB_QPS_PER_CONNECTION: 3"}) {
        CAPTURE(routing, fabric, cluster, env);
        const Collective x = alltoall("{gpu: a100-sxm, gpus: 4, nics: {count: 4}}", cluster, fabric, routing, env);
        const auto router = x.router(1);
        const auto found = count_pairs(x.input(*router));
        REQUIRE(found);
        REQUIRE(found->weighted);
        const auto [trips, latencies] = compare_with_messages(x, *router, *found);
        // The latency of one flow stands for all of its distance, which is not exact for detours.
        if (routing == spray) CHECK(trips == latencies);
      }
}

TEST_CASE("around links that are down, fractions of spread messages equal those of each one", "[engine]") {
  for (const auto& [routing, fabric] :
       std::vector<std::pair<const char*, const char*>>{{"spray", direct[0]},
                                                        {"spray", direct[1]},
                                                        {"spray", direct[2]},
                                                        {"spray", direct[3]},
                                                        {"valiant, choice: packet, nonminimal: 0.7", direct[0]}}) {
    CAPTURE(routing, fabric);
    const Collective x = alltoall("{gpu: a100-sxm, gpus: 4, nics: {count: 4}}", "{nodes: 21}", fabric, routing);
    const Fabric& of = *x.world.fabric();
    NetworkSegment segment = x.segment();
    const std::uint32_t between = of.links() - 2 * of.endpoints();
    for (const std::uint32_t l : {1U, between / 3, between - 1}) segment.links.set(LinkId(2 * of.endpoints() + l), 0);
    const auto make = [&] { return x.world.setup().policy->make(*x.world.setup().policy_spec, of, segment.links, 1); };
    const auto router = make();
    const Communicator& comm = x.world.planner().comm;
    const auto found = count_pairs({comm, x.plan, of, *router, segment});
    REQUIRE(found);
    const auto [trips, latencies] = compare_with_messages(x, *router, *found);
    if (routing == std::string("spray")) CHECK(trips == latencies);
    // A port that is down matters if its node takes part.
    const std::uint32_t port = comm.endpoint(20, 0, of.ports_per_node());
    segment.links.set(LinkId(2 * port), 0);
    CHECK_FALSE(count_pairs({comm, x.plan, of, *make(), segment}));
  }
}

TEST_CASE("between directly connected switches, samples are distributed like hashed messages", "[engine]") {
  constexpr std::uint64_t seeds = 200;
  for (const char* routing : {"ecmp", "valiant"})
    for (const std::string fabric : direct) {
      if (routing == std::string("valiant") && fabric == direct[4]) continue;  // leaves and spines have no detours
      CAPTURE(routing, fabric);
      const Collective x = alltoall("{gpu: a100-sxm, gpus: 4, nics: {count: 4}}", "{nodes: 12}", fabric, routing);
      std::vector<double> hashed, sampled;
      for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        const auto router = x.router(seed);
        CHECK_FALSE(count_pairs(x.input(*router)));
        const auto found = count_pairs(x.input(*router), 0);
        REQUIRE(found);
        const auto most = [&](const std::vector<std::uint64_t>& counts) {
          const auto first = counts.begin() + 2 * static_cast<std::ptrdiff_t>(x.world.fabric()->endpoints());
          return static_cast<double>(*std::max_element(first, counts.end()));
        };
        hashed.push_back(most(route_all(x, *router).counts)), sampled.push_back(most(found->counts));
      }
      // Two samples of one distribution differ by more with a probability of 0.1 %.
      CHECK(kolmogorov_smirnov(hashed, sampled) < 1.95 * std::sqrt(2.0 / seeds));
    }
}

TEST_CASE("polarized or cut fabrics, and other operations, are routed message by message", "[engine]") {
  const std::string fabric = "{kind: fat_tree, tiers: 3, switch: {ports: 16}}";
  for (const char* routing : {"ecmp, bits: same", "ecmp, fields: [src_ip, dst_ip]", "static"}) {
    CAPTURE(routing);
    const Collective x = alltoall(h100, "{nodes: 16}", fabric, routing);
    const auto router = x.router(1);
    CHECK_FALSE(count_pairs(x.input(*router), 0));
  }
  Collective x = alltoall(h100, "{nodes: 16}", fabric, "adaptive");
  const auto router = x.router(1);
  x.plan = plan_collective(x.world.planner(), CollectiveOp::scatter, 1 << 30, Algorithm::p2p, Protocol::simple);
  CHECK_FALSE(count_pairs(x.input(*router), 0));
}

}  // namespace
}  // namespace fabricast
