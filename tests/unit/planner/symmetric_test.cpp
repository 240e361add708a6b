// Kernels on symmetric memory against NCCL's estimator, evaluated apart from this code [NCCL-symmetric]; what registered
// buffers change in a plan [NCCL-registration].
#include "fabricast/planner/symmetric.hpp"

#include <catch2/catch.hpp>

#include "support/clusters.hpp"

namespace fabricast {
namespace {

using Kernel = SymmetricKernel;
constexpr std::int64_t KiB = 1 << 10, MiB = 1 << 20, GiB = 1 << 30;
constexpr auto all_reduce = CollectiveOp::all_reduce, all_gather = CollectiveOp::all_gather;
constexpr auto reduce_scatter = CollectiveOp::reduce_scatter;

struct Estimate {
  double us;
  int blocks;
};
void check(Kernel kernel, int capability, std::int64_t ranks, const std::array<Estimate, 3>& expected) {
  constexpr std::array<std::int64_t, 3> sizes = {1 * KiB, 64 * KiB, 4 * MiB};  // of a rank's contribution
  for (std::size_t i = 0; i < 3; ++i) {
    CAPTURE(name_of(kernel), capability, ranks, sizes[i]);
    const SymmetricRun run = estimate_symmetric(kernel, capability, ranks, sizes[i]);
    CHECK(run.estimate_us == Approx(expected[i].us).margin(6e-5));
    CHECK(run.blocks == expected[i].blocks);
  }
}

Planner with_buffers(Buffers buffers, Planner planner) {
  planner.buffers = buffers;
  return planner;
}
Planner symmetric(const NodeSpec& spec, std::uint32_t nodes = 1, const test::Variables& variables = {},
                  NcclVersion version = {2, 30, 7}) {
  return with_buffers(Buffers::symmetric, test::planner_of(spec, nodes, variables, version));
}
Kernel kernel_of(const Planner& p, CollectiveOp op, std::int64_t bytes) {
  const Plan plan = plan_collective(p, op, bytes);
  REQUIRE(plan.algorithm == Algorithm::symmetric);
  return plan.kernels.front().kernel;
}

TEST_CASE("NCCL's estimate of eight GPUs of the Hopper generation", "[planner]") {
  check(Kernel::all_reduce_ll, 90, 8, {{{4.9895, 2}, {17.5680, 7}, {903.8498, 7}}});
  check(Kernel::all_reduce_llmc, 90, 8, {{{4.9714, 2}, {17.4022, 7}, {893.2398, 7}}});
  check(Kernel::all_reduce_ld_st, 90, 8, {{{8.1203, 1}, {8.4167, 2}, {28.6835, 7}}});
  check(Kernel::all_reduce_ldmc_stmc, 90, 8, {{{8.1139, 1}, {8.1564, 1}, {15.9558, 2}}});
  check(Kernel::all_gather_ll, 90, 8, {{{4.9826, 3}, {17.5488, 9}, {902.6217, 9}}});
  check(Kernel::all_gather_llmc, 90, 8, {{{4.9649, 3}, {17.6140, 8}, {890.9154, 9}}});
  check(Kernel::all_gather_st, 90, 8, {{{8.1564, 1}, {8.7798, 7}, {94.2146, 9}}});
  check(Kernel::all_gather_stmc, 90, 8, {{{8.1228, 1}, {8.6965, 2}, {94.6204, 2}}});
  check(Kernel::reduce_scatter_ll, 90, 8, {{{4.9826, 3}, {17.5488, 9}, {902.6217, 9}}});
  check(Kernel::reduce_scatter_ld, 90, 8, {{{8.1564, 1}, {8.7798, 7}, {94.2146, 9}}});
  check(Kernel::reduce_scatter_ldmc, 90, 8, {{{8.1228, 1}, {8.6965, 2}, {94.6204, 2}}});
}

TEST_CASE("NCCL's estimate of the Blackwell generation, and of other numbers of GPUs", "[planner]") {
  check(Kernel::all_reduce_ll, 100, 8, {{{11.5228, 2}, {17.5254, 12}, {483.8105, 13}}});
  check(Kernel::all_reduce_ldmc_stmc, 100, 8, {{{19.8139, 1}, {19.8577, 1}, {22.9282, 3}}});
  check(Kernel::all_gather_llmc, 100, 8, {{{9.0001, 2}, {15.0083, 11}, {487.9378, 11}}});
  check(Kernel::all_gather_st, 100, 8, {{{13.3474, 1}, {13.8522, 6}, {58.8158, 12}}});
  check(Kernel::reduce_scatter_ldmc, 100, 8, {{{13.3208, 1}, {13.6417, 2}, {57.9791, 3}}});
  check(Kernel::all_reduce_ld_st, 100, 72, {{{19.8226, 1}, {20.2414, 2}, {31.6902, 12}}});
  check(Kernel::all_gather_stmc, 100, 72, {{{13.3449, 1}, {19.2245, 1}, {474.2396, 1}}});
  check(Kernel::all_reduce_ld_st, 90, 2, {{{8.1173, 1}, {8.2667, 2}, {19.3049, 7}}});
}

TEST_CASE("large buffers move at the peak rate, small ones take the base", "[planner]") {
  // 7 * 512 MiB at 320 GiB/s; softplus is x - 1 there.
  const SymmetricRun large = estimate_symmetric(Kernel::all_gather_st, 90, 8, 512 * MiB, 64);
  CHECK(large.estimate_us == Approx(7.8 - 1 + 3.5 / 320 * 1e6).epsilon(1e-6));
  CHECK(large.blocks == 64);
  // ln(1 + 1/e) is what is left of softplus.
  CHECK(large.least_us == Approx(7.8 + 0.313262).epsilon(1e-6));
  // A block of all_reduce carries 65 GiB/s, a little less by softmin.
  const SymmetricRun block = estimate_symmetric(Kernel::all_reduce_ld_st, 90, 8, GiB, 1);
  CHECK(block.estimate_us == Approx(7.8 - 1 + 1.75 / 65 * 1e6).epsilon(0.02));
}

TEST_CASE("flags for small buffers, the NVSwitch for large ones", "[planner]") {
  const Planner p = symmetric(test::preset_spec("hgx-h100"));
  CHECK(kernel_of(p, all_reduce, KiB) == Kernel::all_reduce_llmc);
  CHECK(kernel_of(p, all_reduce, 16 * KiB) == Kernel::all_reduce_llmc);
  CHECK(kernel_of(p, all_reduce, 64 * KiB) == Kernel::all_reduce_ldmc_stmc);
  CHECK(kernel_of(p, all_reduce, 4 * GiB) == Kernel::all_reduce_ldmc_stmc);
  CHECK(kernel_of(p, all_gather, 64 * KiB) == Kernel::all_gather_llmc);
  CHECK(kernel_of(p, all_gather, 256 * KiB) == Kernel::all_gather_stmc);
  CHECK(kernel_of(p, reduce_scatter, 64 * KiB) == Kernel::reduce_scatter_ll);
  CHECK(kernel_of(p, reduce_scatter, 256 * KiB) == Kernel::reduce_scatter_ldmc);

  const Plan plan = plan_collective(p, all_reduce, 4 * MiB);
  CHECK(plan.channels == 2);  // 16 blocks over 8 GPUs
  CHECK(plan.protocol == Protocol::simple);
  CHECK(plan.kernels.size() == 4);
  CHECK(plan_collective(p, all_reduce, KiB).protocol == Protocol::ll);
  // What would run without windows stays beside it.
  CHECK(plan.candidates.front().algorithm == Algorithm::nvls);
}

TEST_CASE("without multicast, kernels write to each peer", "[planner]") {
  for (const Planner& p :
       {symmetric(test::preset_spec("hgx-h100"), 1, {{"NCCL_NVLS_ENABLE", "0"}}),
        symmetric(test::preset_spec("dgx-a100")), symmetric(test::with_gpus(test::preset_spec("hgx-h100"), 2))}) {
    CHECK(kernel_of(p, all_reduce, KiB) == Kernel::all_reduce_ll);
    CHECK(kernel_of(p, all_reduce, 64 * MiB) == Kernel::all_reduce_ld_st);
    CHECK(kernel_of(p, all_gather, 64 * MiB) == Kernel::all_gather_st);
    CHECK(kernel_of(p, reduce_scatter, 64 * MiB) == Kernel::reduce_scatter_ld);
  }
}

TEST_CASE("variables choose the kernel and its blocks", "[planner]") {
  const NodeSpec h100 = test::preset_spec("hgx-h100");
  const Planner one = symmetric(h100, 1, {{"NCCL_SYM_KERNEL", "AllReduce_RSxLD_AGxST"}});
  CHECK(kernel_of(one, all_reduce, KiB) == Kernel::all_reduce_ld_st);
  CHECK(without_symmetric(one, all_gather, KiB) == "NCCL_SYM_KERNEL leaves none for all_gather");
  CHECK(plan_collective(one, all_gather, KiB).algorithm == Algorithm::ring);
  CHECK(kernel_of(symmetric(h100, 1, {{"NCCL_SYM_KERNEL", "^"}}), all_reduce, KiB) == Kernel::all_reduce_llmc);
  CHECK(plan_collective(symmetric(h100, 1, {{"NCCL_SYM_CTAS", "16"}}), all_reduce, 4 * MiB).channels == 16);
  // LL kernels count in 32 bits.
  const Planner ll = symmetric(h100, 1, {{"NCCL_SYM_KERNEL", "AllReduce_AGxLL_R"}});
  CHECK(kernel_of(ll, all_reduce, 2 * GiB - 1) == Kernel::all_reduce_ll);
  CHECK(plan_collective(ll, all_reduce, 2 * GiB).algorithm == Algorithm::nvls);
}

TEST_CASE("calls without a kernel run the ordinary algorithms", "[planner]") {
  const NodeSpec h100 = test::preset_spec("hgx-h100");
  const auto why = [&](const Planner& p, CollectiveOp op, std::int64_t bytes = MiB) {
    const std::string text = without_symmetric(p, op, bytes);
    CHECK((plan_collective(p, op, bytes).algorithm == Algorithm::symmetric) == text.empty());
    return text;
  };
  CHECK(why(symmetric(h100, 1, {}, {2, 26, 5}), all_reduce) == "NCCL 2.26.5 has none; they need 2.27 or later");
  CHECK(why(symmetric(h100, 1, {}, {2, 27, 0}), all_reduce).empty());
  CHECK(why(symmetric(h100), CollectiveOp::broadcast) == "there is none for broadcast");
  CHECK(why(symmetric(h100), CollectiveOp::alltoall) == "there is none for alltoall");
  CHECK(why(symmetric(h100, 1, {{"NCCL_WIN_ENABLE", "0"}}), all_reduce) == "NCCL_WIN_ENABLE is 0");
  CHECK(why(symmetric(h100, 2), all_reduce).starts_with("the ranks are in several NVLink domains"));
  CHECK(why(symmetric(test::node_spec("a100-pcie")), all_reduce) == "NVLink does not connect all GPUs");
  CHECK(why(symmetric(h100), all_reduce, 64 * GiB) == "they do not support buffers of 64 GiB or more");
  CHECK(why(symmetric(h100), all_reduce, 64 * GiB - 1).empty());
}

TEST_CASE("registered buffers: algorithms that use them, and their chunks", "[planner]") {
  const NodeSpec h100 = test::preset_spec("hgx-h100");
  const auto simple = Protocol::simple;
  const auto nvls = [&](Buffers buffers, CollectiveOp op, const test::Variables& variables = {},
                        NcclVersion version = {2, 30, 7}) {
    return plan_collective(with_buffers(buffers, test::planner_of(h100, 1, variables, version)), op, GiB,
                           Algorithm::nvls, simple);
  };
  CHECK(nvls(Buffers::registered, all_reduce).registered);
  CHECK(nvls(Buffers::symmetric, all_reduce).registered);
  CHECK_FALSE(nvls(Buffers::plain, all_reduce).registered);
  CHECK_FALSE(nvls(Buffers::registered, all_reduce, {{"NCCL_LOCAL_REGISTER", "0"}}).registered);
  CHECK_FALSE(nvls(Buffers::registered, all_reduce, {}, {2, 18, 5}).registered);
  CHECK(nvls(Buffers::registered, all_reduce, {}, {2, 19, 3}).registered);
  CHECK(nvls(Buffers::registered, all_reduce).chunk == 128 * KiB);
  CHECK(nvls(Buffers::plain, all_gather).chunk == 128 * KiB);
  CHECK(nvls(Buffers::registered, all_gather).chunk == 512 * KiB);
  CHECK(nvls(Buffers::registered, reduce_scatter).chunk == 512 * KiB);

  const Planner p = with_buffers(Buffers::registered, test::planner_of(h100, 2));
  CHECK(plan_collective(p, all_reduce, GiB, Algorithm::nvlstree, simple).registered);
  CHECK_FALSE(plan_collective(p, all_reduce, GiB, Algorithm::ring, simple).registered);
}

TEST_CASE("registered buffers: sends and receives", "[planner]") {
  const NodeSpec h100 = test::preset_spec("hgx-h100");
  const auto plan = [&](std::uint32_t nodes, std::int64_t bytes, const test::Variables& variables = {}) {
    return plan_collective(with_buffers(Buffers::registered, test::planner_of(h100, nodes, variables)),
                           CollectiveOp::alltoall, bytes);
  };
  CHECK(plan(1, GiB).registered);
  CHECK_FALSE(plan(1, KiB).registered);  // by LL
  // By the NIC near another GPU there is no way around that GPU's buffers.
  CHECK_FALSE(plan(2, GiB).registered);
  CHECK(plan(2, GiB).chunk == 128 * KiB);
  const Plan direct = plan(2, GiB, {{"NCCL_PXN_DISABLE", "1"}});
  CHECK(direct.registered);
  CHECK(direct.chunk == direct.part);  // one message
  CHECK(plan(2, std::int64_t{1} << 40, {{"NCCL_PXN_DISABLE", "1"}}).chunk == GiB);
}

}  // namespace
}  // namespace fabricast
