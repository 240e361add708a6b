// More work never takes less time, on random scenarios.
//
// A seed determines a scenario (GPU, GPUs per node, NICs, network, fabric, routing, NCCL version) and a call (any
// operation with any algorithm and protocol that NCCL offers there and that has a schedule). Four changes are made,
// each with all else unchanged:
//
//   bytes             the shares of all channels grow; channels, threads, chunk and slots stay those that NCCL chooses
//                     for the larger size. Where NCCL itself changes them with size, the time may drop.
//   slower parts      one hardware parameter gets worse; NCCL's plan depends on none of them. Rates over several nodes:
//                     with Simple, and adaptive or spray routing.
//   nodes             nodes join at the end of the list, on the same fabric, from 2 nodes on; channels and chunk as for
//                     the smaller job. For trees at least twice as many nodes, because trees of one depth have several
//                     shapes. Long calls with Simple, and adaptive or spray routing. Not sends and receives: the
//                     number of ranks changes the message of a pair, and with it whether it is a multiple of 16 B (if
//                     not, copies are 50 times slower), its channels and its slots. Not PAT: three ranks have one
//                     message in flight on each dimension, seven have two.
//   oversubscription  fewer uplinks, as many tiers. Long calls with Simple, and adaptive or spray routing. Not
//                     sendrecv: more nodes share a leaf then, and messages that wait for slots gain from the shorter
//                     paths.
//
// Reasons for the exceptions: hash outcomes may be better by chance with fewer uplinks, or if a ring closes elsewhere,
// and flow takes the mean of the hops of a ring with collisions. Small messages of LL and LL128 queue at proxy threads
// and NICs in the order of arrival, and a slower link can produce a better order. Both engines show this: with seed
// 4760, NICs at 44 % of their rate make an LL ring 8 % faster with flow and 6 % with chunk.
//
// A slower proxy thread keeps the channels of a NIC further apart, so they share a link inside the node less: up to a
// ten-thousandth, which `apart` allows.
//
// Times are those of isolated calls by the flow engine. The other tolerance is that of rounding. To examine a failure,
// run with its seed, which is printed with the scenario.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <optional>

#include "fabricast/collective/algorithm.hpp"
#include "fabricast/scenario/world.hpp"
#include "support/dice.hpp"
#include "support/random_scenario.hpp"

using namespace fabricast;
using fabricast::test::one_of;

namespace {

// A slower part can keep messages apart that would otherwise share a link. Then more of them take slightly less time.
constexpr double rounding = 1 + 1e-9, apart = 1 + 5e-4, long_calls = 1 + 4e-3;

struct Sample {
  std::string node, fabric, routing, version;
  int nodes = 1, oversubscription = 1;
  bool clos = true;  ///< the fabric has an oversubscription

