// The memory of NCCL's buffers, counted by hand from its source [NCCL-buffers].
#include "fabricast/planner/buffer_memory.hpp"

#include <catch2/catch.hpp>

#include "support/clusters.hpp"

namespace fabricast {
namespace {

constexpr std::int64_t KiB = 1 << 10, MiB = 1 << 20;
// 512 KiB of LL, 4,800 KiB of LL128, 4 MiB of Simple.
constexpr Bytes of_connection{512 * KiB + 4800 * KiB + 4 * MiB};

NodeSpec node_of(std::string_view profile) { return default_node(shipped_hardware(), {}, profile); }

BufferMemory memory_of(const Planner& planner, std::int64_t rank) {
  return buffer_memory(buffered_connections(planner.comm, rank), buffer_sizes(planner.settings), planner.comm.gdr);
}

TEST_CASE("a connection has a buffer of each protocol", "[buffers]") {
  const BufferSizes sizes = buffer_sizes({});
  CHECK(sizes.all() == of_connection);
  CHECK(buffer_memory({3, 0, 0}, sizes, true).gpu == of_connection * 3);
  CHECK(buffer_memory({3, 0, 0}, sizes, true).host == Bytes{0});
  // Senders over the network keep LL in host memory, and all of it without GPUDirect RDMA.
  const BufferMemory direct = buffer_memory({0, 2, 1}, sizes, true), staged = buffer_memory({0, 2, 1}, sizes, false);
  CHECK(direct.gpu == of_connection * 3 - Bytes{512 * KiB});
  CHECK(direct.host == Bytes{512 * KiB});
  CHECK(staged.gpu == Bytes{0});
  CHECK(staged.host == of_connection * 3);
}

TEST_CASE("a GPU of one node receives from the neighbours of its chain in each channel", "[buffers]") {
  const Planner p = test::planner_of(node_of("hgx-h100"), 1);
  // Rings take data from the GPU before, trees from both sides. The first GPU of a chain has the last one before it. The
  // last one has no other side, so its ring and its tree share their one peer.
  for (const auto& [rank, each] : {std::pair(0, 2), std::pair(3, 2), std::pair(7, 1)}) {
    CAPTURE(rank);
    const BufferedConnections c = buffered_connections(p.comm, rank);
    CHECK(c.received == each * p.comm.channels);
    CHECK(c.network_received + c.network_sent == 0);
    CHECK(memory_of(p, rank).gpu == of_connection * each * p.comm.channels);
  }
}

TEST_CASE("halving NCCL_BUFFSIZE saves half of the Simple buffers and nothing else", "[buffers]") {
  const Planner usual = test::planner_of(node_of("hgx-h100"), 1);
  const Planner half = test::planner_of(node_of("hgx-h100"), 1, {{"NCCL_BUFFSIZE", "2097152"}});
  CHECK(memory_of(usual, 3).gpu - memory_of(half, 3).gpu == Bytes{2 * MiB} * 2 * usual.comm.channels);
  // Four channels, two connections each: 16 MiB.
  const Planner few = test::planner_of(node_of("hgx-h100"), 1, {{"NCCL_MAX_NCHANNELS", "4"}});
  const Planner few_half =
      test::planner_of(node_of("hgx-h100"), 1, {{"NCCL_MAX_NCHANNELS", "4"}, {"NCCL_BUFFSIZE", "2097152"}});
  CHECK(memory_of(few, 3).gpu - memory_of(few_half, 3).gpu == Bytes{16 * MiB});
}

TEST_CASE("over the network a connection has buffers at both ends", "[buffers]") {
  // Two nodes of one GPU: a ring and a tree with the same peer, so one connection each way in every channel.
  NodeSpec one = node_of("hgx-h100");
  one.gpus = 1;
  one.nics.count = 1;
  const Planner p = test::planner_of(one, 2);
  const BufferedConnections c = buffered_connections(p.comm, 0);
  CHECK(c.received == 0);
  CHECK(c.network_received == p.comm.channels);
  CHECK(c.network_sent == p.comm.channels);
  CHECK(memory_of(p, 0).gpu == (of_connection * 2 - Bytes{512 * KiB}) * p.comm.channels);
  CHECK(memory_of(p, 0).host == Bytes{512 * KiB} * p.comm.channels);
}

TEST_CASE("what ranks send they receive", "[buffers]") {
  const Planner p = test::planner_of(node_of("hgx-h100"), 3);
  int sent = 0, received = 0;
  for (std::int64_t r = 0; r < p.comm.ranks(); ++r) {
    const BufferedConnections c = buffered_connections(p.comm, r);
    sent += c.network_sent;
    received += c.network_received;
  }
  CHECK(sent == received);
  // A ring of three nodes has three connections over the network in a channel; its tree has two edges, both ways.
  CHECK(sent >= 3 * p.comm.channels);
  CHECK(sent <= 7 * p.comm.channels);
}

}  // namespace
}  // namespace fabricast
