// The OFI plugin on EFA: its regions at places taken from their corners, its variables, its latency [OFI-plugin].
#include "fabricast/planner/ofi_plugin.hpp"

#include <catch2/catch.hpp>

#include "support/clusters.hpp"

namespace fabricast {
namespace {

constexpr std::int64_t MiB = 1 << 20, GiB = 1 << 30;
using enum OfiPlatform;
using enum CollectiveOp;

std::vector<Candidate> every_candidate() {
  std::vector<Candidate> list;
  for (std::size_t a = 0; a < algorithm_count; ++a)
    for (std::size_t p = 0; p < 3; ++p) list.push_back({static_cast<Algorithm>(a), static_cast<Protocol>(p), 1});
  return list;
}

std::string text_of(const Candidate* choice) {
  return choice ? std::string(name_of(choice->algorithm)) + "/" + std::string(name_of(choice->protocol)) : "nccl";
}

/// What the tuner takes where all may run.
std::string choice(OfiPlatform platform, CollectiveOp op, std::int64_t gpus, std::int64_t nodes, std::int64_t bytes,
                   const NcclSettings& settings = test::nccl_settings()) {
  const std::vector<Candidate> all = every_candidate();
  return text_of(ofi_choice(platform, settings, op, bytes, nodes, gpus * nodes, all));
}

TEST_CASE("regions of p5", "[planner]") {
  // 128 ranks: a border at 301,989,888 B, one at 2 GiB, and one along 128 ranks from there to 6 GiB.
  CHECK(choice(p5, all_reduce, 8, 16, 64 * MiB) == "tree/ll128");
  CHECK(choice(p5, all_reduce, 8, 16, 301989888) == "tree/ll128");
  CHECK(choice(p5, all_reduce, 8, 16, 301989889) == "ring/ll128");
  CHECK(choice(p5, all_reduce, 8, 16, 2 * GiB) == "ring/ll128");  // a corner of NVLSTree's too, which comes later
  CHECK(choice(p5, all_reduce, 8, 16, 4 * GiB) == "nvlstree/simple");
  CHECK(choice(p5, all_reduce, 8, 16, 8 * GiB) == "ring/simple");
  // The last corner of trees is at 4,096 ranks: 402,653,184 B, and so beyond.
  CHECK(choice(p5, all_reduce, 8, 1024, 402653184) == "tree/ll128");
  CHECK(choice(p5, all_reduce, 8, 1024, 402653185) == "nvlstree/simple");
  CHECK(choice(p5, all_reduce, 8, 1024, 64 * GiB) == "nccl");
  CHECK(choice(p5, all_reduce, 8, 16, 101 * GiB) == "nccl");
  // Two GPUs of a node, 16 ranks: a corner at 2,367,488 B.
  CHECK(choice(p5, all_reduce, 2, 8, 2367488) == "tree/ll128");
  CHECK(choice(p5, all_reduce, 2, 8, 2367489) == "ring/ll128");
  // One: from 4 MiB of 2 ranks to 8 GiB of 2,048, so 2^24.2 B of 8.
  CHECK(choice(p5, all_gather, 1, 8, 16 * MiB) == "nccl");
  CHECK(choice(p5, all_gather, 1, 8, 32 * MiB) == "ring/simple");
  // An edge from 8 MiB of 2 ranks to 4 GiB of 1,024, so 32 MiB of 8, is inside.
  CHECK(choice(p5, reduce_scatter, 1, 8, 32 * MiB - 1) == "nccl");
  CHECK(choice(p5, reduce_scatter, 1, 8, 32 * MiB) == "ring/simple");
}

TEST_CASE("regions of p5en", "[planner]") {
  CHECK(choice(p5en, all_gather, 8, 16, 4718592) == "ring/ll");
  CHECK(choice(p5en, all_gather, 8, 16, 4718593) == "ring/ll128");
  CHECK(choice(p5en, all_gather, 8, 16, 512 * MiB) == "ring/ll128");
  CHECK(choice(p5en, all_gather, 8, 16, 4 * GiB) == "ring/simple");
  CHECK(choice(p5en, reduce_scatter, 8, 16, 2415919104) == "ring/ll128");
  CHECK(choice(p5en, reduce_scatter, 8, 16, 2415919105 + 64 * MiB) == "ring/simple");
  // Beyond the last corners, (196,608 B, 1,024 ranks) and (129,499,136 B, 127) to (218,103,808 B, 1,024).
  CHECK(choice(p5en, all_reduce, 8, 1024, 196608) == "tree/ll");
  CHECK(choice(p5en, all_reduce, 8, 1024, 256 * MiB) == "tree/ll128");
  CHECK(choice(p5en, all_reduce, 8, 1024, 512 * MiB) == "nvlstree/simple");
  CHECK(choice(p5en, all_reduce, 1, 8, 4 * MiB) == "tree/ll128");
  CHECK(choice(p5en, all_gather, 1, 8, 8 * MiB) == "pat/simple");
  CHECK(choice(p5en, all_gather, 1, 8, 8388609) == "ring/ll128");
  CHECK(choice(p5en, all_reduce, 2, 8, 4 * MiB) == "nccl");
}

TEST_CASE("regions of p6-b200", "[planner]") {
  CHECK(choice(p6_b200, all_reduce, 8, 4, 393216) == "tree/ll");
  CHECK(choice(p6_b200, all_reduce, 8, 4, 393217) == "tree/ll128");
  CHECK(choice(p6_b200, all_reduce, 8, 4, 18350080) == "tree/ll128");
  CHECK(choice(p6_b200, all_reduce, 8, 4, 64 * MiB) == "ring/ll128");  // on its border of 32 ranks
  CHECK(choice(p6_b200, all_reduce, 8, 4, 133693440) == "ring/ll128");
  CHECK(choice(p6_b200, all_reduce, 8, 4, 128 * MiB) == "nvlstree/simple");
  CHECK(choice(p6_b200, all_reduce, 8, 4, 435159040) == "nvlstree/simple");
  CHECK(choice(p6_b200, all_reduce, 8, 4, 512 * MiB) == "ring/simple");
  CHECK(choice(p6_b200, all_gather, 8, 8, 871366656) == "ring/ll128");
  CHECK(choice(p6_b200, all_gather, 8, 8, 871366657) == "ring/simple");
  CHECK(choice(p6_b200, reduce_scatter, 8, 64, 35127296) == "ring/ll");
  CHECK(choice(p6_b200, reduce_scatter, 8, 64, 35127297) == "ring/ll128");
  CHECK(choice(p6_b200, all_gather, 1, 16, 4194305) == "pat/simple");
  CHECK(choice(p6_b200, all_gather, 1, 16, 4 * GiB) == "ring/simple");
}

TEST_CASE("regions of p6-b300", "[planner]") {
  CHECK(choice(p6_b300, all_reduce, 8, 4, 491520) == "tree/ll");
  CHECK(choice(p6_b300, all_reduce, 8, 4, 491521) == "tree/ll128");
  CHECK(choice(p6_b300, all_reduce, 8, 16, 369098752) == "ring/ll128");
  CHECK(choice(p6_b300, all_reduce, 8, 16, 256 * MiB) == "nvlstree/simple");  // trees end at 120 MiB
  CHECK(choice(p6_b300, all_reduce, 8, 16, 4026531840) == "nvlstree/simple");
  CHECK(choice(p6_b300, all_reduce, 8, 16, 4026531841) == "ring/simple");
  // LL128 ends at 1,744,830,464 B for all_gather of 64 ranks, at 1,207,959,552 B for reduce_scatter.
  CHECK(choice(p6_b300, all_gather, 8, 8, 1500000000) == "ring/ll128");
  CHECK(choice(p6_b300, reduce_scatter, 8, 8, 1500000000) == "ring/simple");
  // Beyond 1,024 ranks it doubles with them: twice 27,917,287,424 B for 2,048.
  CHECK(choice(p6_b300, all_gather, 8, 256, 55834574848 - MiB) == "ring/ll128");
  CHECK(choice(p6_b300, all_gather, 8, 256, 55834574848 + MiB) == "ring/simple");
  CHECK(choice(p6_b300, all_gather, 1, 32, 75497472) == "pat/simple");
  CHECK(choice(p6_b300, reduce_scatter, 1, 32, 92274689) == "ring/ll128");
}

TEST_CASE("NCCL chooses where no region applies", "[planner]") {
  CHECK(choice(p5, all_reduce, 8, 2, 64 * MiB) == "nccl");  // regions are of three nodes or more
  CHECK(choice(p5, all_reduce, 8, 3, 16 * MiB) == "tree/ll128");
  CHECK(choice(p5, all_reduce, 4, 16, 64 * MiB) == "nccl");
  CHECK(choice(p5, all_gather, 8, 16, 64 * MiB) == "nccl");
  CHECK(choice(p5en, broadcast, 8, 16, 64 * MiB) == "nccl");
  for (const OfiPlatform without : {none, p3dn, p4d, p5_like, newer, other})
    CHECK(choice(without, all_reduce, 8, 16, 64 * MiB) == "nccl");
  // What may not run leaves the place to a later region that holds it, or to NCCL.
  std::vector<Candidate> some = every_candidate();
  std::erase_if(some, [](const Candidate& c) { return c.algorithm == Algorithm::ring; });
  const NcclSettings settings = test::nccl_settings();
  CHECK(text_of(ofi_choice(p5, settings, all_reduce, 2 * GiB, 16, 128, some)) == "nvlstree/simple");
  CHECK(text_of(ofi_choice(p5, settings, all_reduce, GiB, 16, 128, some)) == "nccl");
}

TEST_CASE("conditions for the OFI plugin's tuner", "[planner]") {
  const auto with = [](const test::Variables& variables, NcclVersion version) {
    return choice(p5, all_reduce, 8, 16, 64 * MiB, test::nccl_settings(variables, version));
  };
  CHECK(with({}, {2, 18, 5}) == "nccl");
  CHECK(with({}, {2, 19, 0}) == "tree/ll128");
  CHECK(with({{"NCCL_TUNER_PLUGIN", "none"}}, {2, 27, 0}) == "nccl");
  CHECK(with({{"NCCL_TUNER_PLUGIN", "libnccl-tuner-example.so"}}, {2, 27, 0}) == "nccl");
  CHECK(with({{"NCCL_TUNER_PLUGIN", "libnccl-ofi-tuner.so"}}, {2, 27, 0}) == "tree/ll128");
  CHECK(with({{"NCCL_TUNER_PLUGIN", "libnccl-net.so"}}, {2, 27, 0}) == "tree/ll128");
  CHECK(with({{"NCCL_ALGO", "Tree"}}, {2, 21, 5}) == "nccl");
  CHECK(with({{"NCCL_PROTO", "LL128"}}, {2, 21, 5}) == "nccl");
  CHECK(with({{"NCCL_ALGO", "Tree"}}, {2, 22, 0}) == "tree/ll128");
}

TEST_CASE("plans state who chose them", "[planner]") {
  const auto plan = [](const test::Variables& variables) {
    return plan_collective(test::planner_of(test::preset_spec("p5"), 16, variables), all_reduce, GiB);
  };
  const Plan tuned = plan({}), own = plan({{"NCCL_TUNER_PLUGIN", "none"}});
  CHECK(tuned.chooser == Chooser::ofi_tuner);
  CHECK(tuned.algorithm == Algorithm::ring);
  CHECK(tuned.protocol == Protocol::ll128);
  CHECK(own.chooser == Chooser::nccl);
  CHECK(own.algorithm == Algorithm::nvlstree);
  // The others keep their estimates and their order.
  REQUIRE(tuned.candidates.size() == own.candidates.size());
  CHECK(tuned.candidates.front().algorithm == Algorithm::ring);
  CHECK(tuned.candidates[1].algorithm == own.candidates[0].algorithm);
  CHECK(tuned.candidates[1].estimate_us == own.candidates[0].estimate_us);
  CHECK(plan({{"NCCL_PROTO", "Simple"}}).chooser == Chooser::nccl);
}

TEST_CASE("instances of EC2 by GPUs and NICs", "[planner]") {
  const auto platform = [](std::string_view gpu, int gpus, int nics, double gbps, LinkKind link = LinkKind::efa) {
    NodeSpec spec = test::with_nics(test::with_gpus(test::node_spec(gpu), gpus), nics, gbps);
    spec.nics.link = link;
    return ofi_platform(spec, shipped_hardware().gpus.find(gpu)->second);
  };
  CHECK(platform("h100-sxm", 8, 32, 100) == p5);
  CHECK(platform("h200-sxm", 8, 32, 100) == p5);
  CHECK(platform("h200-sxm", 8, 16, 200) == p5en);
  CHECK(platform("h100-sxm", 8, 16, 200) == p5_like);
  CHECK(platform("h200-sxm", 1, 2, 200) == p5en);  // one GPU of it with its NICs
  CHECK(platform("h200-sxm", 1, 16, 200) == p5en);
  CHECK(platform("h100-sxm", 1, 1, 100) == p5_like);
  CHECK(platform("b200", 8, 8, 400) == p6_b200);
  CHECK(platform("b200", 8, 16, 400) == newer);
  CHECK(platform("b300", 8, 16, 400) == p6_b300);
  CHECK(platform("b300", 8, 8, 800) == newer);
  CHECK(platform("gb200", 4, 4, 400) == newer);
  CHECK(platform("a100-sxm", 8, 4, 100) == p4d);
  CHECK(platform("v100-sxm", 8, 1, 100) == p3dn);
  CHECK(platform("l40s", 8, 4, 100) == other);
  CHECK(platform("h100-sxm", 8, 32, 100, LinkKind::infiniband) == none);
  const NcclVersion recent{2, 27, 0};
  CHECK(ofi_latency_us(none, recent) == 0);
  CHECK(ofi_latency_us(p3dn, recent) == 150);
  CHECK(ofi_latency_us(p4d, recent) == 75);
  CHECK(ofi_latency_us(p5, recent) == 75);
  for (const OfiPlatform blackwell : {p5en, p6_b200, p6_b300, newer}) CHECK(ofi_latency_us(blackwell, recent) == 35);
}

// What the tags of the plugin's repository contain: v1.1.1 states no latency, v1.2.0 to v1.6.0 state 150, v1.7.0 knows
// instances.
TEST_CASE("the latency that the OFI plugin states, by the age of NCCL", "[planner]") {
  for (const OfiPlatform platform : {p3dn, p4d, other}) {
    CHECK(ofi_latency_us(platform, {2, 11, 4}) == 0);
    CHECK(ofi_latency_us(platform, {2, 12, 7}) == 150);
    CHECK(ofi_latency_us(platform, {2, 17, 1}) == 150);
  }
  CHECK(ofi_latency_us(p4d, {2, 18, 1}) == 75);
}

TEST_CASE("the plugin's variables, by instance", "[planner]") {
  const NcclVersion recent{2, 27, 0};
  CHECK(ofi_variables(none, recent).empty());
  const test::Variables unordered{{"NCCL_PROTO", "Simple"}};
  for (const OfiPlatform older : {p3dn, other}) CHECK(ofi_variables(older, recent) == unordered);
  const test::Variables first{{"NCCL_BUFFSIZE", "8388608"}, {"NCCL_P2P_NET_CHUNKSIZE", "524288"}};
  test::Variables both = first;
  both.insert(unordered.begin(), unordered.end());
  CHECK(ofi_variables(p4d, recent) == both);
  test::Variables all = first;
  all.insert(
      {{"NCCL_NVLSTREE_MAX_CHUNKSIZE", "524288"}, {"NCCL_NVLS_CHUNKSIZE", "524288"}, {"NCCL_NET_FORCE_FLUSH", "0"}});
  for (const OfiPlatform later : {p5, p5_like, p5en, p6_b200, p6_b300, newer})
    CHECK(ofi_variables(later, recent) == all);
}

TEST_CASE("the plugin's variables, by the age of NCCL", "[planner]") {
  const test::Variables no_nvls{{"NCCL_NVLS_ENABLE", "0"}};
  CHECK(ofi_variables(p5, {2, 17, 1}).empty());
  CHECK(ofi_variables(p5, {2, 18, 3}) == no_nvls);
  CHECK(ofi_variables(p5, {2, 18, 5}).empty());
  const test::Variables tree{{"NCCL_NVLSTREE_MAX_CHUNKSIZE", "524288"}, {"NCCL_NET_FORCE_FLUSH", "0"}};
  CHECK(ofi_variables(p5, {2, 20, 3}) == tree);
  test::Variables chunks = tree;
  chunks["NCCL_NVLS_CHUNKSIZE"] = "524288";
  CHECK(ofi_variables(p5, {2, 26, 2}) == chunks);
  CHECK(ofi_variables(p4d, {2, 21, 5}) == test::Variables{{"NCCL_PROTO", "Simple"}});
}

TEST_CASE("NCCL adds the latency that a device states to its network hops", "[planner]") {
  const NodeSpec spec = test::preset_spec("p5");
  const auto latency = [&](Algorithm a, Protocol p, NcclVersion version) {
    const Planner planner = test::planner_of(spec, 16, {}, version);
    return planner.costs.of[4][static_cast<std::size_t>(a)][static_cast<std::size_t>(p)].latency;
  };
  using enum Algorithm;
  // 254 steps, 30 over the network; the flush of Simple a second time. On AMD's CPUs a step takes at least NCCL's
  // overhead of the network, 2 us and in Simple 6 [NCCL-tuning-1.4].
  CHECK(latency(ring, Protocol::simple, {2, 27, 0}) == Approx(8.4 + 224 * 6.0 + 30 * (14 + 2 * 75)));
  CHECK(latency(ring, Protocol::ll128, {2, 27, 0}) == Approx(14 + 224 * 2.0 + 30 * (4 + 75)));
  CHECK(latency(tree, Protocol::ll128, {2, 27, 0}) == Approx(14 + 2 * (7 * 1.25 + 4 * (8.5 + 75))));
  CHECK(latency(nvlstree, Protocol::simple, {2, 27, 0}) == Approx(25 + 2 * 4 * (14 + 2 * 75)));
  // Before 2.17 it stood in the place of NCCL's own.
  CHECK(latency(ring, Protocol::simple, {2, 16, 0}) == Approx(8.4 + 222 * 3.4 + 32 * 150));
  NodeSpec infiniband = test::with_nics(spec, 8, 400);
  infiniband.nics.link = LinkKind::infiniband;
  CHECK(test::planner_of(infiniband, 16).graphs.ring.latency_inter == 0);
  Node stated = build_node(spec, shipped_hardware());
  for (NodeLayout::Nic& nic : stated.layout.nics) nic.latency_us = 10;
  CHECK(make_planner(stated, {0, 1}, 1, test::nccl_settings()).graphs.ring.latency_inter == 10);
}

}  // namespace
}  // namespace fabricast