  std::string text(int job, int ratio) const {
    return fmt::format(
        "fabricast: 1\nnode: {}\ncluster: {{nodes: {}, size: {}}}\nfabric: {{{}{}}}\nrouting: {}\nnccl: {{version: "
        "\"{}\"}}\nworkload: {{collective: all_reduce, sizes: [1MiB]}}\n",
        node, job, nodes, fabric, clos ? fmt::format(", oversubscription: {}", ratio) : "", routing, version);
  }
};

Sample sample_scenario(Rng& rng) {
  Sample d;
  const auto gpu = one_of<std::string_view>(
      rng, {"v100-sxm", "a100-sxm", "h100-sxm", "h200-sxm", "b200", "a100-pcie", "l40s", "rtx4090"});
  const int gpus = one_of(rng, {1, 2, 4, 8});
  const int nics = gpus == 1 ? 1 : one_of(rng, {1, gpus / 2, gpus, gpus});
  d.node = fmt::format("{{gpu: {}, gpus: {}{}, nics: {{count: {}, rate: {}Gbps, link: {}}}, gdr: {}}}", gpu, gpus,
                       gpus == 1 ? ", intranode: none" : "", nics, one_of(rng, {100, 200, 400}),
                       one_of<std::string_view>(rng, {"infiniband", "roce", "slingshot", "efa", "socket"}),
                       one_of<std::string_view>(rng, {"auto", "true", "false"}));
  d.nodes = gpus == 1 || rng.below(4) > 0 ? 2 + static_cast<int>(rng.below(rng.below(4) ? 7 : 23)) : 1;
  d.oversubscription = one_of(rng, {1, 1, 2, 4});
  const auto kind = one_of<std::string_view>(rng, {"single_switch", "fat_tree", "rail_optimized"});
  d.clos = kind != "single_switch";
  d.fabric = fmt::format("kind: {}{}", kind,
                         d.clos ? fmt::format(", switch: {{ports: {}}}", one_of(rng, {16, 32, 64})) : std::string());
  d.routing =
      one_of<std::string_view>(rng, {"{kind: adaptive}", "{kind: spray}", "{kind: static}", "{kind: ecmp, seeds: 1}"});
  d.version = one_of<std::string_view>(rng, {"2.8", "2.18", "2.22", "2.28", "2.30"});
  return d;
}

/// The same on another kind of fabric (support/random_scenario.hpp).
Sample sample_direct(Rng& rng, std::string_view kind) {
  Sample d = sample_scenario(rng);
  d.clos = false;
  const std::string fabric = test::direct_fabric(rng, kind, d.nodes);
  d.fabric = fabric.substr(1, fabric.size() - 2);
  if (test::has_detours(kind) && rng.below(4) == 0)
    d.routing = one_of<std::string_view>(rng, {"{kind: valiant, seeds: 1}", "{kind: ugal}"});
  return d;
}

World world_of(const Sample& d, int job, int ratio, const Hardware* hardware = nullptr) {
  Scenario scenario = parse_scenario(d.text(job, ratio), "random.yaml").scenario;
  if (hardware) scenario.hardware = *hardware;
  return build_world(std::move(scenario));
}

struct Call {
  CollectiveOp op;
  Algorithm algorithm;
  Protocol protocol;
};

/// Any call that NCCL can make there and that has a schedule.
Call sample_call(const Planner& planner, Rng& rng) {
  std::vector<Call> calls;
  for (std::size_t o = 0; o < EnumNames<CollectiveOp>::names.size(); ++o)
    for (const CollectiveAlgorithm& a : collective_algorithms())
      for (std::size_t p = 0; p < 3; ++p) {
        const Call call{static_cast<CollectiveOp>(o), a.algorithm, static_cast<Protocol>(p)};
        if (!is_simulated(planner.comm, call.op, call.algorithm, call.protocol)) continue;
        // Point-to-point operations have no costs: they are always Simple.
        const bool usable = o < planner.default_costs.of.size()
                                ? planner.default_costs.time(call.op, call.algorithm, call.protocol, 1 << 20) >= 0
                                : call.protocol == Protocol::simple;
        if (usable) calls.push_back(call);
      }
  REQUIRE(!calls.empty());
  return calls[rng.below(calls.size())];
}

Plan plan_of(const Planner& planner, const Call& call, std::int64_t bytes) {
  return plan_collective(planner, call.op, bytes, call.algorithm, call.protocol);
}

double time_of(const World& world, const Plan& plan) {
  const CollectiveResult r = make_flow_engine(world.setup(), world.samples().first_seed)->run(plan);
  return (r.launch + r.makespan).value;
}

/// 2^low to 2^high, evenly on a logarithmic axis.
std::int64_t sample_bytes(Rng& rng, double low, double high) {
  return static_cast<std::int64_t>(std::exp2(rng.uniform(low, high)));
}

/// A call so long that only bandwidth matters: each channel has a thousand loops. One loop more or less at either end
/// is then below a five-hundredth, which `long_calls` allows.
std::int64_t long_call(const Planner& planner, const Call& call) {
  const bool around =
      call.algorithm == Algorithm::ring && call.op != CollectiveOp::broadcast && call.op != CollectiveOp::reduce;
  const std::int64_t chunk = plan_of(planner, call, std::int64_t{1} << 34).chunk;
  return 1024 * chunk * planner.comm.channels * (around ? planner.comm.ranks() : 1);
}

/// Two times, of which the second must not be smaller; none if the change does not apply to the scenario.
struct Compared {
  double less = 0, more = 0;
  std::string what;
};
using Change = std::optional<Compared> (*)(const Sample&, Rng&);

std::optional<Compared> more_bytes(const Sample& d, Rng& rng) {
  const auto world = world_of(d, d.nodes, d.oversubscription);
  const Call call = sample_call(world.planner(), rng);
  const Plan large = plan_of(world.planner(), call, sample_bytes(rng, 4, 31));
  Plan small = large;
  const double part = rng.uniform();
  std::int64_t offset = 0;
  for (std::size_t c = 0; c < small.shares.size(); ++c) {
    small.shares[c] = static_cast<std::int64_t>(part * static_cast<double>(large.shares[c])) / 16 * 16;
    small.shares[c] = std::min(large.shares[c], std::max<std::int64_t>(16, small.shares[c]));
    small.offsets[c] = offset, offset += small.shares[c];
  }
  small.bytes = large.bytes / std::max<std::int64_t>(1, large.shares[0]) * small.shares[0];
  return Compared{time_of(world, small), time_of(world, large),
                  fmt::format("{} {} {}: {} and {} B on channel 0 of {}", name_of(call.op), name_of(call.algorithm),
                              name_of(call.protocol), small.shares[0], large.shares[0], large.channels)};
}

/// Whether routing spreads each connection over all its paths.
bool spreads(const Sample& d) { return d.routing == "{kind: adaptive}" || d.routing == "{kind: spray}"; }

std::optional<Compared> slower_part(const Sample& d, Rng& rng) {
  const auto world = world_of(d, d.nodes, d.oversubscription);
  const Call call = sample_call(world.planner(), rng);
  const Plan plan = plan_of(world.planner(), call, sample_bytes(rng, 4, 32));
  Hardware worse = world.scenario().hardware;
  const GpuKind& gpu = worse.gpus.find(world.scenario().node.spec.gpu)->second;
  const std::string network = std::string(name_of(world.scenario().node.spec.nics.link));
  std::vector<std::pair<std::string, ParameterRef>> parameters;
  for (const auto& entry : worse.all_parameters())
    for (const std::string& prefix : {"architectures." + gpu.architecture + ".", "networks." + network + ".",
                                      std::string("links."), std::string("pcie_paths."), std::string("software.")})
      if (entry.first.starts_with(prefix) && entry.first.find("message_threshold") == std::string::npos)
        parameters.push_back(entry);
  const auto& [path, ref] = parameters[rng.below(parameters.size())];
  const bool rate = ref.unit == "GB/s" || path.ends_with("efficiency") || path.ends_with("both_ways");
  if (rate && d.nodes > 1 && !(call.protocol == Protocol::simple && spreads(d))) return std::nullopt;
  const double factor = rng.uniform(1.05, 3);
  ref.parameter->value *= rate ? 1 / factor : factor;
  const auto slower = world_of(d, d.nodes, d.oversubscription, &worse);
  return Compared{time_of(world, plan), time_of(slower, plan),
                  fmt::format("{} {} {}, {} B: {} worse by {:.3f}", name_of(call.op), name_of(call.algorithm),
                              name_of(call.protocol), plan.bytes, path, factor)};
}

std::optional<Compared> more_nodes(const Sample& d, Rng& rng) {
  if (d.nodes < 3 || !spreads(d)) return std::nullopt;
  const int fewer = 2 + static_cast<int>(rng.below(static_cast<std::uint64_t>(d.nodes - 2)));
  const auto small = world_of(d, fewer, d.oversubscription), large = world_of(d, d.nodes, d.oversubscription);
  const Call call = sample_call(small.planner(), rng);
  if (call.protocol != Protocol::simple || is_point_to_point(call.op) || call.algorithm == Algorithm::pat)
    return std::nullopt;
  const std::int64_t bytes = long_call(large.planner(), call);
  const Plan plan = plan_of(small.planner(), call, bytes);
  Plan grown = plan_of(large.planner(), call, bytes);
  if (grown.channels != plan.channels) return std::nullopt;
  // Trees of one depth have several shapes, and a fuller one may be faster.
  if (call.algorithm != Algorithm::ring && d.nodes < 2 * fewer) return std::nullopt;
  grown.chunk = plan.chunk;
  return Compared{time_of(small, plan), time_of(large, grown),
                  fmt::format("{} {} {}, {} B: {} or {} nodes", name_of(call.op), name_of(call.algorithm),
                              name_of(call.protocol), bytes, fewer, d.nodes)};
}

std::optional<Compared> more_oversubscription(const Sample& d, Rng& rng) {
  if (!d.clos || d.nodes < 2 || !spreads(d)) return std::nullopt;
  Sample fixed = d;
  fixed.fabric += fmt::format(", tiers: {}", one_of(rng, {2, 3}));
  World wide, narrow;
  try {
    wide = world_of(fixed, d.nodes, d.oversubscription), narrow = world_of(fixed, d.nodes, 2 * d.oversubscription);
  } catch (const UserError&) { return std::nullopt; }  // too many nodes for two tiers
  const Call call = sample_call(wide.planner(), rng);
  if (call.protocol != Protocol::simple || call.op == CollectiveOp::sendrecv) return std::nullopt;
  const Plan plan = plan_of(wide.planner(), call, long_call(wide.planner(), call));
  return Compared{time_of(wide, plan), time_of(narrow, plan),
                  fmt::format("{} {} {}, {} B: {} or {} : 1", name_of(call.op), name_of(call.algorithm),
                              name_of(call.protocol), plan.bytes, d.oversubscription, 2 * d.oversubscription)};
}

/// Samples scenarios until `wanted` of them have been compared.
/// \param kind  of fabric; empty: Clos networks
void check(Change change, int wanted, double tolerance = rounding, std::string_view kind = {}) {
  int done = 0;
  for (std::uint64_t seed = 1; done < wanted; ++seed) {
    REQUIRE(seed < 100 * static_cast<std::uint64_t>(wanted));
    Rng rng(seed);
    const Sample d = kind.empty() ? sample_scenario(rng) : sample_direct(rng, kind);
    std::optional<Compared> compared;
    try {
      compared = change(d, rng);
    } catch (const UserError&) {
      // Rails that do not meet carry no flow between them.
      if (kind != "islands") throw;
    }
    if (!compared) continue;
    ++done;
    INFO("seed " << seed << ": " << compared->what << "\n" << d.text(d.nodes, d.oversubscription));
    CHECK(compared->less > 0);
    CHECK(compared->more * tolerance >= compared->less);
  }
}

}  // namespace

