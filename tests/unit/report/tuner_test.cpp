// The exported table, read back with the rules of the plugin.
#include <catch2/catch.hpp>

#include <cmath>
#include <limits>
#include <random>

#include "fabricast/report/tuner.hpp"
#include "fabricast/report/what_if.hpp"
#include "support/tuner_plugin.hpp"
#include "support/worlds.hpp"

namespace {

using namespace fabricast;
using test::TunerPlugin;
using test::world_of;

constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();

/// NVSwitch nodes under ecmp, one node, PCIe only, a forced algorithm, one GPU per node.
const std::vector<std::string> clusters = {
    "node: {profile: hgx-h100-roce}\ncluster: {nodes: 6}\nfabric: {kind: fat_tree, switch: {ports: 32}}\n"
    "routing: {kind: ecmp, seeds: 3}\nworkload: {}\n",
    "node: {profile: hgx-h100}\ncluster: {nodes: 1}\nworkload: {}\n",
    "node: {gpu: l40s, gpus: 4, nics: {count: 1, rate: 100Gbps}}\ncluster: {nodes: 4}\nworkload: {}\n",
    "node: {profile: hgx-h100}\ncluster: {nodes: 4}\nnccl: {env: {NCCL_ALGO: Tree}}\nworkload: {}\n",
    "node: {gpu: a100-sxm, gpus: 1, nics: {count: 1, rate: 200Gbps}}\ncluster: {nodes: 8}\nworkload: {}\n"};

/// The point that a size belongs to: the nearest by ratio.
const TunerPoint& nearest(const TunerTable& table, double bytes) {
  for (std::size_t i = 0; i + 1 < table.points.size(); ++i)
    if (bytes * bytes < static_cast<double>(table.points[i].bytes) * static_cast<double>(table.points[i + 1].bytes))
      return table.points[i];
  return table.points.back();
}

std::vector<std::int64_t> probes(const TunerTable& table, std::mt19937_64& random) {
  std::vector<std::int64_t> sizes = {0, 1, 2, largest - 1, largest};
  for (const TunerPoint& p : table.points) sizes.insert(sizes.end(), {p.bytes - 1, p.bytes, p.bytes + 1});
  std::uniform_real_distribution<double> exponent(0, 62.9);
  for (int i = 0; i < 200; ++i) sizes.push_back(static_cast<std::int64_t>(std::exp2(exponent(random))));
  return sizes;
}

Forecast run_one(const World& world, CollectiveOp op, std::int64_t bytes, const TunerChoice& c) {
  return run_plans(world, {plan_collective(world.planner(), op, bytes, c.algorithm, c.protocol, c.channels)});
}

}  // namespace

TEST_CASE("the plugin finds the intended choice at every size", "[tuner]") {
  std::mt19937_64 random(3);
  for (const std::string& cluster : clusters) {
    CAPTURE(cluster);
    const auto world = world_of(cluster);
    const Communicator& comm = world.planner().comm;
    const TunerTables tables = tuner_tables(world);
    const TunerPlugin plugin(tuner_csv(tables));
    CHECK(tables.one_node.size() == (comm.nodes() > 1 && comm.gpus() > 1 ? 5 : 0));
    for (const auto& [list, nodes, ranks] : {std::tuple(&tables.job, comm.nodes(), comm.ranks()),
                                             std::tuple(&tables.one_node, std::int64_t{1}, std::int64_t{comm.gpus()})})
      for (std::size_t f = 0; f < list->size(); ++f) {
        const TunerTable& table = (*list)[f];
        CHECK(static_cast<std::size_t>(table.op) == f);
        for (const std::int64_t bytes : probes(table, random)) {
          const auto answer = plugin.ask(static_cast<int>(f), static_cast<std::uint64_t>(bytes),
                                         static_cast<int>(nodes), static_cast<int>(ranks));
          const TunerChoice& wanted = nearest(table, static_cast<double>(bytes)).choice;
          CAPTURE(f, bytes, ranks);
          REQUIRE(answer.found);
          REQUIRE(answer.algorithm == static_cast<int>(wanted.algorithm));
          REQUIRE(answer.protocol == static_cast<int>(wanted.protocol));
          REQUIRE(answer.channels == wanted.channels);
        }
      }
  }
}

