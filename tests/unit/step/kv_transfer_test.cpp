// KV caches that go from memory to memory: bytes over line rates, and bounds that no transfer beats.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "../../../sim/answer/inference/prefix.hpp"
#include "fabricast/report/inference.hpp"
#include "fabricast/step/timeline.hpp"
#include "support/collectives.hpp"
#include "support/worlds.hpp"

namespace fabricast {
namespace {

using test::pairs_of_ranks;

constexpr std::string_view two_nodes =
    "node: {profile: hgx-h100}\ncluster: {nodes: 2}\nfabric: {kind: rail_optimized}\nrouting: {kind: adaptive}\n"
    "workload: {kind: collective, collective: all_reduce}\n";
constexpr double line = 50e9;  // B/s of a NIC

/// B/s of payload of a NIC.
double payload(const World& world) { return line * world.planner().comm.node.header_efficiency; }

KvTransfer transfer_of(std::int64_t bytes, RankGroups pairs, Seconds posting = {}, int rails = 1) {
  KvTransfer t;
  t.bytes = bytes;
  t.pairs = {std::move(pairs)};
  t.direct = true;
  t.posting = posting;
  t.rails = rails;
  return t;
}

double seconds(const World& world, const KvTransfer& transfer) {
  const Program program = kv_transfer_program(transfer);
  const auto traffic = make_flow_traffic(world, program, 1);
  return run_program(program, *traffic).time.value;
}

std::string bottleneck(const World& world, const KvTransfer& transfer) {
  const Program program = kv_transfer_program(transfer);
  return make_flow_traffic(world, program, 1)->alone(0).bottleneck;
}

TEST_CASE("a cache takes its bytes over the line rate of a NIC", "[kv]") {
  const auto world = test::world_of(std::string(two_nodes));
  double before = 0;
  for (const std::int64_t bytes : {64LL << 20, 1LL << 30, 8LL << 30}) {
    CAPTURE(bytes);
    const double time = seconds(world, transfer_of(bytes, pairs_of_ranks(0, 1, 8)));
    const double least = static_cast<double>(bytes) / payload(world);
    CHECK(time > least);
    CHECK(time < least + 50e-6);  // of one message
    CHECK(time > before);
    before = time;
  }
  // Every GPU has a NIC of its own.
  const std::int64_t bytes = 1 << 30;
  CHECK(seconds(world, transfer_of(bytes, pairs_of_ranks(0, 8, 8))) ==
        Approx(seconds(world, transfer_of(bytes, pairs_of_ranks(0, 1, 8)))).epsilon(1e-3));
  CHECK(bottleneck(world, transfer_of(bytes, pairs_of_ranks(0, 8, 8))).find("nic") != std::string::npos);
}

TEST_CASE("no GPU receives faster than its NIC, whoever sends", "[kv]") {
  const auto world = test::world_of(std::string(two_nodes));
  KvTransfer two = transfer_of(1 << 30, {{0, 8}});
  two.pairs.push_back({{1, 8}});
  const double one = seconds(world, transfer_of(1 << 30, {{0, 8}}));
  CHECK(seconds(world, two) > 2.0 * (1 << 30) / payload(world));
  CHECK(seconds(world, two) == Approx(2 * one).epsilon(0.01));
}

TEST_CASE("the host posts descriptors while the first of them are sent", "[kv]") {
  const auto world = test::world_of(std::string(two_nodes));
  const std::int64_t bytes = 1 << 30;
  const double alone = seconds(world, transfer_of(bytes, pairs_of_ranks(0, 8, 8)));
  double before = 0;
  for (const double posting : {0.0, 0.001, 0.01, 0.1, 1.0}) {
    CAPTURE(posting);
    const KvTransfer t = transfer_of(bytes, pairs_of_ranks(0, 8, 8), Seconds{posting});
    const double time = seconds(world, t);
    CHECK(time >= before);
    CHECK(time == Approx(std::max(alone, posting)).margin(50e-6));
    CHECK((bottleneck(world, t) == "posting of descriptors") == (posting > alone));
    before = time;
  }
}

TEST_CASE("rails add up, as far as the GPU's PCIe carries them", "[kv]") {
  const auto world = test::world_of(
      "node: {gpu: h100-sxm, gpus: 1, intranode: none, pcie_switches: 1, nics: {count: 8, rate: 100Gbps, link: "
      "infiniband}}\ncluster: {nodes: 2}\nfabric: {kind: rail_optimized}\nrouting: {kind: adaptive}\n"
      "workload: {kind: collective, collective: all_reduce}\n");
  const std::int64_t bytes = 1 << 30;
  const double nic = payload(world) / 4;
  const double pcie = 63e9;  // PCIe 5 x16
  double before = 1;
  for (const int rails : {1, 2, 4, 8}) {
    CAPTURE(rails);
    const double time = seconds(world, transfer_of(bytes, {{0, 1}}, {}, rails));
    CHECK(time >= static_cast<double>(bytes) / (rails * nic));
    CHECK(time >= static_cast<double>(bytes) / pcie);
    CHECK(time <= before);
    if (rails <= 4) CHECK(time == Approx(static_cast<double>(bytes) / (rails * nic)).epsilon(0.01));
    before = time;
  }
}

TEST_CASE("NVLink is faster than NICs, and host memory is not", "[kv]") {
  const auto world = test::world_of(std::string(two_nodes));
  const auto staged = test::world_of(std::string(two_nodes), {"node.gdr=false"});
  const std::int64_t bytes = 1 << 30;
  const double rdma = seconds(world, transfer_of(bytes, pairs_of_ranks(0, 8, 8)));
  const double nvlink = seconds(world, transfer_of(bytes, {{0, 1}}));
  CHECK(nvlink > static_cast<double>(bytes) / 450e9);
  CHECK(nvlink < rdma / 5);
  CHECK(seconds(staged, transfer_of(bytes, pairs_of_ranks(0, 8, 8))) > 1.2 * rdma);
}

constexpr std::string_view apart =
    "node: {profile: hgx-h200}\ncluster: {nodes: 2}\nworkload: {kind: inference, model: {preset: llama3-70b}, phase: "
    "both, batch: 1, input: 20000, output: 100, parallel: {tensor: 8}, disaggregated: {prefill: {gpus: 8, parallel: "
    "{tensor: 8}}}}\n";

TEST_CASE("the time to the first token has the exposed part of the transfer", "[kv]") {
  const auto forecast = [](const std::vector<std::string>& set) {
    return run_inference(test::world_of(std::string(apart), set), {}, false);
  };
  const std::string alone = "workload.load.clients=1";
  const InferenceForecast after = forecast({alone, "workload.disaggregated.stream=false"});
  const InferenceForecast layers = forecast({alone, "workload.disaggregated.stream=true"});
  const DisaggregatedForecast &a = *after.disaggregated, &l = *layers.disaggregated;
  CHECK(a.exposed == a.transfer);
  CHECK(l.transfer.value == Approx(a.transfer.value));
  CHECK(l.exposed.value == Approx(l.transfer.value / 80));
  CHECK((a.serving.first_token.mean - l.serving.first_token.mean).value ==
        Approx((a.exposed - l.exposed).value).epsilon(1e-6));
  // 80 layers of keys and values of a head of 128, in blocks of 16 tokens.
  CHECK(a.sent.descriptors.count == 160 * 1250);
  // Fewer descriptors, and no more time.
  const InferenceForecast merged = forecast({alone, "workload.kv_cache.contiguous=0"});
  CHECK(merged.disaggregated->sent.descriptors.count == 160);
  CHECK(merged.disaggregated->transfer < a.transfer);
  CHECK(merged.disaggregated->transfer.value ==
        Approx(static_cast<double>(a.sent.bytes) / payload(merged.world)).epsilon(0.01));
  // NCCL's sends and receives never beat the line rate either.
  const InferenceForecast nccl = forecast({alone, "workload.kv_cache.library=nccl"});
  CHECK_FALSE(nccl.disaggregated->sent.direct);
  CHECK(nccl.disaggregated->transfer > merged.disaggregated->transfer);
}

constexpr std::string_view one_gpu =
    "node: {profile: hgx-h100}\ncluster: {nodes: 1}\nworkload: {kind: inference, model: {preset: llama3-8b}, phase: "
    "both, batch: 1, input: 20000, output: 10, load: {cached: 0.9, clients: 1}}\n";

TEST_CASE("a prefix is loaded at the rate of the path from memory", "[kv]") {
  const auto world = test::world_of(std::string(one_gpu), {"workload.kv_cache.tier=host"});
  const Node& node = world.planner().comm.node;
  const double alone = cache_load(node, 1, {}).rate.value;
  CHECK(alone > 50e9);
  CHECK(alone <= 63e9);  // PCIe 5 x16
  // Two GPUs share a switch's way to the socket, so all eight load at most eight times as fast.
  CHECK(cache_load(node, 8, {}).rate.value <= alone);
  CHECK(cache_load(node, 8, BytesPerSecond{8e9}).rate.value == Approx(1e9));
  CHECK(cache_load(node, 8, BytesPerSecond{8e9}).bottleneck == "drives");
  CHECK(cache_load(node, 1, BytesPerSecond{1e15}).rate.value == alone);

  const InferenceForecast f = run_inference(world, {}, false);
  REQUIRE(f.prefix);
  // 32 layers of 8 heads of 128, keys and values, 16 bits.
  CHECK(f.prefix->tokens == 18000);
  CHECK(f.prefix->bytes == Bytes{32LL * 2 * 8 * 128 * 2 * 18000});
  CHECK(f.prefix->load.value == Approx(static_cast<double>(f.prefix->bytes.value) / alone));
  CHECK(f.prefix->computed == f.prefill);
  CHECK(f.prefix->rest < f.prefix->computed);
  // The waits of requests have the load.
  const InferenceForecast near = run_inference(test::world_of(std::string(one_gpu)), {}, false);
  CHECK_FALSE(near.prefix);
  CHECK((f.shared->first_token.mean - near.shared->first_token.mean).value ==
        Approx(f.prefix->load.value).epsilon(1e-3));
  // Slow drives may be slower than computing.
  const InferenceForecast slow = run_inference(
      test::world_of(std::string(one_gpu), {"workload.kv_cache.tier=ssd", "workload.kv_cache.drives=1GBps"}), {},
      false);
  CHECK(slow.prefix->load.value == Approx(static_cast<double>(f.prefix->bytes.value) / 1e9));
  CHECK(slow.prefix->bottleneck == "drives");
}

TEST_CASE("a Grace CPU loads prefixes faster than PCIe", "[kv]") {
  const auto pcie = test::world_of(std::string(one_gpu), {"workload.kv_cache.tier=host"});
  const auto c2c = test::world_of(std::string(one_gpu), {"workload.kv_cache.tier=host", "node={gpu: gh200}"});
  const double faster =
      cache_load(c2c.planner().comm.node, 1, {}).rate / cache_load(pcie.planner().comm.node, 1, {}).rate;
  CHECK(faster > 4);
  CHECK(faster < 10);
}

}  // namespace
}  // namespace fabricast
