// Differences between releases of NCCL, compared with numbers worked out by hand from its source; and known regressions
// by release.
#include <catch2/catch.hpp>
#include <set>

#include "fabricast/planner/nccl.hpp"
#include "fabricast/planner/regressions.hpp"
#include "fabricast/report/forecast.hpp"

namespace fabricast {
namespace {

using Catch::Detail::Approx;

World world_of(const std::string& version, const std::string& gpu, int nodes,
               const std::string& env = "NCCL_ALGO: Ring, NCCL_PROTO: Simple", const std::string& more = "") {
  return build_world(parse_scenario("fabricast: 1\nnode: {gpu: " + gpu + more + "}\ncluster: {nodes: " +
                                        std::to_string(nodes) + "}\nnccl: {version: \"" + version + "\", env: {" + env +
                                        "}}\nworkload: {collective: all_reduce, sizes: [1MiB]}\n",
                                    "r.yaml")
                         .scenario);
}

Plan plan_at(const World& world, std::int64_t bytes) { return plan_workload(world, bytes); }

TEST_CASE("a channel gets at least as much traffic as its release requires", "[planner]") {
  // All_reduce counts a byte twice: 192 KiB are 384 KiB of traffic, over 16 KiB each (24 channels are allowed) or 32.
  const std::string env =
      "NCCL_ALGO: Ring, NCCL_PROTO: Simple, NCCL_MIN_NCHANNELS: \"32\", NCCL_NTHREADS: \"64\", "
      "NCCL_THREAD_THRESHOLDS: \"-2 -2 1 -2 -2 1\"";
  for (const auto& [version, channels] : std::map<std::string, int>{{"2.21.5", 32},
                                                                    {"2.22.3", 32},
                                                                    {"2.23.4", 24},
                                                                    {"2.26.2", 24},
                                                                    {"2.28.9", 24},
                                                                    {"2.29.2", 12},
                                                                    {"2.32", 12}}) {
    CAPTURE(version);
    const auto world = world_of(version, "a100-sxm", 1, env);
    REQUIRE(world.planner().comm.channels == 32);
    CHECK(plan_at(world, 192 * 1024).channels == channels);
  }
}

TEST_CASE("a byte in LL is four of traffic since 2.26.2", "[planner]") {
  const std::string env =
      "NCCL_ALGO: Ring, NCCL_PROTO: LL, NCCL_MIN_NCHANNELS: \"32\", NCCL_NTHREADS: \"64\", "
      "NCCL_THREAD_THRESHOLDS: \"1 -2 -2 1 -2 -2\"";
  // 32 KiB: 64 KiB of traffic, 4 channels of 16 KiB; or 256 KiB, 16 channels, 8 from 2.29.2 on.
  for (const auto& [version, channels] :
       std::map<std::string, int>{{"2.25.1", 4}, {"2.26.2", 16}, {"2.28.3", 16}, {"2.29.2", 8}}) {
    CAPTURE(version);
    CHECK(plan_at(world_of(version, "a100-sxm", 1, env), 32 * 1024).channels == channels);
  }
}

TEST_CASE("trees in Simple had shorter chunks for shorter buffers before 2.20", "[planner]") {
  const std::string env = "NCCL_ALGO: Tree, NCCL_PROTO: Simple";
  // Eight GPUs in each of four nodes: a depth of 7 + 2 = 9. On 16 channels 8 MiB are 512 KiB each: one chunk of 512
  // KiB, less than 72 and than 36 and than 9.
  const auto chunk = [&](const char* version, std::int64_t bytes) {
    const auto world = world_of(version, "a100-sxm", 4, env);
    const Plan plan = plan_at(world, bytes);
    REQUIRE(plan.channels == 16);
    return plan.chunk;
  };
  CHECK(chunk("2.19.4", 8 << 20) == 32 << 10);
  CHECK(chunk("2.20.3", 8 << 20) == 512 << 10);
  // 128 MiB are 8 MiB each: at 128 KiB 64 chunks, which is less than 72, but chunks do not become shorter for that.
  CHECK(chunk("2.19.4", 128 << 20) == 128 << 10);
  CHECK(chunk("2.20.3", 128 << 20) == 512 << 10);
}

TEST_CASE("chunks of an NVLSTree by release", "[planner]") {
  const auto chunk = [&](const char* version, const char* gpu, int nodes) {
    return plan_at(world_of(version, gpu, nodes, "NCCL_ALGO: NVLSTree, NCCL_PROTO: Simple"), std::int64_t{8} << 30)
        .chunk;
  };
  CHECK(chunk("2.19.1", "h100-sxm", 4) == 512 << 10);
  CHECK(chunk("2.19.3", "h100-sxm", 4) == 64 << 10);
  CHECK(chunk("2.20.5", "h100-sxm", 2) == 512 << 10);
  CHECK(chunk("2.21.5", "h100-sxm", 2) == 128 << 10);
  CHECK(chunk("2.21.5", "h100-sxm", 4) == 64 << 10);
  CHECK(chunk("2.30.3", "h100-sxm", 4) == 64 << 10);
  CHECK(chunk("2.29.7", "b200", 4) == 64 << 10);
}

TEST_CASE("caps of Blackwell by patch", "[planner]") {
  // A ring in LL128 on two nodes: the minimum of the cap and 92 % of the graph's 48 GB/s, for each channel.
  const auto bandwidth = [](const char* version) {
    const auto world = world_of(version, "b200", 2, "NCCL_ALGO: Ring, NCCL_PROTO: LL128");
    return world.planner().costs.of[static_cast<std::size_t>(CollectiveOp::all_reduce)][1][1].bandwidth;
  };
  CHECK(bandwidth("2.29.7") / bandwidth("2.28.7") == Approx(40 / 34.6));
  CHECK(bandwidth("2.28.3") / bandwidth("2.28.7") == Approx(0.92 * 48 / 34.6));
  CHECK(bandwidth("2.27.7") == bandwidth("2.28.3"));
}

TEST_CASE("a release without a patch number is its last patch", "[planner]") {
  CHECK(plan_at(world_of("2.29", "b200", 4, "NCCL_ALGO: NVLSTree, NCCL_PROTO: Simple"), 1 << 30).chunk ==
        plan_at(world_of("2.29.7", "b200", 4, "NCCL_ALGO: NVLSTree, NCCL_PROTO: Simple"), 1 << 30).chunk);
}

TEST_CASE("the table of regressions is complete and in order", "[planner]") {
  std::set<std::string> ids;
  for (const Regression& r : known_regressions()) {
    CAPTURE(r.id);
    CHECK(ids.insert(r.id).second);
    CHECK((r.since || r.fixed));
    CHECK((!r.since || !r.fixed || *r.since < *r.fixed));
    CHECK_FALSE(r.symptom.empty());
    CHECK(r.source.starts_with("https://github.com/"));
    const std::set<std::string> words = {"maintainer", "release note", "report"};
    CHECK(words.contains(r.confidence));
    if (!r.match) continue;
    for (const std::string& word : r.match->collectives) CHECK(enum_from<CollectiveOp>(word));
    for (const std::string& word : r.match->algorithms) CHECK(enum_from<Algorithm>(word));
    for (const std::string& word : r.match->protocols) CHECK(enum_from<Protocol>(word));
    for (const std::string& word : r.match->links) CHECK(enum_from<LinkKind>(word));
    for (const std::string& word : r.match->gpus) CHECK(prior_hardware().gpus.contains(word));
    for (const std::string& word : r.match->architectures) CHECK(prior_hardware().architectures.contains(word));
  }
  CHECK(ids.size() >= 40);
}

TEST_CASE("regressions are cited where they apply, and in their versions only", "[planner]") {
  const auto cites = [](const char* version, const char* gpu, int nodes, const char* env, const char* id,
                        const char* more = "") {
    const auto world = world_of(version, gpu, nodes, env, more);
    const auto found = regressions_of(world.planner(), plan_at(world, 64 << 20));
    return std::any_of(found.begin(), found.end(), [&](const Regression* r) { return r->id == id; });
  };
  const char* tree = "NCCL_ALGO: NVLSTree, NCCL_PROTO: Simple";
  CHECK(cites("2.20.5", "h100-sxm", 8, tree, "nvlstree-64k-chunk", ", nics: {count: 8, rate: 400Gbps, link: efa}"));
  CHECK_FALSE(cites("2.20.5", "h100-sxm", 8, tree, "nvlstree-64k-chunk"));  // InfiniBand
  CHECK_FALSE(
      cites("2.18.5", "h100-sxm", 8, tree, "nvlstree-64k-chunk", ", nics: {count: 8, rate: 400Gbps, link: efa}"));
  const char* ring = "NCCL_ALGO: Ring, NCCL_PROTO: Simple";
  CHECK(cites("2.27.3", "a100-sxm", 4, ring, "sm80-balanced-tree"));
  CHECK_FALSE(cites("2.29.2", "a100-sxm", 4, ring, "sm80-balanced-tree"));
  CHECK_FALSE(cites("2.27.3", "h100-sxm", 4, ring, "sm80-balanced-tree"));
  CHECK(cites("2.22.3", "h100-sxm", 2, ring, "gdr-nvidia-peermem"));  // its first version is unknown
  CHECK_FALSE(cites("2.19.3", "h100-sxm", 2, ring, "gdr-nvidia-peermem"));
  CHECK(regressions_text({}).empty());
}

}  // namespace
}  // namespace fabricast