TEST_CASE("no call falls back to one channel by accident", "[tuner]") {
  // Other shapes of communicators, and calls for which NCCL allows few algorithms or a single one.
  const auto world = world_of(clusters[0]);
  const TunerPlugin plugin(tuner_csv(tuner_tables(world)));
  // 8 channels of the search for 8 NICs, doubled [NCCL-search-3.4].
  const int channels = 16;
  test::Allowed ring_simple{}, plain{};
  ring_simple[1][2] = true;
  plain[0].fill(true), plain[1].fill(true);
  for (int f = 0; f < 5; ++f)
    for (const std::uint64_t bytes : {0ULL, 1ULL, 4096ULL, 1ULL << 20, 1ULL << 33, (1ULL << 63) - 1})
      for (const auto& [nodes, ranks] : {std::pair(6, 48), std::pair(1, 8), std::pair(6, 6), std::pair(600, 4800)})
        for (const test::Allowed& allowed : {test::everything(), plain, ring_simple}) {
          const auto answer = plugin.ask(f, bytes, nodes, ranks, allowed);
          CAPTURE(f, bytes, nodes, ranks);
          CHECK(answer.found);
          CHECK(allowed[static_cast<std::size_t>(answer.algorithm)][static_cast<std::size_t>(answer.protocol)]);
          if (bytes >= 1ULL << 33) CHECK(answer.channels >= channels);
        }
}

TEST_CASE("the table is within the tolerance of the fastest, and keeps NCCL's choice within it", "[tuner]") {
  for (const std::string& cluster : clusters) {
    CAPTURE(cluster);
    const auto world = world_of(cluster);
    for (const TunerTable& table : tuner_tables(world).job)
      for (const TunerPoint& p : table.points) {
        const Plan own = plan_collective(world.planner(), table.op, p.bytes);
        CAPTURE(name_of(table.op), p.bytes);
        if (own.stands_in) {
          CHECK(p.choice.algorithm == own.candidates.front().algorithm);
          continue;
        }
        // By public functions: NCCL's own plan, and every other one with NCCL's channels.
        const Seconds nccl = run_plans(world, {own}).rows.front().time;
        REQUIRE(p.nccl.time.value == Approx(nccl.value).epsilon(1e-12));
        REQUIRE(p.nccl.channels == own.channels);
        REQUIRE(p.choice.time.value ==
                Approx(run_one(world, table.op, p.bytes, p.choice).rows.front().time.value).epsilon(1e-12));
        REQUIRE(p.choice.time <= nccl);
        for (const Candidate& c : own.candidates)
          if (is_simulated(world.planner().comm, table.op, c.algorithm, c.protocol)) {
            const Plan other = plan_collective(world.planner(), table.op, p.bytes, c.algorithm, c.protocol);
            REQUIRE(p.choice.time * (1 - least_gain) <= run_plans(world, {other}).rows.front().time * (1 + 1e-12));
          }
        const bool kept = p.choice.algorithm == own.algorithm && p.choice.protocol == own.protocol &&
                          p.choice.channels == own.channels;
        if (!kept) REQUIRE(p.choice.time < nccl);
      }
  }
}

TEST_CASE("names and order of fields are those of the plugin", "[tuner]") {
  const auto world = world_of("name: \"a\\nb,c\"\n" + clusters[3]);
  TunerTable table;
  table.op = CollectiveOp::reduce_scatter, table.nodes = 4, table.ranks = 32;
  table.points.resize(2);
  table.ranges = {{0, 1023, {Algorithm::collnetdirect, Protocol::simple, 8, 0}, 0, 1},
                  {1024, largest, {Algorithm::nvlstree, Protocol::ll128, 16, 0}, 1, 2}};
  table.plain = {{0, largest, {Algorithm::tree, Protocol::ll, 12, 0}, 0, 2}};
  table.otherwise = {Algorithm::collnetchain, Protocol::simple, 4, 0};
  TunerTable inside = table;
  inside.op = CollectiveOp::all_reduce, inside.nodes = 1, inside.ranks = 8;
  inside.ranges = {{0, largest, {Algorithm::nvls, Protocol::simple, 24, 0}, 0, 2}};
  std::string lines;
  std::istringstream in(tuner_csv({world, {table}, {}, {inside}}));
  for (std::string line; std::getline(in, line);)
    if (line[0] != '#') lines += line + "\n";
  CHECK(lines ==
        "reducescatter,0,1023,collnet_direct,simple,8,4,32\n"
        "reducescatter,1024,9223372036854775807,nvls_tree,ll128,16,4,32\n"
        "allreduce,0,9223372036854775807,nvls,simple,24,1,8\n"
        "allreduce,0,9223372036854775807,tree,ll,12,1,8\n"
        "reducescatter,0,9223372036854775807,tree,ll,12,-1,-1\n"
        "reducescatter,0,9223372036854775807,collnet_chain,simple,4,-1,-1\n");
}

