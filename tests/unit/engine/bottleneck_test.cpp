// The bottleneck of sends and receives: the proxy thread if it works more than it waits, else the path.
#include <catch2/catch.hpp>

#include "fabricast/report/forecast.hpp"
#include "support/worlds.hpp"

namespace fabricast {
namespace {

World eight_by_eight(const std::string& collective, const std::string& size, const std::string& env) {
  return test::world_of("node: {profile: hgx-h100}\ncluster: {nodes: 8}\nnccl: {env: {" + env +
                        "}}\nworkload: {collective: " + collective + ", sizes: [" + size + "]}\n");
}

std::string holds(const std::string& collective, const std::string& size, const std::string& env = {}) {
  return run_forecast(eight_by_eight(collective, size, env)).rows[0].result.bottleneck.name;
}

TEST_CASE("many messages are bound by the proxy thread", "[engine]") {
  const auto world = eight_by_eight("alltoall", "256KiB", "");
  const CollectiveResult r = run_forecast(world).rows[0].result;
  CHECK(r.bottleneck.name == "proxy thread");
  // 56 ranks are elsewhere; each is a message of one chunk.
  const Network& network = world.planner().comm.node.network;
  const double busy = 56 * (network.peer.us().value + network.peer_chunk.us().value);
  CHECK(busy < r.makespan.value);
  CHECK(busy > r.makespan.value / 2);
  CHECK(holds("gather", "256KiB") == "proxy thread");
}

TEST_CASE("many chunks are bound by the proxy thread, few by the link", "[engine]") {
  CHECK(holds("alltoall", "4GiB", "NCCL_P2P_NET_CHUNKSIZE: 4096") == "proxy thread");
  CHECK(holds("alltoall", "4GiB") == "node0.nic0-leaf0");
}

TEST_CASE("a thread that mostly waits counts as latency", "[engine]") { CHECK(holds("sendrecv", "8B") == "latency"); }

}  // namespace
}  // namespace fabricast
