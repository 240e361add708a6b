// Volumes, edges and slices of the schedules against closed forms.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "fabricast/collective/algorithm.hpp"
#include "fabricast/collective/double_tree.hpp"
#include "support/clusters.hpp"

namespace fabricast {
namespace {

constexpr auto all_reduce = CollectiveOp::all_reduce, all_gather = CollectiveOp::all_gather;
constexpr auto ring = Algorithm::ring, tree = Algorithm::tree;
constexpr auto simple = Protocol::simple;

TEST_CASE("slices cover a chunk once", "[collective]") {
  Plan plan;
  for (const int slices : {1, 2, 4})
    for (const std::int64_t least : {std::int64_t{0}, std::int64_t{32768}})
      for (std::int64_t chunk = 1; chunk < 3'000'000; chunk = chunk * 3 + 7) {
        plan.slices_per_chunk = slices, plan.least_slice = least;
        const SliceSize cut = slice_chunk(plan, chunk);
        INFO(chunk << " B in " << slices);
        CHECK(cut.count <= slices);
        CHECK(cut.size * cut.count >= chunk);
        CHECK(cut.size * (cut.count - 1) < chunk);
        CHECK((cut.size % 16 == 0 || cut.count == 1));
      }
  plan.slices_per_chunk = 2, plan.least_slice = 32768;
  CHECK(slice_chunk(plan, 2 << 20).size == 1 << 20);
  CHECK(slice_chunk(plan, 32768).count == 1);  // below 1/32 of the largest: not cut
  CHECK(slice_chunk(plan, 65536).count == 2);
}

TEST_CASE("loops cover a share once", "[collective]") {
  Plan plan;
  plan.chunk = 2 << 20;
  for (const std::int64_t parts : {1, 2, 16, 1000})
    for (const std::int64_t share : {1L, 15L, 1L << 20, (1L << 21) * 16, (1L << 30) + 5}) {
      const Loops loops = cut_loops(plan, share, parts);
      const std::int64_t rest = share - loops.whole * plan.chunk * parts;
      CHECK((rest >= 0 && rest < plan.chunk * parts));
      CHECK((loops.tail_chunk > 0) == (rest > 0));
      CHECK(loops.tail_chunk * parts >= rest);
      CHECK(loops.tail_chunk <= plan.chunk);
    }
}

/// Bytes that each worker's rank sends on all channels.
std::map<std::uint32_t, std::int64_t> bytes_sent(const Planner& planner, const Plan& plan) {
  std::map<std::uint32_t, std::int64_t> sent;
  for (int c = 0; c < plan.channels; ++c) {
    const auto program = find_by_algorithm(plan.algorithm)->program(planner.comm, plan, c);
    for (std::int32_t w = 0; w < program->workers(); ++w)
      for (std::int64_t i = 0; i < program->steps(w); ++i) {
        const Step step = program->step(w, i);
        sent[program->rank_of(w).value] += step.bytes() * static_cast<std::int64_t>(step.to.size());
      }
  }
  return sent;
}

TEST_CASE("rings send the minimum [Patarasuk2009]", "[collective]") {
  for (const std::uint32_t nodes : {1U, 2U, 3U}) {
    const Planner planner = test::planner_of(test::preset_spec("hgx-h100"), nodes);
    const std::int64_t n = 8 * nodes, bytes = n * 16 * 4096;
    for (const auto& [op, sent] :
         std::map<CollectiveOp, std::int64_t>{{all_reduce, 2 * (n - 1) * bytes / n},
                                              {all_gather, (n - 1) * bytes / n},
                                              {CollectiveOp::reduce_scatter, (n - 1) * bytes / n}})
      for (const auto& [rank, found] : bytes_sent(planner, plan_collective(planner, op, bytes, ring, simple))) {
        INFO(name_of(op) << ", rank " << rank << " of " << n);
        CHECK(found == sent);
      }
    // In a chain every rank except the last one sends everything.
    std::int64_t total = 0;
    for (const auto& [rank, found] :
         bytes_sent(planner, plan_collective(planner, CollectiveOp::broadcast, bytes, ring, simple)))
      total += found;
    CHECK(total == (n - 1) * bytes);
  }
}

TEST_CASE("a tree sends everything up and down over each of its edges", "[collective]") {
  const Planner planner = test::planner_of(test::preset_spec("hgx-h100"), 5);
  std::int64_t total = 0;
  for (const auto& [rank, found] : bytes_sent(planner, plan_collective(planner, all_reduce, 1 << 20, tree, simple)))
    total += found;
  CHECK(total == std::int64_t{2} * (40 - 1) * (1 << 20));
}

TEST_CASE("bus bandwidth relative to algorithm bandwidth", "[collective]") {
  CHECK(bus_factor(all_reduce, 8) == Approx(1.75));
  CHECK(bus_factor(all_gather, 8) == Approx(.875));
  CHECK(bus_factor(CollectiveOp::reduce_scatter, 16) == Approx(.9375));
  CHECK(bus_factor(CollectiveOp::alltoall, 4) == Approx(.75));
  CHECK(bus_factor(CollectiveOp::broadcast, 8) == 1);
  CHECK(bus_factor(CollectiveOp::sendrecv, 8) == 1);
}

TEST_CASE("rings visit the nodes in order and stay on their rail", "[collective]") {
  for (const std::uint32_t nodes : {2U, 3U, 4U, 9U}) {
    const Planner planner = test::planner_of(test::preset_spec("hgx-h100"), nodes);
    const Plan plan = plan_collective(planner, all_reduce, 1 << 30, ring, simple);
    REQUIRE(plan.channels == 16);
    std::vector<NetworkEdge> edges;
    std::map<std::pair<std::uint32_t, int>, int> sends, receives;
    for (int c = 0; c < plan.channels; ++c) {
      edges = list_edges(*find_by_algorithm(ring), planner.comm, plan, c);
      REQUIRE(edges.size() == nodes);
      for (std::uint32_t i = 0; i < nodes; ++i) {
        CHECK(edges[i].from == i);
        CHECK(edges[i].to == (i + 1) % nodes);
        // With crossNic 2 pairs of rings swap at odd nodes; the ring closes on the rail only if they are even.
        if (nodes % 2 == 0 || i + 1 < nodes) CHECK(edges[i].from_nic == edges[i].to_nic);
        ++sends[{i, edges[i].from_nic}], ++receives[{edges[i].to, edges[i].to_nic}];
      }
    }
    // Every NIC carries two of the 16 channels each way.
    CHECK(sends.size() == 8 * nodes);
    for (const auto& [nic, count] : sends) CHECK(count == 2);
    for (const auto& [nic, count] : receives) CHECK(count == 2);
  }
}

TEST_CASE("a chain does not have the edge before its start", "[collective]") {
  const Planner planner = test::planner_of(test::preset_spec("hgx-h100"), 4);
  std::vector<NetworkEdge> edges;
  for (const auto op : {CollectiveOp::broadcast, CollectiveOp::reduce}) {
    const Plan plan = plan_collective(planner, op, 1 << 30, ring, simple);
    for (int c = 0; c < plan.channels; ++c) {
      edges = list_edges(*find_by_algorithm(ring), planner.comm, plan, c);
      // A broadcast leaves node 0 for good if the root is its first GPU; a reduce ends there if the root is its last.
      const std::vector<int>& gpus = planner.comm.ring_shape(c).gpus;
      const bool open = op == CollectiveOp::broadcast ? gpus.front() == 0 : gpus.back() == 0;
      CHECK(edges.size() == (open ? 3 : 4));
      for (const NetworkEdge& e : edges) CHECK((!open || (op == CollectiveOp::broadcast ? e.to : e.from) != 0));
    }
  }
}

TEST_CASE("trees follow the double tree on both sets of channels", "[collective]") {
  for (const std::uint32_t nodes : {2U, 5U, 8U}) {
    const Planner planner = test::planner_of(test::preset_spec("hgx-h100"), nodes);
    const Plan plan = plan_collective(planner, all_reduce, 1 << 30, tree, simple);
    std::vector<NetworkEdge> edges;
    for (int c = 0; c < plan.channels; ++c) {
      edges = list_edges(*find_by_algorithm(tree), planner.comm, plan, c);
      CHECK(edges.size() == 2 * (nodes - 1));
      std::set<std::pair<std::uint32_t, std::uint32_t>> found, expected;
      for (const NetworkEdge& e : edges) {
        found.emplace(e.from, e.to);
        CHECK((e.from_nic == c % 8 && e.to_nic == c % 8));
      }
      for (std::uint32_t n = 0; n < nodes; ++n)
        if (const std::int64_t parent = double_tree(nodes, n, c < 8 ? 0 : 1).parent; parent >= 0) {
          expected.emplace(n, static_cast<std::uint32_t>(parent));
          expected.emplace(static_cast<std::uint32_t>(parent), n);
        }
      CHECK(found == expected);
    }
  }
}

TEST_CASE("transfers inside a node chain its GPUs between its NICs", "[collective]") {
  const Planner planner = test::planner_of(test::preset_spec("hgx-h100"), 2);
  const Plan plan = plan_collective(planner, all_reduce, 1 << 30, ring, simple);
  std::vector<NodeTransfer> transfers;
  for (int c = 0; c < plan.channels; ++c)
    for (const std::uint32_t node : {0U, 1U}) {
      find_by_algorithm(ring)->node_transfers(planner.comm, plan, c, node, transfers);
      REQUIRE(transfers.size() == 9);  // in, seven hops, out
      CHECK(transfers.front().kind == NodeTransfer::Kind::nic_to_gpu);
      CHECK(transfers.back().kind == NodeTransfer::Kind::gpu_to_nic);
      for (std::size_t i = 0; i + 1 < transfers.size(); ++i) CHECK(transfers[i].to == transfers[i + 1].from);
    }
  const Planner alone = test::planner_of(test::preset_spec("hgx-h100"), 1);
  const Plan inside = plan_collective(alone, all_reduce, 1 << 30, ring, simple);
  find_by_algorithm(ring)->node_transfers(alone.comm, inside, 0, 0, transfers);
  CHECK(transfers.size() == 8);
  CHECK(transfers.back().to == transfers.front().from);
}

}  // namespace
}  // namespace fabricast