TEST_CASE("a table requires the flow engine", "[tuner]") {
  const auto world = world_of(clusters[1] + "network: {engine: bound}\n");
  CHECK_THROWS_AS(tuner_tables(world), UserError);
  CHECK_THROWS_AS(advise(world), UserError);
}

TEST_CASE("a profile overrides NCCL only where the whole interval of the gain is above zero", "[tuner]") {
  const auto world = world_of(
      "node: {profile: hgx-h100-roce}\ncluster: {nodes: 6}\nfabric: {kind: fat_tree, switch: {ports: 32}}\n"
      "routing: {kind: ecmp, seeds: 3}\nnccl: {version: \"2.28.3\"}\nworkload: {}\n");
  const TunerTables tables = tuner_tables(world);
  const SiteResiduals site(shipped_residuals(), {}, {});
  const std::vector<TunerRules> all = tuner_rules(tables, site);
  REQUIRE(all.size() == 10);  // five operations on the job and on one node
  std::size_t ranges = 0;
  for (std::size_t k = 0; k < all.size(); ++k) {
    const TunerRules& o = all[k];
    const TunerTable& table = k < 5 ? tables.job[k] : tables.one_node[k - 5];
    const World& of = k < 5 ? world : tables.node;
    CHECK(o.op == table.op);
    CHECK(o.shape.ranks == static_cast<std::uint64_t>(table.ranks));
    std::uint64_t next = 0;  // the first size that no range before has
    for (const TunerRule& range : o.rules) {
      CAPTURE(name_of(o.op), o.shape.nodes, range.from);
      ++ranges;
      CHECK(range.from >= next);
      CHECK(range.to >= range.from);
      next = range.to + 1;
      CHECK(range.gain[0] > 0);
      CHECK(range.gain[1] > range.gain[0]);
      CHECK(range.gain[2] > range.gain[1]);
      CHECK(range.gain[2] < 1);
      // At one of its sizes at least, NCCL's own choice takes as much longer as the range says.
      double nearest_gain = 1;
      for (const TunerPoint& p : table.points) {
        if (const auto size = static_cast<std::uint64_t>(p.bytes); size < range.from || size > range.to) continue;
        const ForecastRow nccl = run_plans(of, {plan_collective(of.planner(), o.op, p.bytes)}).rows.front();
        CHECK(nccl.algorithm == p.nccl.algorithm);
        CHECK(nccl.protocol == p.nccl.protocol);
        const double gain =
            1 -
            run_one(of, o.op, p.bytes, {range.algorithm, range.protocol, range.channels, Seconds{}}).rows.front().time /
                nccl.time;
        if (std::abs(gain - range.gain[1]) < std::abs(nearest_gain - range.gain[1])) nearest_gain = gain;
      }
      CHECK(nearest_gain == Catch::Detail::Approx(range.gain[1]).epsilon(1e-12));
    }
  }
  CHECK(ranges > 0);
  // A site that is known less well is overridden less.
  ResidualModel vague = shipped_residuals();
  vague.row *= 100;
  std::size_t left = 0;
  const SiteResiduals unsure(vague, {}, {});
  for (const TunerRules& o : tuner_rules(tables, unsure)) left += o.rules.size();
  CHECK(left == 0);
  const auto unknown = world_of("node: {profile: hgx-h100}\ncluster: {nodes: 2}\nworkload: {}\n");
  const TunerTables of_unknown = tuner_tables(unknown);
  CHECK_THROWS_AS(tuner_rules(of_unknown, site), UserError);
}
