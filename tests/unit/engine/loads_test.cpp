// Loads of the flow engine against connections routed one by one.
#include "sim/engine/count/loads.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <map>

#include "fabricast/engine/engine.hpp"
#include "fabricast/scenario/scenario.hpp"
#include "fabricast/scenario/world.hpp"

namespace fabricast {
namespace {

/// 48 nodes on leaves of 16 NIC ports, so that few connections stay below a leaf, or of 64, so that most do.
World world_of(int ports, const char* routing, const char* faults = "[]", int queue_pairs = 2,
               const char* tiers = "tiers: 3", const char* cluster = "{nodes: 48}", int gpus = 8) {
  const std::string text = fmt::format(
      "fabricast: 1\nnode: {{gpu: h100-sxm, gpus: {}}}\ncluster: {}\n"
      "fabric: {{kind: fat_tree, {}, switch: {{ports: {}}}}}\nrouting: {{kind: {}}}\nfaults: {}\n"
      "nccl: {{env: {{NCCL_IB_QPS_PER_CONNECTION: {}}}}}\nworkload: {{collective: all_reduce, sizes: [1GiB]}}\n",
      gpus, cluster, tiers, ports, routing, faults, queue_pairs);
  return build_world(parse_scenario(text, "loads.yaml", {}).scenario);
}

/// Number of links by capacity and connections of every channel.
using Census = std::map<std::pair<double, std::vector<double>>, std::uint32_t>;

Census census_of(const Loads& loads) {
  Census census;
  for (const LinkGroup& g : loads.groups)
    if (!g.inside) census[{g.capacity, g.connections}] += g.members;
  return census;
}

Census by_hand(const World& world, const Plan& plan, const Router& router, const NetworkSegment& segment) {
  const Communicator& comm = world.planner().comm;
  const auto channels = static_cast<std::size_t>(plan.channels);
  std::map<std::uint32_t, std::vector<double>> connections;
  Path path;
  for (int c = 0; c < plan.channels; ++c) {
    const auto edges = list_edges(*find_by_algorithm(plan.algorithm), comm, plan, c);
    for (std::size_t e = 0; e < edges.size(); ++e)
      for (std::uint32_t pair = 0; pair < static_cast<std::uint32_t>(comm.qps_per_connection); ++pair) {
        REQUIRE(router.route(flow_of(comm, *world.fabric(), edges[e], c, e, pair), path));
        for (const std::uint32_t r : path.resources) {
          auto& of_link = connections[r];
          of_link.resize(channels);
          of_link[static_cast<std::size_t>(c)] += static_cast<double>(edges[e].weight) / comm.qps_per_connection;
        }
      }
  }
  Census census;
  for (const auto& [r, of_link] : connections)
    ++census[{capacity(*world.fabric(), router, segment.links, r).value, of_link}];
  return census;
}

TEST_CASE("loads of links equal those of their connections, routed one by one", "[engine]") {
  for (const int ports : {16, 64})
    for (const char* routing : {"ecmp", "adaptive", "static"})
      for (const char* faults : {"[]", "[{link: leaf0-spine1, rate: 0}, {link: leaf1-spine0, rate: 50%}]"}) {
        const auto world = world_of(ports, routing, faults);
        const NetworkSegment& segment = world.setup().segments.front();
        const auto router = world.setup().policy->make(*world.setup().policy_spec, *world.fabric(), segment.links, 7);
        for (const Algorithm algorithm : {Algorithm::ring, Algorithm::tree, Algorithm::nvlstree}) {
          CAPTURE(ports, routing, faults, name_of(algorithm));
          const Plan plan =
              plan_collective(world.planner(), CollectiveOp::all_reduce, 1 << 30, algorithm, Protocol::simple);
          InsidePaths paths(world.planner().comm);
          const Loads loads = count_loads(world.planner().comm, plan, world.fabric(), router.get(), segment, paths);
          const Census census = census_of(loads);
          const Census expected = by_hand(world, plan, *router, segment);
          CHECK(expected.size() > 3);
          CHECK(census == expected);
        }
      }
}

TEST_CASE("a few nodes of a large fabric load the links that their connections cross", "[engine]") {
  for (const char* routing : {"ecmp", "adaptive", "static"})
    for (const char* faults : {"[]", "[{link: leaf0-spine1, rate: 0}, {link: leaf1-spine0, rate: 50%}]"}) {
      const auto world = world_of(64, routing, faults, 2, "tiers: 3", "{nodes: 48, size: 4096, placement: random}");
      const NetworkSegment& segment = world.setup().segments.front();
      const auto router = world.setup().policy->make(*world.setup().policy_spec, *world.fabric(), segment.links, 7);
      for (const Algorithm algorithm : {Algorithm::ring, Algorithm::tree, Algorithm::nvlstree}) {
        CAPTURE(routing, faults, name_of(algorithm));
        const Plan plan =
            plan_collective(world.planner(), CollectiveOp::all_reduce, 1 << 30, algorithm, Protocol::simple);
        InsidePaths paths(world.planner().comm);
        const Loads loads = count_loads(world.planner().comm, plan, world.fabric(), router.get(), segment, paths);
        const Census census = census_of(loads);
        CHECK(census == by_hand(world, plan, *router, segment));
      }
    }
}

TEST_CASE("the counts of PAT equal those of its connections, routed one by one", "[engine]") {
  for (const char* cluster : {"{nodes: 48}", "{nodes: 45, size: 128, placement: random}"})
    for (const char* routing : {"ecmp", "adaptive", "static"})
      for (const char* faults : {"[]", "[{link: leaf0-spine1, rate: 0}, {link: leaf1-spine0, rate: 50%}]"})
        for (const CollectiveOp op : {CollectiveOp::all_gather, CollectiveOp::reduce_scatter}) {
          const auto world = world_of(16, routing, faults, 2, "tiers: 3", cluster, 1);
          const NetworkSegment& segment = world.setup().segments.front();
          const auto router = world.setup().policy->make(*world.setup().policy_spec, *world.fabric(), segment.links, 7);
          CAPTURE(cluster, routing, faults, name_of(op));
          const Plan plan = plan_collective(world.planner(), op, 1 << 30, Algorithm::pat, Protocol::simple);
          InsidePaths paths(world.planner().comm);
          const Census expected = by_hand(world, plan, *router, segment);
          CHECK(expected.size() >= 3);
          for (const std::size_t threads : {1, 3})
            CHECK(census_of(count_loads(world.planner().comm, plan, world.fabric(), router.get(), segment, paths,
                                        nullptr, threads)) == expected);
        }
}

TEST_CASE("counts may be large", "[engine]") {
  const auto world =
      world_of(64, "ecmp", "[]", 128, "oversubscription: 31");  // the maximum of NCCL's queue pairs, two uplinks
  const NetworkSegment& segment = world.setup().segments.front();
  const auto router = world.setup().policy->make(*world.setup().policy_spec, *world.fabric(), segment.links, 7);
  const Plan plan =
      plan_collective(world.planner(), CollectiveOp::all_reduce, 1 << 30, Algorithm::tree, Protocol::simple);
  InsidePaths paths(world.planner().comm);
  const Loads loads = count_loads(world.planner().comm, plan, world.fabric(), router.get(), segment, paths);
  const Census census = census_of(loads);
  CHECK(census == by_hand(world, plan, *router, segment));
  const auto most = [](const auto& link) {
    return *std::max_element(link.first.second.begin(), link.first.second.end());
  };
  CHECK(std::any_of(census.begin(), census.end(), [&](const auto& link) { return 128 * most(link) > 255; }));
}

TEST_CASE("channels of one edge set have the same edges", "[engine]") {
  const auto world = world_of(64, "ecmp");
  int seen = 0;
  for (const CollectiveAlgorithm& a : collective_algorithms()) {
    if (!a.edge_set || !a.supports(CollectiveOp::all_reduce)) continue;
    CAPTURE(a.name);
    const Plan plan =
        plan_collective(world.planner(), CollectiveOp::all_reduce, 1 << 30, a.algorithm, Protocol::simple);
    std::map<int, std::vector<NetworkEdge>> edges;
    for (int c = 0; c < plan.channels; ++c) {
      const auto own = list_edges(a, world.planner().comm, plan, c);
      const auto it = edges.try_emplace(a.edge_set(world.planner().comm, c), own).first;
      CHECK(it->second == own);
    }
    if (a.algorithm == Algorithm::nvlstree) CHECK(edges.size() == 2);  // its two trees
    ++seen;
  }
  CHECK(seen == 3);  // rings and both kinds of trees
}

TEST_CASE("counts do not depend on the number of threads", "[engine]") {
  for (const char* routing : {"ecmp", "adaptive"}) {
    const auto world = world_of(16, routing);
    const NetworkSegment& segment = world.setup().segments.front();
    const auto router = world.setup().policy->make(*world.setup().policy_spec, *world.fabric(), segment.links, 7);
    for (const Algorithm algorithm : {Algorithm::ring, Algorithm::tree, Algorithm::nvlstree}) {
      CAPTURE(routing, name_of(algorithm));
      const Plan plan =
          plan_collective(world.planner(), CollectiveOp::all_reduce, 1 << 30, algorithm, Protocol::simple);
      InsidePaths paths(world.planner().comm);
      const auto loads_on = [&](std::size_t threads) {
        return count_loads(world.planner().comm, plan, world.fabric(), router.get(), segment, paths, nullptr, threads);
      };
      const Loads one = loads_on(1);
      for (const std::size_t threads : {2, 3, 16}) {
        const Loads several = loads_on(threads);
        REQUIRE(several.groups.size() == one.groups.size());
        for (std::size_t g = 0; g < one.groups.size(); ++g) {
          CHECK(several.groups[g].connections == one.groups[g].connections);
          CHECK(several.groups[g].capacity == one.groups[g].capacity);
          CHECK(several.groups[g].resource == one.groups[g].resource);
          CHECK(several.groups[g].members == one.groups[g].members);
        }
      }
    }
  }
}

TEST_CASE("a node with a fault does not stand for the others of its role", "[engine]") {
  const auto rates = [](const char* faults, bool usual) {
    const auto world = world_of(64, "adaptive", faults, 1, "tiers: 2", "{nodes: 8}");
    const Communicator& comm = world.planner().comm;
    const Plan plan =
        plan_collective(world.planner(), CollectiveOp::broadcast, 1 << 20, Algorithm::ring, Protocol::simple);
    InsidePaths paths(comm);
    const NetworkSegment& segment = world.setup().segments.front();
    const auto router = world.setup().policy->make(*world.setup().policy_spec, *world.fabric(), segment.links, 1);
    const Loads loads = count_loads(comm, plan, world.fabric(), router.get(), segment, paths);
    std::vector<double> found;
    for (const InsideGroups& inside : usual ? loads.usual_inside : loads.inside)
      for (const std::uint32_t g : inside.group) found.push_back(g == no_group ? 0 : loads.groups[g].capacity);
    return found;
  };
  const std::vector<double> healthy = rates("[]", false);
  CHECK(healthy.size() > 8);
  for (const char* fault : {"[{link: node0.gpu1-nvswitch, rate: 25%}]", "[{link: node3.gpu1-nvswitch, rate: 25%}]"}) {
    CAPTURE(fault);
    CHECK(rates(fault, true) == healthy);
    CHECK(rates(fault, false) != healthy);
  }
}

TEST_CASE("a count from one hardware is valid on another", "[engine]") {
  const auto near = world_of(16, "ecmp"), far = world_of(16, "ecmp", "[]", 2, "tiers: 3, cable: 1km");
  CHECK(connects_alike(near.setup(), far.setup()));
  const auto time = [](const World& world, const Plan& plan, std::shared_ptr<CountStore> counts) {
    NetworkSetup setup = world.setup();
    setup.counts = std::move(counts);
    return make_flow_engine(setup, world.samples().first_seed)->run(plan).makespan.value;
  };
  for (const CollectiveOp op : {CollectiveOp::alltoall, CollectiveOp::sendrecv, CollectiveOp::all_reduce}) {
    const Algorithm algorithm = is_point_to_point(op) ? Algorithm::p2p : Algorithm::tree;
    const Plan plan = plan_collective(near.planner(), op, 1 << 20, algorithm, Protocol::simple);
    const auto counts = make_count_store(near.samples().first_seed);
    const double quick = time(near, plan, counts), alone = time(far, plan, nullptr);
    CAPTURE(name_of(op), quick, alone);
    CHECK(alone > 1.01 * quick);
    CHECK(time(far, plan, counts) == Approx(alone).epsilon(1e-12));
  }
}

}  // namespace
}  // namespace fabricast
