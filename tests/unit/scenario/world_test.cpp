#include "fabricast/scenario/world.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>

namespace fabricast {
namespace {

const std::string head = "fabricast: 1\nworkload: {collective: all_reduce}\n";

std::unique_ptr<World> world_of(const std::string& text) {
  return build_world(parse_scenario(head + text, "s.yaml").scenario);
}

TEST_CASE("placements on the fabric", "[scenario]") {
  const auto placement = [](const std::string& cluster) {
    return world_of("node: {}\ncluster: {" + cluster + "}\n")->planner.comm.placement;
  };
  using Hosts = std::vector<std::uint32_t>;
  CHECK(placement("nodes: 3") == Hosts{0, 1, 2});
  CHECK(placement("nodes: 3, placement: [5, 0, 2]") == Hosts{5, 0, 2});
  const Hosts random = placement("nodes: 40, size: 50, placement: random, seed: 3");
  CHECK(random.size() == 40);
  CHECK(random == placement("nodes: 40, size: 50, placement: random, seed: 3"));
  CHECK(random != placement("nodes: 40, size: 50, placement: random, seed: 4"));
  Hosts sorted = random;
  std::sort(sorted.begin(), sorted.end());
  CHECK(std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end());
  CHECK(sorted.back() < 50);
  Hosts all = placement("nodes: 50, placement: random");
  std::sort(all.begin(), all.end());
  Hosts expected(50);
  std::iota(expected.begin(), expected.end(), 0U);
  CHECK(all == expected);
}

TEST_CASE("the fabric is as large as the cluster, and only where it is needed", "[scenario]") {
  CHECK(world_of("node: {}\ncluster: {nodes: 1}\n")->fabric == nullptr);
  CHECK(world_of("node: {}\ncluster: {nodes: 1}\nfaults: [{link: leaf0, rate: 0}]\n")->fabric != nullptr);
  const auto world = world_of("node: {}\ncluster: {nodes: 3, size: 33}\n");
  CHECK(world->fabric->nodes() == 33);
  CHECK(world->fabric->ports_per_node() == 8);
  CHECK(world->fabric->switches_in(Tier::leaf) == 16);
  CHECK(world->planner.comm.ranks() == 24);
}

TEST_CASE("hosts of one NVLink domain are one node to NCCL", "[scenario]") {
  const auto world = world_of("node: {profile: gb200-tray}\nnvlink_domain: {nodes: 9}\ncluster: {nodes: 18}\n");
  const Communicator& comm = world->planner.comm;
  CHECK(comm.nodes() == 2);
  CHECK(comm.gpus() == 36);
  CHECK(comm.hosts_per_node == 9);
  CHECK(comm.node.nics == 36);
  CHECK(world->fabric->ports_per_node() == 4);
  CHECK(world->fabric->nodes() == 18);
  CHECK(comm.endpoint(1, 5, 4) == 10 * 4 + 1);  // second domain, second host, second NIC
}

TEST_CASE("faults become segments of time", "[scenario]") {
  const auto world = world_of(
      "node: {}\ncluster: {nodes: 2}\n"
      "faults: [{link: node0.nic3, rate: 50%, at: 1ms, until: 3ms}, {link: leaf3, rate: 0, at: 2ms}, "
      "{link: node1.gpu0-pcie0, rate: 10%}]\n");
  const auto& segments = world->setup.segments;
  REQUIRE(segments.size() == 4);
  const std::uint32_t up = Clos::endpoint_up(3);
  CHECK(segments[0].begin == 0);
  CHECK(segments[0].links.factor(up) == 1);
  CHECK(segments[1].begin == Approx(1e-3));
  CHECK(segments[1].links.factor(up) == .5);
  CHECK(segments[2].begin == Approx(2e-3));
  CHECK(segments[2].links.factor(up) == 0);  // the worst counts
  CHECK(segments[3].begin == Approx(3e-3));
  CHECK(segments[3].links.factor(up) == 0);
  for (const NetworkSegment& s : segments) {
    REQUIRE(s.inside.size() == 2);  // both directions
    CHECK(s.inside[0].node == 1);
    CHECK(s.inside[0].factor == Approx(.1));
  }
  CHECK_THROWS_WITH(world_of("node: {}\ncluster: {nodes: 2}\nfaults: [{link: leaf99, rate: 0}]\n"),
                    Catch::Contains("faults[0].link: nothing is called 'leaf99'"));
}

TEST_CASE("what does not fit together", "[scenario]") {
  CHECK_THROWS_WITH(world_of("node: {nics: {count: 0}}\ncluster: {nodes: 2}\n"),
                    Catch::Contains("no NIC to join them"));
  CHECK_THROWS_WITH(world_of("node: {gpu: gh200}\ncluster: {nodes: 1}\n"),
                    Catch::Contains("one GPU has nobody to talk to"));
  const auto world = world_of("node: {}\ncluster: {nodes: 2}\nnccl: {env: {NCCL_ALGO: pat}}\n");
  REQUIRE(world->warnings.size() == 1);
  CHECK_THAT(world->warnings[0].message, Catch::Contains("leave no algorithm"));
}

}  // namespace
}  // namespace fabricast
