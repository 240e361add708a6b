// The table of NCCL's variables, and what those of channels, threads and buffers do to a plan [NCCL-env].
#include "fabricast/planner/variables.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

#include "support/clusters.hpp"

namespace fabricast {
namespace {

constexpr std::int64_t KiB = 1 << 10, MiB = 1 << 20;
constexpr auto all_reduce = CollectiveOp::all_reduce;
constexpr NcclVersion equal_parts{2, 21, 5};  // before bytes were cut in cells: channels are those of the thresholds

Plan plan_of(const test::Variables& variables, std::int64_t bytes, Algorithm algorithm, Protocol protocol) {
  const Planner p = test::planner_of(test::preset_spec("hgx-h100"), 2, variables, equal_parts);
  return plan_collective(p, all_reduce, bytes, algorithm, protocol);
}

// getKernelInfo() of tag v2.4.7-1: 64 B per thread, twice that over several nodes and four times in trees; 256 threads
// work on each of a ring's chunks, one per rank, in every channel.
TEST_CASE("NCCL 2.4 chooses LL by size, and NCCL_TREE_THRESHOLD=0 turns trees off", "[planner]") {
  const auto choice = [](const test::Variables& variables, std::int64_t bytes) {
    const Planner p = test::planner_of(test::preset_spec("dgx-v100"), 2, variables, {2, 4, 7});
    const Plan plan = plan_collective(p, all_reduce, bytes);
    return std::pair(plan.algorithm, plan.protocol);
  };
  CHECK(choice({}, 1 * KiB) == std::pair(Algorithm::tree, Protocol::ll));
  const Planner p = test::planner_of(test::preset_spec("dgx-v100"), 2, {}, {2, 4, 7});
  const std::int64_t most = std::int64_t{p.costs.channels} * 256 * 128 * 16;
  const test::Variables rings{{"NCCL_TREE_THRESHOLD", "0"}};
  CHECK(choice(rings, 1 * KiB) == std::pair(Algorithm::ring, Protocol::ll));
  CHECK(choice(rings, most) == std::pair(Algorithm::ring, Protocol::ll));
  CHECK(choice(rings, most + 4) == std::pair(Algorithm::ring, Protocol::simple));
}

TEST_CASE("each variable is in the table once, with its purpose", "[planner]") {
  const auto table = nccl_variables();
  CHECK(table.size() > 100);
  for (std::size_t i = 0; i < table.size(); ++i) {
    const NcclVariable& v = table[i];
    INFO(v.name);
    CHECK(v.name.starts_with("NCCL_"));
    if (i > 0) CHECK(table[i - 1].name < v.name);
    CHECK_FALSE(v.unset.empty());
    CHECK_FALSE(v.accepts.empty());
    CHECK_FALSE(v.summary.empty());
    CHECK(v.effect.empty() == (v.read == nullptr));
  }
}

TEST_CASE("a variable with effect parses its value and refuses nonsense", "[planner]") {
  for (const NcclVariable& v : nccl_variables()) {
    if (!v.read) continue;
    INFO(v.name);
    // Free names are checked against the host, and those of files where the scenario is, not here.
    constexpr std::array<std::string_view, 6> free = {"NCCL_IB_HCA",     "NCCL_NET",          "NCCL_TOPO_FILE",
                                                      "NCCL_GRAPH_FILE", "NCCL_TUNER_PLUGIN", "NCCL_TUNER_CONFIG_FILE"};
    if (std::find(free.begin(), free.end(), v.name) != free.end()) {
      CHECK_THROWS_AS(test::nccl_settings({{std::string(v.name), ""}}), UserError);
      continue;
    }
    CHECK_THROWS_AS(test::nccl_settings({{std::string(v.name), "nonsense"}}), UserError);
    CHECK_THROWS_AS(test::nccl_settings({{std::string(v.name), "-3"}}), UserError);
  }
}

TEST_CASE("variables of send and receive, NVLS and the node", "[planner]") {
  const NcclSettings s = test::nccl_settings({{"NCCL_MIN_P2P_NCHANNELS", "2"},
                                              {"NCCL_MAX_P2P_NCHANNELS", "8"},
                                              {"NCCL_NCHANNELS_PER_NET_PEER", "4"},
                                              {"NCCL_P2P_NET_CHUNKSIZE", "262144"},
                                              {"NCCL_P2P_PCI_CHUNKSIZE", "65536"},
                                              {"NCCL_P2P_NVL_CHUNKSIZE", "1048576"},
                                              {"NCCL_P2P_LL_THRESHOLD", "0"},
                                              {"NCCL_P2P_PXN_LEVEL", "1"},
                                              {"NCCL_NVLS_NCHANNELS", "24"},
                                              {"NCCL_NVLS_CHUNKSIZE", "65536"},
                                              {"NCCL_NVLSTREE_MAX_CHUNKSIZE", "32768"},
                                              {"NCCL_COLLNET_NODE_THRESHOLD", "4"},
                                              {"NCCL_P2P_LEVEL", "3"},
                                              {"NCCL_NET_MERGE_LEVEL", "LOC"},
                                              {"NCCL_IB_AR_THRESHOLD", "0"}});
  CHECK(s.min_p2p_channels == 2);
  CHECK(s.max_p2p_channels == 8);
  CHECK(s.channels_per_net_peer == 4);
  CHECK(s.p2p_net_chunk == Bytes{262144});
  CHECK(s.p2p_pci_chunk == Bytes{65536});
  CHECK(s.p2p_nvl_chunk == Bytes{1048576});
  CHECK(s.p2p_ll_threshold == Bytes{0});
  CHECK(s.p2p_pxn_level == 1);
  CHECK(s.nvls_channels == 24);
  CHECK(s.nvls_chunk == Bytes{65536});
  CHECK(s.nvlstree_chunk == Bytes{32768});
  CHECK(s.collnet_node_threshold == 4);
  CHECK(s.p2p_level == PathType::PHB);  // 3 of the old digits
  CHECK(s.merge_nics == false);
  CHECK(s.ar_threshold == Bytes{0});
  const NcclSettings defaults = test::nccl_settings();
  CHECK_FALSE(defaults.min_p2p_channels);
  CHECK_FALSE(defaults.pxn_disable);
  CHECK_FALSE(defaults.merge_nics);
}

TEST_CASE("buffers set the chunks: an eighth is a slot, and a share of a slot is data", "[planner]") {
  const auto chunk = [](const test::Variables& variables, Protocol p) {
    return plan_of(variables, 1024 * MiB, Algorithm::ring, p).chunk;
  };
  CHECK(chunk({{"NCCL_LL_BUFFSIZE", "262144"}}, Protocol::ll) == 16384);
  CHECK(chunk({{"NCCL_LL128_BUFFSIZE", "2457600"}}, Protocol::ll128) == 288000);
  CHECK(chunk({{"NCCL_BUFFSIZE", "1048576"}}, Protocol::simple) == 4 * 131072);
  CHECK(chunk({{"NCCL_BUFFSIZE", "1048576"}}, Protocol::ll) == 32768);
}

TEST_CASE("threads and their thresholds set the channels of small calls", "[planner]") {
  const auto channels = [](const test::Variables& variables, std::int64_t bytes, Algorithm a, Protocol p) {
    return plan_of(variables, bytes, a, p).channels;
  };
  constexpr auto ring = Algorithm::ring, tree = Algorithm::tree;
  // 64 KiB at 640 or 320 threads of 8 B.
  CHECK(channels({}, 64 * KiB, ring, Protocol::ll128) == 12);
  CHECK(channels({{"NCCL_LL128_NTHREADS", "320"}}, 64 * KiB, ring, Protocol::ll128) == 16);
  // 512 KiB at 512 threads of 64, 128 or 256 B.
  CHECK(channels({}, 512 * KiB, ring, Protocol::simple) == 16);
  CHECK(channels({{"NCCL_THREAD_THRESHOLDS", "-2 -2 -2 -2 -2 128"}}, 512 * KiB, ring, Protocol::simple) == 8);
  CHECK(channels({{"NCCL_THREAD_THRESHOLDS", "8 8 256 -2 -2 -2"}}, 512 * KiB, tree, Protocol::simple) == 4);
  CHECK(channels({{"NCCL_THREAD_THRESHOLDS", "8 8 256 -2 -2 -2"}}, 512 * KiB, ring, Protocol::simple) == 16);
}

TEST_CASE("channels, chunks and protocol of sends and receives", "[planner]") {
  // 16 ranks, so that 16 MiB are pairs of 1 MiB, from which on chunks are whole.
  const auto plan = [](const test::Variables& variables, std::int64_t bytes, std::uint32_t nodes = 2) {
    return plan_collective(test::planner_of(test::preset_spec("hgx-h100"), nodes, variables), CollectiveOp::alltoall,
                           bytes);
  };
  CHECK(plan({}, 16 * MiB).channels == 16);
  CHECK(plan({{"NCCL_MAX_P2P_NCHANNELS", "4"}}, 16 * MiB).channels == 4);
  CHECK(plan({{"NCCL_MAX_P2P_NCHANNELS", "6"}}, 16 * MiB).channels == 8);  // the next power of two
  CHECK(plan({{"NCCL_MIN_P2P_NCHANNELS", "32"}}, 16 * MiB).channels == 32);
  CHECK(plan({}, 16 * MiB).chunk == 128 * KiB);
  CHECK(plan({{"NCCL_P2P_NET_CHUNKSIZE", "262144"}}, 32 * MiB).chunk == 256 * KiB);
  CHECK(plan({{"NCCL_P2P_NET_CHUNKSIZE", "1048576"}}, 1024 * MiB).chunk == 512 * KiB);  // a slot of the buffer
  CHECK(plan({}, 1024 * MiB, 1).chunk == 512 * KiB);
  CHECK(plan({{"NCCL_P2P_NVL_CHUNKSIZE", "262144"}}, 1024 * MiB, 1).chunk == 256 * KiB);
  CHECK(plan({}, 8 * KiB, 1).protocol == Protocol::ll);
  CHECK(plan({{"NCCL_P2P_LL_THRESHOLD", "0"}}, 8 * KiB, 1).protocol == Protocol::simple);
  // 50 GB/s of a NIC are four channels of 14 GB/s, so a long pair has four parts.
  CHECK(plan({}, 1024 * MiB).parts == 4);
  CHECK(plan({{"NCCL_NCHANNELS_PER_NET_PEER", "2"}}, 1024 * MiB).parts == 2);
  CHECK(plan({{"NCCL_NCHANNELS_PER_NET_PEER", "1"}}, 1024 * MiB).parts == 1);
  const auto pxn = [](const test::Variables& variables) {
    return test::planner_of(test::preset_spec("hgx-h100"), 2, variables).comm.p2p_pxn;
  };
  CHECK(pxn({}));
  CHECK_FALSE(pxn({{"NCCL_P2P_PXN_LEVEL", "0"}}));
  CHECK_FALSE(pxn({{"NCCL_PXN_DISABLE", "1"}}));
}

TEST_CASE("channels and chunks of NVLS", "[planner]") {
  const auto plan = [](const test::Variables& variables, Algorithm a, std::uint32_t nodes) {
    return plan_collective(test::planner_of(test::preset_spec("hgx-h100"), nodes, variables), all_reduce, 8192 * MiB, a,
                           Protocol::simple);
  };
  constexpr auto nvls = Algorithm::nvls, nvlstree = Algorithm::nvlstree;
  CHECK(plan({}, nvls, 1).channels == 16);
  CHECK(plan({{"NCCL_NVLS_NCHANNELS", "24"}}, nvls, 1).channels == 24);
  CHECK(plan({{"NCCL_NVLS_NCHANNELS", "24"}, {"NCCL_MAX_CTAS", "8"}}, nvls, 1).channels == 8);
  CHECK(plan({}, nvls, 1).chunk == 128 * KiB);
  CHECK(plan({{"NCCL_NVLS_CHUNKSIZE", "65536"}}, nvls, 1).chunk == 64 * KiB);
  CHECK(plan({}, nvlstree, 4).chunk == 64 * KiB);
  CHECK(plan({{"NCCL_NVLSTREE_MAX_CHUNKSIZE", "32768"}}, nvlstree, 4).chunk == 32 * KiB);
  CHECK(plan({{"NCCL_NVLS_CHUNKSIZE", "16384"}}, nvlstree, 4).chunk == 16 * KiB);
}

TEST_CASE("lists by function need NCCL 2.24", "[planner]") {
  CHECK_NOTHROW(test::nccl_settings({{"NCCL_ALGO", "allreduce:tree"}}, {2, 24, 0}));
  CHECK_THROWS_WITH(test::nccl_settings({{"NCCL_ALGO", "allreduce:tree"}}, {2, 23, 4}),
                    Catch::Contains("NCCL 2.23.4 does not support lists by function"));
}

TEST_CASE("before 2.24 rings stay available except for all_reduce", "[planner]") {
  constexpr auto gather = static_cast<std::size_t>(CollectiveOp::all_gather);
  constexpr auto ring = static_cast<std::size_t>(Algorithm::ring), ll = static_cast<std::size_t>(Protocol::ll);
  const auto planner = [](NcclVersion version) {
    return test::planner_of(test::preset_spec("hgx-h100"), 2, {{"NCCL_ALGO", "Tree"}}, version);
  };
  CHECK(planner({2, 23, 4}).costs.of[gather][ring][ll].bandwidth > 0);
  CHECK_FALSE(planner({2, 23, 4}).costs.fell_back[gather]);
  CHECK(planner({2, 24, 0}).costs.fell_back[gather]);
}

TEST_CASE("the number of sockets is limited as in NCCL", "[planner]") {
  std::vector<Diagnostic> warnings;
  const NcclSettings s =
      parse_nccl_environment({2, 28, 0}, {{"NCCL_SOCKET_NTHREADS", "16"}, {"NCCL_NSOCKS_PERTHREAD", "8"}}, warnings);
  CHECK(s.sockets_per_thread == 4);
  REQUIRE(warnings.size() == 1);
  CHECK_THAT(warnings[0].message, Catch::Contains("NCCL uses 4 per thread"));
}

TEST_CASE("versions, ranges of versions, and unknown versions", "[planner]") {
  const auto range = [](const char* text, int capability = 90) { return parse_nccl_versions(text, capability); };
  REQUIRE(range("2.18"));
  CHECK(range("2.18")->known());
  CHECK(range("2.18-2.21.5")->first == NcclVersion{2, 18, 0});
  CHECK(range("2.18-2.21.5")->last == NcclVersion{2, 21, 5});
  CHECK(range("unknown", 90)->first == NcclVersion{2, 15, 0});   // the first for Hopper
  CHECK(range("unknown", 100)->first == NcclVersion{2, 25, 0});  // the first for Blackwell
  for (const char* bad : {"2.21-2.18", "2.18-", "-2.18", "Unknown", "2.18-2.20-2.21", ""}) CHECK_FALSE(range(bad));
  CHECK(range("22403")->known());
  CHECK(range("2.24.3-1")->known());
  CHECK(range("v2.21.5-1-22403")->first == NcclVersion{2, 21, 5});
  CHECK(range("v2.21.5-1-22403")->last == NcclVersion{2, 24, 3});
  CHECK(usual_form("v2.21.5-1-22403") == "2.21.5-2.24.3");
  CHECK(usual_form("2.18-2.21.5") == "2.18-2.21.5");
  using List = std::vector<NcclVersion>;
  CHECK(distinct_versions(*range("2.4-2.9"), 70) ==
        List{{2, 4, 0}, {2, 5, 0}, {2, 6, 0}, {2, 7, 0}, {2, 8, 0}, {2, 9, 0}});
  CHECK(distinct_versions(*range("2.16-2.17"), 80) == List{{2, 16, 0}, {2, 17, 0}});
  CHECK(distinct_versions(*range("2.18-2.21"), 80) ==
        List{{2, 18, 0}, {2, 18, 3}, {2, 18, 5}, {2, 19, 0}, {2, 20, 0}, {2, 21, 0}});
  CHECK(distinct_versions(*range("2.18.5-2.20"), 90) == List{{2, 18, 5}, {2, 19, 0}, {2, 19, 3}, {2, 20, 0}});
  CHECK(distinct_versions(*range("2.21-2.27"), 90) ==
        List{{2, 21, 0}, {2, 22, 0}, {2, 23, 0}, {2, 24, 0}, {2, 25, 0}, {2, 25, 1}, {2, 26, 2}, {2, 27, 0}});
  CHECK(distinct_versions(*range("2.27.3-2.28.5"), 90) == List{{2, 27, 3}, {2, 28, 0}});
  CHECK(distinct_versions(*range("2.27.3-2.28.5", 100), 100) == List{{2, 27, 3}, {2, 27, 5}, {2, 27, 6}, {2, 28, 0}});
  CHECK(distinct_versions(*range("2.18"), 80) == List{{2, 18}});
}

}  // namespace
}  // namespace fabricast
