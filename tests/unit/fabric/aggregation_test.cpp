// Trees of switches that reduce: that they are trees, which switches they take, and how long the way is.
#include "fabricast/fabric/aggregation.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <numeric>
#include <set>

#include "fabricast/topology/file.hpp"
#include "support/fabrics.hpp"

namespace fabricast {
namespace {

/// NIC `port` of every node.
std::vector<std::uint32_t> rail(const Fabric& fabric, std::uint32_t port) {
  std::vector<std::uint32_t> endpoints;
  for (std::uint32_t node = 0; node < fabric.nodes(); ++node)
    endpoints.push_back(node * fabric.ports_per_node() + port);
  return endpoints;
}

/// Each cable once in each direction, joined, without a loop, and no switch that joins nothing.
void check_tree(const Fabric& fabric, const AggregationTree& tree, const std::vector<std::uint32_t>& endpoints) {
  std::map<std::uint32_t, std::vector<std::uint32_t>> joined;
  std::set<std::uint32_t> links;
  for (const LinkId link : tree.links) {
    CHECK(links.insert(link.value).second);
    joined[fabric.link(link).from.value].push_back(fabric.link(link).to.value);
  }
  for (const std::uint32_t link : links) CHECK(links.count(link ^ 1U) == 1);
  // A connected graph with one cable less than it has vertices is a tree.
  CHECK(links.size() == 2 * (endpoints.size() + tree.switches.size() - 1));
  std::set<std::uint32_t> reached = {tree.switches.front().value};
  std::vector<std::uint32_t> next(reached.begin(), reached.end());
  while (!next.empty()) {
    const std::uint32_t v = next.back();
    next.pop_back();
    for (const std::uint32_t to : joined[v])
      if (reached.insert(to).second) next.push_back(to);
  }
  std::set<std::uint32_t> wanted(endpoints.begin(), endpoints.end());
  for (const VertexId v : tree.switches) {
    CHECK_FALSE(fabric.is_endpoint(v));
    wanted.insert(v.value);
    CHECK(joined[v.value].size() >= (tree.switches.size() > 1 ? 2U : 1U));
  }
  CHECK(reached == wanted);
}

/// Cables of 20 m and switches of 250 ns, up and down: the NIC at the end takes no time.
double path_up_and_down(int levels) { return 2 * levels * 20 * 4.9e-9 + (2 * levels - 1) * 250e-9; }

TEST_CASE("a tree under one leaf has one switch", "[fabric]") {
  const Fabric fabric = test::fabric_of("single_switch", test::demand_of(5, 2));
  const AggregationTree tree = aggregation_tree(fabric, rail(fabric, 1), 1);
  check_tree(fabric, tree, rail(fabric, 1));
  CHECK(tree.switches.size() == 1);
  CHECK(tree.links.size() == 2 * 5);
  CHECK(tree.levels == 1);
  CHECK(tree.latency.value == Approx(path_up_and_down(1)));
}

TEST_CASE("a tree over leaves takes one uplink of each, and another number other spines", "[fabric]") {
  const Fabric fabric = test::fabric_of("leaf_spine", test::demand_of(12, 1),
                                        {{"leaves", "4"}, {"spines", "3"}, {"nodes_per_leaf", "3"}});
  const std::vector<std::uint32_t> all = rail(fabric, 0);
  std::set<std::uint32_t> spines;
  for (std::uint32_t index = 0; index < 3; ++index) {
    const AggregationTree tree = aggregation_tree(fabric, all, index);
    check_tree(fabric, tree, all);
    CHECK(tree.switches.size() == 4 + 1);
    CHECK(tree.levels == 2);
    CHECK(tree.latency.value == Approx(path_up_and_down(2)));
    for (const VertexId v : tree.switches)
      if (fabric.tier(v) == Tier::spine) spines.insert(v.value);
  }
  CHECK(spines.size() == 3);
  CHECK(aggregation_tree(fabric, all, 3).links == aggregation_tree(fabric, all, 0).links);
  // Ranks of one leaf need no spine.
  const AggregationTree one = aggregation_tree(fabric, {3, 5}, 0);
  check_tree(fabric, one, {3, 5});
  CHECK(one.switches.size() == 1);
}

TEST_CASE("a tree over three tiers of a fat tree meets in one core", "[fabric]") {
  // Switches of 4 ports: 2 nodes on a leaf, 2 leaves in a pod, 4 pods [AlFares2008].
  const Fabric fabric = test::fabric_of("fat_tree", test::demand_of(16, 1), {{"switch.ports", "4"}, {"tiers", "3"}});
  const std::vector<std::uint32_t> all = rail(fabric, 0);
  std::set<std::uint32_t> cores;
  for (std::uint32_t index = 0; index < 4; ++index) {
    const AggregationTree tree = aggregation_tree(fabric, all, index);
    check_tree(fabric, tree, all);
    CHECK(tree.switches.size() == 8 + 4 + 1);  // leaves, a spine of each pod, a core
    CHECK(tree.levels == 3);
    CHECK(tree.latency.value == Approx(path_up_and_down(3)));
    for (const VertexId v : tree.switches)
      if (fabric.tier(v) == Tier::core) cores.insert(v.value);
  }
  CHECK(cores.size() == 4);
  const AggregationTree pod = aggregation_tree(fabric, {0, 3}, 0);
  check_tree(fabric, pod, {0, 3});
  CHECK(pod.switches.size() == 3);
}

TEST_CASE("trees of rails stay on their rail's leaves", "[fabric]") {
  const Fabric fabric =
      test::fabric_of("rail_optimized", test::demand_of(8, 4), {{"switch.ports", "16"}, {"nodes_per_su", "4"}});
  std::set<std::uint32_t> leaves;
  for (std::uint32_t r = 0; r < 4; ++r) {
    const AggregationTree tree = aggregation_tree(fabric, rail(fabric, r), r);
    check_tree(fabric, tree, rail(fabric, r));
    CHECK(tree.switches.size() == 2 + 1);  // a leaf of each unit, and a spine
    for (const VertexId v : tree.switches)
      if (fabric.tier(v) == Tier::leaf) CHECK(leaves.insert(v.value).second);
  }
  CHECK(leaves.size() == 8);
}

TEST_CASE("there is no tree where the fabric is not joined", "[fabric]") {
  const Fabric fabric =
      test::fabric_of("rail_only", test::demand_of(4, 2), {{"switch.ports", "16"}, {"nodes_per_su", "4"}});
  check_tree(fabric, aggregation_tree(fabric, rail(fabric, 0), 0), rail(fabric, 0));
  CHECK(aggregation_tree(fabric, {0, 3}, 0).links.empty());  // NICs of two rails
}

TEST_CASE("a fabric from a file is searched from a switch of the highest tier", "[fabric]") {
  FileFabricSpec spec;
  spec.path = "fabric.yaml";
  spec.switches = {{"agg0", Tier::spine}, {"agg1", Tier::spine}, {"tor0", Tier::leaf}, {"tor1", Tier::leaf}};
  spec.links = {{"node0.nic0", "tor0"}, {"node1.nic0", "tor1"},
                {"node2.nic0", "tor1"}, {"tor0", "agg0"},
                {"tor0", "agg1"},       {"tor1", "agg0", BytesPerSecond{25e9}, Seconds{1e-6}, 2},
                {"tor1", "agg1"}};
  const auto file =
      std::find_if(topologies().begin(), topologies().end(), [](const Topology& t) { return t.name == "file"; });
  const Fabric fabric = file->build(spec, test::demand_of(3, 1));
  for (const std::uint32_t index : {0U, 1U}) {
    const AggregationTree tree = aggregation_tree(fabric, {0, 1, 2}, index);
    check_tree(fabric, tree, {0, 1, 2});
    CHECK(tree.switches.size() == 3);
    CHECK(std::count(tree.switches.begin(), tree.switches.end(), *fabric.find_vertex(index == 0 ? "agg0" : "agg1")) ==
          1);
    CHECK(tree.levels == 2);
    // By agg0 the longest way has cables of 1 us each way; a cable is 20 m and a switch takes 250 ns.
    const double slow = 2e-6 + 2 * 20 * 4.9e-9 + 250e-9;
    CHECK(tree.latency.value == Approx(index == 0 ? slow : path_up_and_down(2)));
  }
}

}  // namespace
}  // namespace fabricast
