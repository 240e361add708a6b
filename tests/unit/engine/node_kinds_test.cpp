// Nodes without an NVSwitch: no call is shorter than the bytes on a link divided by its rate, and flow agrees with
// chunk.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cmath>

#include "support/engines.hpp"

using namespace fabricast;

namespace {

std::string scenario(const std::string& node, int nodes, const std::string& op, const std::string& env = "{}") {
  return fmt::format(
      "fabricast: 1\nnode: {}\ncluster: {{nodes: {}}}\nrouting: {{kind: adaptive}}\n"
      "nccl: {{version: \"2.28\", env: {}}}\n"
      "workload: {{collective: {}, sizes: [1KiB, 1MiB, 256MiB], harness: {{tool: isolated}}}}\n",
      node, nodes, env, op);
}

/// \param least  s; lower bound of the longest call
void check(const std::string& text, double least, double most_difference) {
  const auto flow = test::rows_under("flow", text), chunk = test::rows_under("chunk", text);
  for (std::size_t i = 0; i < flow.size(); ++i) {
    CAPTURE(text, flow[i].plan.bytes, flow[i].time, chunk[i].time);
    CHECK(std::abs(flow[i].time / chunk[i].time - 1) <= most_difference);
  }
  CHECK(flow.back().time.value >= least);
  CHECK(flow.back().time.value <= 1.5 * least);
}

constexpr double bytes = 256 << 20;
const std::string cube = "{gpu: v100-sxm, intranode: nvlink_mesh}";
const std::string alone = "{NCCL_P2P_DISABLE: 1, NCCL_SHM_DISABLE: 1}";

}  // namespace

TEST_CASE("rings on a DGX-1 fill six links of 25 GB/s") {
  check(scenario(cube, 1, "all_reduce", "{NCCL_ALGO: Ring}"), 2 * bytes * 7 / 8 / 150e9, 0.02);
  check(scenario(cube, 1, "all_gather", "{NCCL_ALGO: Ring}"), bytes * 7 / 8 / 150e9, 0.02);
}

TEST_CASE("GPUs that reach each other only over the network send everything by their NICs") {
  const std::string node = "{gpu: rtx6000d, nics: {link: roce}}";
  check(scenario(node, 1, "all_gather", alone), bytes * 7 / 8 / 50e9, 0.02);
  check(scenario(node, 2, "all_gather", alone), bytes * 15 / 16 / 50e9, 0.02);
  // Four GPUs share a NIC. In flow each waits there for its own messages, in chunk for those of all.
  const std::string shared = "{gpu: rtx6000d, nics: {count: 2, link: roce}}";
  check(scenario(shared, 1, "all_gather", alone), 4 * bytes * 7 / 8 / 50e9, 0.25);
}
