// Sends and receives: rounds, channels, parts, and what each rank sends [NCCL-p2p].
#include "fabricast/collective/peers.hpp"

#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "fabricast/collective/algorithm.hpp"
#include "fabricast/protocol/costs.hpp"
#include "support/reducing.hpp"

namespace fabricast {
namespace {

constexpr std::int64_t KiB = 1 << 10, MiB = 1 << 20;
constexpr auto alltoall = CollectiveOp::alltoall, sendrecv = CollectiveOp::sendrecv;
using test::node_of;

Plan plan_of(const Planner& planner, CollectiveOp op, std::int64_t bytes) {
  return plan_collective(planner, op, bytes);
}

TEST_CASE("every pair of ranks meets once in each direction", "[collective]") {
  for (const int gpus : {1, 2, 3, 4, 5, 6, 7, 8, 12})
    for (const std::uint32_t nodes : {1U, 2U, 3U, 5U, 8U, 13U}) {
      if (gpus == 1 && nodes == 1) continue;
      const Planner planner = test::planner_of(node_of(gpus, gpus), nodes);
      const PeerSchedule schedule(planner.comm, 16);
      const std::int64_t n = planner.comm.ranks();
      INFO(nodes << " nodes of " << gpus);
      REQUIRE(schedule.rounds().size() == static_cast<std::size_t>(n));
      std::set<std::pair<std::int64_t, std::int64_t>> sent, received;
      for (const PeerRound& round : schedule.rounds())
        for (std::int64_t r = 0; r < n; ++r) {
          const std::int64_t to = schedule.sends_to(round, r), from = schedule.receives_from(round, r);
          REQUIRE((to >= 0 && to < n && from >= 0 && from < n));
          sent.insert({r, to}), received.insert({from, r});
          // Both ends of a message meet in the same round.
          CHECK(schedule.receives_from(round, to) == r);
        }
      CHECK(sent.size() == static_cast<std::size_t>(n * n));
      CHECK(sent == received);
    }
}

TEST_CASE("groups of ranks are met at triangular distances", "[collective]") {
  const auto distances = [](std::uint32_t nodes, int gpus) {
    const Planner planner = test::planner_of(node_of(gpus, gpus), nodes);
    const PeerSchedule schedule(planner.comm, 16);
    std::vector<std::int64_t> list;
    for (const PeerRound& round : schedule.rounds())
      if (list.empty() || list.back() != round.group) list.push_back(round.group);
    return list;
  };
  CHECK(distances(2, 8) == std::vector<std::int64_t>{0, 1});
  CHECK(distances(8, 8) == std::vector<std::int64_t>{0, 1, 3, 6, 2, 7, 5, 4});
  CHECK(distances(5, 8) == std::vector<std::int64_t>{0, 1, 3, 2, 4});  // of eight those below five
  // Six GPUs are three groups of gcd(6, 8).
  CHECK(distances(1, 6) == std::vector<std::int64_t>{0});
  CHECK(distances(2, 6) == std::vector<std::int64_t>{0, 1, 3, 2, 5, 4});
}

TEST_CASE("rounds start on channels far apart, and parts are on channels of their own", "[collective]") {
  const Planner node = test::planner_of(test::preset_spec("hgx-h100"), 1);
  const PeerSchedule inside(node.comm, 32);
  std::vector<std::uint32_t> bases;
  for (const PeerRound& round : inside.rounds()) bases.push_back(round.base);
  CHECK(bases == std::vector<std::uint32_t>{0, 16, 8, 24, 4, 20, 12, 28});
  // Over several nodes the eight ranks of a group share a base.
  const Planner nodes = test::planner_of(test::preset_spec("hgx-h100"), 4);
  const PeerSchedule across(nodes.comm, 16);
  std::map<std::int64_t, std::set<std::uint32_t>> by_group;
  for (const PeerRound& round : across.rounds()) by_group[round.group].insert(round.base);
  CHECK(by_group == std::map<std::int64_t, std::set<std::uint32_t>>{{0, {0}}, {1, {8}}, {2, {4}}, {3, {12}}});
  for (const PeerRound& round : inside.rounds()) {
    std::set<int> channels;
    for (int part = 0; part < 32; ++part) channels.insert(inside.channel(round, part));
    CHECK(channels.size() == 32);
  }
}

TEST_CASE("channels of a pair grow with its bytes, within what the link can use", "[collective]") {
  const Planner node = test::planner_of(test::preset_spec("hgx-h100"), 1);
  CHECK(plan_of(node, sendrecv, 32 * MiB).parts == 4);
  CHECK(plan_of(node, sendrecv, 64 * MiB).parts == 4);
  CHECK(plan_of(node, sendrecv, 128 * MiB).parts == 8);
  CHECK(plan_of(node, sendrecv, 256 * MiB).parts == 16);
  // A NIC of 50 GB/s takes four channels of 14 GB/s, and one of 25 GB/s two; while eight peers share a channel.
  CHECK(plan_of(test::planner_of(test::preset_spec("hgx-h100"), 2), alltoall, 256 * MiB).parts == 4);
  CHECK(plan_of(test::planner_of(test::preset_spec("hgx-h100"), 10), alltoall, 10240 * MiB).parts == 1);
  const NodeSpec slower = test::with_nics(test::preset_spec("hgx-h100"), 8, 200);
  CHECK(plan_of(test::planner_of(slower, 2), alltoall, 256 * MiB).parts == 2);
}

TEST_CASE("only channels that carry data of a rank are open, and are launched", "[collective]") {
  const auto open = [](std::uint32_t nodes, CollectiveOp op, std::int64_t bytes) {
    const Planner planner = test::planner_of(test::preset_spec("hgx-h100"), nodes);
    const Plan plan = plan_of(planner, op, bytes);
    CHECK(channel_launch(planner.comm, plan) == planner.comm.node.software.channel_launch.us() * plan.open_channels());
    return plan.open_channels();
  };
  // On one node a rank sends and receives in the same round, with concurrent parts on 4 to 32 of 32 channels.
  CHECK(open(1, sendrecv, 32 * MiB) == 4);
  CHECK(open(1, sendrecv, 128 * MiB) == 8);
  CHECK(open(1, sendrecv, 512 * MiB) == 32);
  // The last GPU of a node sends to the next group of ranks and receives in its own: rounds 1 and 0, which start at
  // channels 8 and 0 of 16. One part each, or four.
  CHECK(open(2, sendrecv, 64 * KiB) == 2);
  CHECK(open(2, sendrecv, 256 * MiB) == 8);
  // Rounds of all peers: of two groups, or of sixteen.
  CHECK(open(2, alltoall, 16 * 64 * KiB) == 2);
  CHECK(open(2, CollectiveOp::scatter, 16 * 64 * KiB) == 2);
  CHECK(open(2, CollectiveOp::gather, 16 * 64 * KiB) == 2);
  CHECK(open(16, alltoall, 128 * 64 * KiB) == 16);
}

TEST_CASE("parts and chunks keep their limits", "[collective]") {
  for (const std::uint32_t nodes : {1U, 2U, 3U, 16U}) {
    const Planner planner = test::planner_of(test::preset_spec("hgx-h100"), nodes);
    const std::int64_t n = planner.comm.ranks(), full = nodes == 1 ? 512 * KiB : 128 * KiB;
    int parts = 0;
    for (std::int64_t pair = 1; pair <= 512 * MiB; pair = pair * 5 / 3 + 1) {
      const Plan plan = plan_of(planner, alltoall, pair * n);
      INFO(nodes << " nodes, " << pair << " B a pair in " << plan.parts << " parts of " << plan.part);
      CHECK(plan.pair == pair);
      CHECK(plan.part * plan.parts >= pair);
      CHECK(plan.part * (plan.parts - 1) < pair);
      CHECK(plan.part >= (nodes == 1 ? full / 8 : full / 2));
      CHECK(plan.part % (4 * KiB) == 0);
      CHECK(plan.parts >= parts);
      parts = plan.parts;
      if (plan.protocol == Protocol::simple)
        CHECK(plan.chunk == (nodes == 1 ? full : pair < full ? full / 4 : pair < 8 * full ? full / 2 : full));
      // LL up to 16 KiB of each part, and over NVLink only.
      CHECK((plan.protocol == Protocol::ll) == (nodes == 1 && pair <= plan.parts * 16 * KiB));
      std::int64_t shared = 0;
      for (const std::int64_t share : plan.shares) shared += share;
      CHECK(shared == n * pair);
    }
  }
}

/// Bytes that each rank sends to others.
std::map<std::int64_t, std::int64_t> bytes_sent(const Planner& planner, const Plan& plan) {
  std::map<std::int64_t, std::int64_t> sent;
  for (int c = 0; c < plan.channels; ++c) {
    const auto program = find_by_algorithm(Algorithm::p2p)->program(planner.comm, plan, c);
    for (std::int32_t w = 0; w < program->workers(); ++w)
      for (std::int64_t i = 0; i < program->steps(w); ++i) {
        const Step step = program->step(w, i);
        if (!step.to.empty()) sent[program->rank_of(w).value] += step.bytes();
      }
  }
  return sent;
}

TEST_CASE("ranks send what the operation requires, and no more", "[collective]") {
  for (const std::uint32_t nodes : {1U, 3U}) {
    const Planner planner = test::planner_of(node_of(4, 4), nodes);
    const std::int64_t n = planner.comm.ranks(), pair = 3 * MiB + 17;
    const auto sent = [&](CollectiveOp op, std::int64_t bytes) {
      return bytes_sent(planner, plan_of(planner, op, bytes));
    };
    std::map<std::int64_t, std::int64_t> all, one, others;
    for (std::int64_t r = 0; r < n; ++r) {
      all[r] = (n - 1) * pair, one[r] = pair;
      if (r > 0) others[r] = pair;
    }
    CHECK(sent(alltoall, n * pair) == all);
    CHECK(sent(sendrecv, pair) == one);
    CHECK(sent(CollectiveOp::gather, n * pair) == others);
    CHECK(sent(CollectiveOp::scatter, n * pair) == std::map<std::int64_t, std::int64_t>{{0, (n - 1) * pair}});
  }
}

TEST_CASE("with PXN sends use the NIC on the receiver's rail, without it their own", "[collective]") {
  const Planner with = test::planner_of(test::preset_spec("hgx-h100"), 2);
  const Planner without = test::planner_of(test::preset_spec("hgx-h100"), 2, {{"NCCL_P2P_PXN_LEVEL", "0"}});
  const std::vector<int>& nics = with.comm.nic_of_gpu;
  for (int a = 0; a < 8; ++a)
    for (int b = 0; b < 8; ++b) {
      CHECK(sending_nic(with.comm, a, b) == nics[static_cast<std::size_t>(b)]);
      CHECK(sending_nic(without.comm, a, b) == nics[static_cast<std::size_t>(a)]);
    }
  // All eight GPUs of a node reach a rank of another over one connection per channel, whose weight is eight.
  const Plan plan = plan_of(with, alltoall, 64 * MiB);
  REQUIRE(plan.parts == 4);
  const std::vector<NetworkEdge> edges = list_edges(*find_by_algorithm(Algorithm::p2p), with.comm, plan, 0);
  CHECK(edges.size() == 2 * 8 * 4);
  for (const NetworkEdge& e : edges) CHECK((e.from_nic == e.to_nic && e.weight == 8));
}

TEST_CASE("sends have a queue pair for each pair of NICs and channel [NCCL-net]", "[collective]") {
  const CollectiveAlgorithm& p2p = *find_by_algorithm(Algorithm::p2p);
  for (const std::int64_t pair : {64 * KiB, 96 * KiB, 300 * KiB, 512 * KiB, 4 * MiB})
    for (const std::uint32_t nodes : {2U, 3U, 5U}) {
      const Planner planner = test::planner_of(test::preset_spec("hgx-h100"), nodes);
      const Plan plan = plan_of(planner, alltoall, pair * planner.comm.ranks());
      CAPTURE(pair, nodes, plan.parts);
      // They differ in NICs or channel, and the channels are those of the parts of the rounds.
      std::map<std::tuple<std::uint32_t, std::uint32_t, int, int, int>, double> bytes;
      for (const NetworkEdge& e : list_edges(p2p, planner.comm, plan, 0))
        bytes[{e.from, e.to, e.from_nic, e.to_nic, e.channel}] +=
            static_cast<double>(e.weight * plan.pair) / p2p.message_weight(plan);
      std::map<std::tuple<std::uint32_t, std::uint32_t, int, int, int>, double> sent;
      const PeerSchedule schedule(planner.comm, plan.channels);
      for (const PeerRound& round : schedule.rounds())
        for (std::int64_t r = 0; r < planner.comm.ranks(); ++r) {
          const std::int64_t to = schedule.sends_to(round, r);
          const int a = static_cast<int>(r % 8), b = static_cast<int>(to % 8);
          for (int p = 0; p < plan.parts && r / 8 != to / 8; ++p)
            sent[{static_cast<std::uint32_t>(r / 8), static_cast<std::uint32_t>(to / 8),
                  sending_nic(planner.comm, a, b), sending_nic(planner.comm, b, b), schedule.channel(round, p)}] +=
                static_cast<double>(plan.part_bytes(p));
        }
      REQUIRE(bytes.size() == sent.size());
      for (const auto& [queue_pair, all] : sent) CHECK(bytes.at(queue_pair) == Approx(all).epsilon(0.02));
    }
}

TEST_CASE("channels of a pair over the network by NCCL's version [NCCL-p2p]", "[collective]") {
  const auto parts = [](NcclVersion version, std::uint32_t nodes) {
    const Planner planner = test::planner_of(test::preset_spec("hgx-h100"), nodes, {}, version);
    return plan_of(planner, alltoall, planner.comm.ranks() * 16 * MiB).parts;
  };
  CHECK(parts({2, 11, 4}, 2) == 1);
  CHECK(parts({2, 12, 7}, 2) == 2);
  CHECK(parts({2, 19, 4}, 64) == 2);  // at any scale
  // 16 channels: two for each peer while that is no more than eight a channel.
  CHECK(parts({2, 20, 3}, 4) == 2);
  CHECK(parts({2, 20, 3}, 5) == 1);
  CHECK(parts({2, 28, 9}, 4) == 2);
  CHECK(parts({2, 28, 9}, 8) == 1);
  // By the NIC's 50 GB/s, while eight peers fit into a batch.
  CHECK(parts({2, 29, 2}, 2) == 4);
  CHECK(parts({2, 29, 2}, 4) == 4);
  CHECK(parts({2, 29, 2}, 8) == 2);
  CHECK(parts({2, 29, 2}, 16) == 1);
}

TEST_CASE("a message is unaligned if its place in the buffer is no multiple of 16 B [NCCL-device]", "[collective]") {
  Plan plan;
  plan.op = alltoall;
  const auto slow = [&](std::int64_t pair) {
    plan.pair = pair;
    int count = 0;
    for (std::int64_t peer = 0; peer < 16; ++peer) count += !is_aligned_send(plan, peer);
    return count;
  };
  CHECK(slow(64) == 0);
  CHECK(slow(8) == 8);
  CHECK(slow(4) == 12);
  CHECK(slow(1001) == 15);
  plan.pair = 1001, plan.op = sendrecv;  // a separate buffer
  CHECK(is_aligned_send(plan, 3));
  CHECK(is_aligned_receive(plan, 3));
  plan.op = CollectiveOp::scatter;
  CHECK_FALSE(is_aligned_send(plan, 3));
  CHECK(is_aligned_receive(plan, 0));
  plan.op = CollectiveOp::gather;
  CHECK(is_aligned_send(plan, 0));
  CHECK_FALSE(is_aligned_receive(plan, 3));
}

}  // namespace
}  // namespace fabricast