TEST_CASE("more work never takes less time, on 200 random scenarios", "[monotonicity]") {
  SECTION("bytes") { check(more_bytes, 50); }
  SECTION("slower parts") { check(slower_part, 50, apart); }
  SECTION("nodes") { check(more_nodes, 50, long_calls); }
  SECTION("oversubscription") { check(more_oversubscription, 50, long_calls); }
}

namespace {
/// A part for each kind of fabric. Nodes that join are compared on Clos networks only: elsewhere they may open shorter
/// paths for those that were there.
void check_direct(int each) {
  for (const std::string_view kind : test::other_fabrics) {
    CAPTURE(kind);
    check(more_bytes, each, rounding, kind);
    check(slower_part, each, apart, kind);
  }
}
}  // namespace

TEST_CASE("nor on dragonflies, tori, planes and other fabrics, 24 scenarios of each", "[monotonicity]") {
  check_direct(12);
}

TEST_CASE("nor on dragonflies, tori, planes and other fabrics, 1000 scenarios of each", "[.thousands]") {
  check_direct(500);
}

TEST_CASE("more work never takes less time, on 10000 random scenarios", "[.thousands]") {
  SECTION("bytes") { check(more_bytes, 2500); }
  SECTION("slower parts") { check(slower_part, 2500, apart); }
  SECTION("nodes") { check(more_nodes, 2500, long_calls); }
  SECTION("oversubscription") { check(more_oversubscription, 2500, long_calls); }
}
