// Channels, threads, chunks and shares against NCCL's enqueue rules [NCCL-enqueue].
#include <catch2/catch.hpp>
#include <numeric>

#include "support/clusters.hpp"

namespace fabricast {
namespace {

constexpr std::int64_t KiB = 1 << 10, MiB = 1 << 20, GiB = 1 << 30;
constexpr auto all_reduce = CollectiveOp::all_reduce;
constexpr auto ring = Algorithm::ring, tree = Algorithm::tree;
constexpr auto ll = Protocol::ll, ll128 = Protocol::ll128, simple = Protocol::simple;

TEST_CASE("slots, chunks and slices of the protocols", "[planner]") {
  const Planner p = test::planner_of(test::preset_spec("hgx-h100"), 2);
  const Plan large = plan_collective(p, all_reduce, GiB, ring, simple);
  CHECK(large.chunk == 2 * MiB);
  CHECK(large.slices_per_chunk == 2);
  CHECK(large.slots == 4);  // slices of 1 MiB
  CHECK(large.least_slice == 32 * KiB);
  for (const auto op : {CollectiveOp::broadcast, CollectiveOp::reduce}) {
    const Plan chain = plan_collective(p, op, GiB, ring, simple);
    CHECK(chain.chunk == 512 * KiB);
    CHECK(chain.slices_per_chunk == 1);
    CHECK(chain.slots == 8);
  }
  CHECK(plan_collective(p, all_reduce, GiB, ring, ll).chunk == 32 * KiB);
  CHECK(plan_collective(p, all_reduce, GiB, ring, ll128).chunk == 576000);
  CHECK(plan_collective(p, all_reduce, GiB, ring, ll128).slots == 8);
  CHECK(plan_collective(p, all_reduce, GiB, tree, simple).chunk == 512 * KiB);
  CHECK(plan_collective(p, all_reduce, GiB, tree, ll).chunk == 32 * KiB);
}

TEST_CASE("chunks of an LL128 tree shrink with the buffer", "[planner]") {
  // Eight nodes of eight GPUs: depth 1 + 3 + .8; a channel's share below 38.4 chunks halves them down to 128 KiB, below
  // 9.6 chunks down to 32 KiB.
  const Planner p = test::planner_of(test::preset_spec("hgx-h100"), 8);
  const auto chunk = [&](std::int64_t share) { return plan_collective(p, all_reduce, 16 * share, tree, ll128).chunk; };
  CHECK(chunk(32 * MiB) == 576000);
  CHECK(chunk(16 * MiB) == 288000);
  CHECK(chunk(8 * MiB) == 144000);
  CHECK(chunk(4 * MiB) == 72000);  // 29.1 chunks of 144000 are less than 38.4: halved once more, past 131072
  CHECK(chunk(512 * KiB) == 36000);
  CHECK(chunk(256 * KiB) == 18000);
}

TEST_CASE("threads and channels without enough work are not used", "[planner]") {
  const Planner p = test::planner_of(test::preset_spec("hgx-h100"), 2);
  const auto plan = [&](std::int64_t bytes, Algorithm a, Protocol protocol) {
    return plan_collective(p, all_reduce, bytes, a, protocol);
  };
  // Ring Simple takes all 16 channels from 16 * 512 threads * 64 B on.
  CHECK(plan(512 * KiB, ring, simple).channels == 16);
  CHECK(plan(512 * KiB - 1, ring, simple).channels == 11);  // of 15: 32 cells of 16 KiB by threes
  CHECK(plan(512 * KiB, ring, simple).threads == 544);
  CHECK(plan(64 * KiB, ring, simple).channels == 2);
  CHECK(plan(16 * KiB, ring, simple).channels == 1);
  CHECK(plan(16 * KiB, ring, simple).threads == 256 + 32);
  CHECK(plan(1024, ring, simple).threads == 64 + 32);
  // Ring LL: 8 B per rank and thread.
  CHECK(plan(2 * MiB, ring, ll).channels == 16);
  CHECK(plan(512 * 8 * 16, ring, ll).channels == 1);
  CHECK(plan(512 * 8 * 16, ring, ll).threads == 512);
  CHECK(plan(GiB, tree, simple).threads == 640);
  CHECK(plan(8, tree, ll).threads == 640);
  CHECK(plan(GiB, ring, ll128).threads == 640);
  // With 8 ranks of 5 GB/s each a ring of few channels takes 256 threads.
  const Planner slow = test::planner_of(test::with_nics(test::with_gpus(test::node_spec("a100-sxm"), 1), 1, 100), 2);
  CHECK(plan_collective(slow, all_reduce, GiB, ring, simple).threads == 256 + 32);
}

TEST_CASE("a channel gets at least 32 KiB of traffic", "[planner]") {
  const Planner p = test::planner_of(test::preset_spec("hgx-h100"), 2);
  const Plan few = plan_collective(p, all_reduce, 64 * KiB, tree, ll128);
  CHECK(few.shares == std::vector<std::int64_t>(4, 16 * KiB));
  const Plan many = plan_collective(p, all_reduce, 64 * KiB, tree, ll);
  CHECK(many.shares == std::vector<std::int64_t>(16, 4 * KiB));
  // NCCL before 2.22 cut equal parts of 16 B whatever the size.
  const Planner old = test::planner_of(test::preset_spec("hgx-h100"), 2, {}, {2, 21, 5});
  CHECK(plan_collective(old, all_reduce, 64 * KiB, tree, ll128).channels == 12);  // 64 KiB / (640 * 8 B)
}

TEST_CASE("shares cover the buffer once, without gap", "[planner]") {
  for (const NcclVersion version : {NcclVersion{2, 30, 7}, NcclVersion{2, 18, 0}})
    for (const std::uint32_t nodes : {1U, 2U, 3U}) {
      const Planner p = test::planner_of(test::preset_spec("hgx-h100"), nodes, {}, version);
      for (const auto op : {all_reduce, CollectiveOp::all_gather, CollectiveOp::broadcast})
        for (const auto protocol : {ll, ll128, simple})
          for (const std::int64_t bytes : {8L, 1000L, 65537L, 1000003L, 123456789L}) {
            const Plan plan = plan_collective(p, op, bytes, ring, protocol);
            INFO(name_of(op) << " " << bytes << " B, " << nodes << " nodes");
            REQUIRE(plan.shares.size() == static_cast<std::size_t>(plan.channels));
            const std::int64_t payload = op == CollectiveOp::all_gather ? bytes / (8 * nodes) : bytes;
            std::int64_t at = 0;
            for (std::size_t c = 0; c < plan.shares.size(); ++c) {
              CHECK(plan.offsets[c] == at);
              CHECK((plan.shares[c] > 0 || payload == 0));
              at += plan.shares[c];
            }
            CHECK(at == payload);
            CHECK(plan.channels <= p.comm.channels);
          }
    }
}

TEST_CASE("NCCL's variables change the plan", "[planner]") {
  const NodeSpec spec = test::preset_spec("hgx-h100");
  const auto plan = [&](const test::Variables& variables, std::int64_t bytes) {
    return plan_collective(test::planner_of(spec, 2, variables), all_reduce, bytes);
  };
  CHECK(plan({{"NCCL_ALGO", "Ring"}}, 1024).algorithm == ring);
  CHECK(plan({{"NCCL_ALGO", "tree"}, {"NCCL_PROTO", "simple"}}, GiB).algorithm == tree);
  CHECK(plan({{"NCCL_PROTO", "^LL,LL128"}}, 8).protocol == simple);
  CHECK(plan({{"NCCL_ALGO", "ring;allreduce:tree"}}, GiB).algorithm == tree);
  CHECK(plan({{"NCCL_ALGO", "Ring"}, {"NCCL_MAX_NCHANNELS", "3"}}, GiB).channels == 3);
  CHECK(plan({{"NCCL_ALGO", "Ring"}, {"NCCL_MIN_NCHANNELS", "32"}}, GiB).channels == 32);

  const test::Variables ring_simple = {{"NCCL_ALGO", "Ring"}, {"NCCL_PROTO", "Simple"}};
  test::Variables buffer = ring_simple, threads = ring_simple;
  buffer["NCCL_BUFFSIZE"] = "1048576";
  CHECK(plan(buffer, GiB).chunk == 512 * KiB);
  CHECK(plan(buffer, GiB).least_slice == 8 * KiB);
  threads["NCCL_NTHREADS"] = "128";
  CHECK(plan(threads, GiB).threads == 128 + 32);
  CHECK(plan(ring_simple, 256 * KiB).channels == 8);  // 256 KiB / (512 * 64 B)
  CHECK(plan(threads, 256 * KiB).channels == 16);
}

TEST_CASE("the path to the NIC goes through a peer if NVLink allows it", "[planner]") {
  const auto to_nic = [](const NodeSpec& spec, const test::Variables& variables = {}) {
    return test::planner_of(spec, 2, variables).comm.to_nic;
  };
  const NodeSpec eight = test::preset_spec("hgx-h100"), two = test::with_nics(eight, 2, 400);
  CHECK(to_nic(eight) <= PathType::PXB);
  CHECK(to_nic(two) == PathType::PXN);
  // One NIC for each socket, one for both.
  const test::Variables alone = {{"NCCL_PXN_DISABLE", "1"}};
  CHECK(to_nic(two, alone) == PathType::PHB);
  CHECK(to_nic(test::with_nics(eight, 1, 400), alone) == PathType::SYS);
  NodeSpec far = eight;
  far.nics.numa = NicNuma::remote;
  CHECK(to_nic(far) == PathType::SYS);
}

TEST_CASE("GPUDirect RDMA by NCCL's distance rule", "[planner]") {
  const auto gdr = [](const NodeSpec& spec, const test::Variables& variables = {}) {
    return test::planner_of(spec, 2, variables).comm.gdr;
  };
  const NodeSpec near = test::preset_spec("hgx-h100");
  CHECK(gdr(near));
  CHECK_FALSE(gdr(near, {{"NCCL_NET_GDR_LEVEL", "LOC"}}));
  NodeSpec far = near;
  far.nics.numa = NicNuma::remote;
  CHECK_FALSE(gdr(far));
  CHECK(gdr(far, {{"NCCL_NET_GDR_LEVEL", "SYS"}}));
  CHECK_FALSE(gdr(far, {{"NCCL_NET_GDR_LEVEL", "3"}}));  // PHB
  CHECK(gdr(far, {{"NCCL_NET_GDR_LEVEL", "4"}}));        // SYS
  NodeSpec given = far;
  given.gdr = Gdr::on;
  CHECK(gdr(given));
  given = near, given.gdr = Gdr::off;
  CHECK_FALSE(gdr(given));
  NodeSpec socket = near;
  socket.nics.link = LinkKind::socket;
  CHECK_FALSE(gdr(socket));
}

TEST_CASE("jobs that NCCL cannot run are refused", "[planner]") {
  NodeSpec one = test::with_gpus(test::preset_spec("hgx-h100"), 1);
  CHECK_THROWS_WITH(test::planner_of(one, 1), Catch::Contains("a single GPU cannot communicate"));
  CHECK_THROWS_WITH(test::planner_of(test::with_nics(test::preset_spec("hgx-h100"), 0, 400), 2),
                    Catch::Contains("no NIC"));
  CHECK_NOTHROW(test::planner_of(test::with_nics(test::preset_spec("hgx-h100"), 0, 400), 1));
}

}  // namespace
}  // namespace fabricast
