// As agreement_test.cpp, for algorithms that are neither ring nor tree: sends and receives, NVLS, PAT, and switches
// that reduce.
//
// Bounds are stated for sizes up to 4 MiB and beyond. Short calls are chains of latencies and agree exactly. Long calls
// differ where flow takes a mean and chunk simulates which messages meet.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cmath>

#include "support/engines.hpp"

using namespace fabricast;

namespace {

struct Case {
  std::string node;
  int nodes;
  Algorithm algorithm;
  std::string op;
  double small, large;  ///< largest difference of flow from chunk: up to 4 MiB, beyond
  std::string buffers = "plain";
};

/// Of what NCCL_ALGO names; sends and receives have no choice.
std::string environment(Algorithm algorithm) {
  if (algorithm == Algorithm::p2p) return "{}";
  return fmt::format("{{NCCL_ALGO: {}, NCCL_PROTO: Simple, NCCL_COLLNET_ENABLE: \"1\"}}", name_of(algorithm));
}

void compare(const Case& c, const std::string& sizes) {
  const std::string text = fmt::format(
      "fabricast: 1\nnode: {}\ncluster: {{nodes: {}}}\nrouting: {{kind: adaptive}}\nnccl: {{env: {}}}\n"
      "workload: {{collective: {}, sizes: [{}], buffers: {}, harness: {{tool: isolated}}}}\n",
      c.node, c.nodes, environment(c.algorithm), c.op, sizes, c.buffers);
  const auto flow = test::rows_under("flow", text), chunk = test::rows_under("chunk", text),
             bound = test::rows_under("bound", text);
  for (std::size_t i = 0; i < flow.size(); ++i) {
    CAPTURE(c.node, c.nodes, c.op, name_of(c.algorithm), c.buffers, flow[i].plan.bytes, flow[i].time, chunk[i].time,
            bound[i].time);
    CHECK(flow[i].algorithm == c.algorithm);
    CHECK(std::abs(flow[i].time / chunk[i].time - 1) <= (flow[i].plan.bytes <= 4 << 20 ? c.small : c.large));
    CHECK(bound[i].time <= flow[i].time * 1.0005);
    // The bound engine lets one rank stand for all, as flow does. For sends and receives it may be 1 % above chunk.
    CHECK(bound[i].time <= chunk[i].time * (c.algorithm == Algorithm::p2p ? 1.0105 : 1.0005));
  }
}
void compare(const Case& c) { compare(c, "1KiB, 16KiB, 256KiB, 4MiB, 32MiB, 256MiB"); }

const std::string h100 = "{gpu: h100-sxm, gpus: 8}", four = "{gpu: h100-sxm, gpus: 4}";
const std::string single = "{gpu: h100-sxm, gpus: 1, intranode: none, nics: {count: 1, rate: 400Gbps}}";

}  // namespace

TEST_CASE("sends and receives agree") {
  compare({h100, 1, Algorithm::p2p, "alltoall", 0.01, 0.01});
  compare({h100, 2, Algorithm::p2p, "alltoall", 0.01, 0.01});
  compare({four, 4, Algorithm::p2p, "alltoall", 0.01, 0.01});
  compare({single, 8, Algorithm::p2p, "alltoall", 0.02, 0.01});
  compare({"{gpu: a100-pcie}", 2, Algorithm::p2p, "alltoall", 0.011, 0.01}, "1KiB, 64KiB, 1MiB, 8MiB, 64MiB");
  for (const int nodes : {1, 2, 4}) compare({four, nodes, Algorithm::p2p, "sendrecv", 0.01, 0.01});
  for (const int nodes : {1, 2, 4}) compare({four, nodes, Algorithm::p2p, "scatter", 0.02, 0.01});
}

// Chunk does not charge a root's proxy thread for receiving, so a gather is compared on a single node only.
TEST_CASE("gathers inside a node agree") { compare({h100, 1, Algorithm::p2p, "gather", 0.01, 0.01}); }

TEST_CASE("reductions in the NVSwitch agree") {
  for (const char* op : {"all_reduce", "all_gather", "reduce_scatter"})
    compare({h100, 1, Algorithm::nvls, op, 0.01, 0.01});
}

TEST_CASE("trees of heads agree") {
  compare({h100, 2, Algorithm::nvlstree, "all_reduce", 0.01, 0.07});
  for (const int nodes : {3, 4}) compare({h100, nodes, Algorithm::nvlstree, "all_reduce", 0.01, 0.055});
  compare({four, 8, Algorithm::nvlstree, "all_reduce", 0.03, 0.09});
  // Two heads' trees meet on each NIC.
  const std::string shared = "{gpu: h100-sxm, gpus: 8, nics: {count: 4}}";
  compare({shared, 3, Algorithm::nvlstree, "all_reduce", 0.01, 0.06}, "1KiB, 1MiB, 8MiB, 64MiB");
}

// Nothing hides the links then. How the paths up and down meet on them is known only on average, which matters with few
// slices.
TEST_CASE("trees of heads agree on registered buffers") {
  const std::string sizes = "1KiB, 1MiB, 4MiB, 16MiB, 24MiB, 32MiB, 64MiB, 256MiB";
  for (const int nodes : {2, 4})
    compare({h100, nodes, Algorithm::nvlstree, "all_reduce", 0.02, 0.09, "registered"}, sizes);
  compare({h100, 3, Algorithm::nvlstree, "all_reduce", 0.02, 0.135, "registered"}, sizes);
  compare({four, 8, Algorithm::nvlstree, "all_reduce", 0.04, 0.11, "registered"}, sizes);
}

TEST_CASE("parallel aggregated trees agree") {
  for (const char* op : {"all_gather", "reduce_scatter"})
    for (const int nodes : {2, 3, 8, 17}) compare({single, nodes, Algorithm::pat, op, 0.025, 0.015});
}

TEST_CASE("reductions in the switches agree") {
  for (const int nodes : {2, 4}) {
    compare({h100, nodes, Algorithm::collnetchain, "all_reduce", 0.01, 0.04});
    compare({h100, nodes, Algorithm::nvls, "all_reduce", 0.01, 0.035});
  }
  compare({h100, 2, Algorithm::nvls, "all_reduce", 0.01, 0.03, "registered"});
  compare({h100, 2, Algorithm::collnetdirect, "all_reduce", 0.01, 0.02});
  compare({h100, 4, Algorithm::collnetdirect, "all_reduce", 0.01, 0.02}, "1KiB, 256KiB, 4MiB");
  compare({"{gpu: a100-sxm}", 2, Algorithm::collnetdirect, "all_reduce", 0.01, 0.07}, "1KiB, 1MiB, 8MiB, 32MiB");
}
