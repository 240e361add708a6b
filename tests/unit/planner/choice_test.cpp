// What NCCL's own model chooses, against the decisions of NCCL's code [NCCL-tuning].
#include <catch2/catch.hpp>

#include "support/reducing.hpp"

namespace fabricast {
namespace {

constexpr std::int64_t KiB = 1 << 10, MiB = 1 << 20, GiB = 1 << 30;

struct Choice {
  std::int64_t from;
  Algorithm algorithm;
  Protocol protocol;
};
struct Row {
  std::uint32_t nodes;
  std::vector<Choice> choices;
};

constexpr auto ring = Algorithm::ring, tree = Algorithm::tree, nvls = Algorithm::nvls, nvlstree = Algorithm::nvlstree;
constexpr auto ll = Protocol::ll, ll128 = Protocol::ll128, simple = Protocol::simple;

/// First of the smallest, in NCCL's order of algorithms and protocols.
std::pair<Algorithm, Protocol> choose(const CostTable& costs, CollectiveOp op, std::int64_t bytes) {
  std::pair<Algorithm, Protocol> best{};
  double least = -1;
  for (std::size_t a = 0; a < algorithm_count; ++a)
    for (std::size_t p = 0; p < 3; ++p) {
      const double t = costs.time(op, static_cast<Algorithm>(a), static_cast<Protocol>(p), bytes);
      if (t >= 0 && (least < 0 || t < least)) least = t, best = {static_cast<Algorithm>(a), static_cast<Protocol>(p)};
    }
  REQUIRE(least >= 0);
  return best;
}

void check_choices(std::string_view preset, CollectiveOp op, const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    const Planner planner = test::planner_of(test::preset_spec(preset), row.nodes);
    for (std::int64_t bytes = 8; bytes <= 16 * GiB; bytes *= 2) {
      Choice expected = row.choices.front();
      for (const Choice& c : row.choices)
        if (bytes >= c.from) expected = c;
      const auto [algorithm, protocol] = choose(planner.costs, op, bytes);
      INFO(preset << " " << name_of(op) << ", " << row.nodes << " nodes, " << bytes << " B");
      CHECK(name_of(algorithm) == name_of(expected.algorithm));
      CHECK(name_of(protocol) == name_of(expected.protocol));
    }
  }
}

const std::vector<Row> h100_all_reduce = {
    {1, {{8, ring, ll}, {2 * MiB, nvls, simple}}},
    {2, {{8, tree, ll}, {256 * KiB, tree, ll128}, {2 * MiB, nvlstree, simple}}},
    {4, {{8, tree, ll}, {256 * KiB, tree, ll128}, {8 * MiB, nvlstree, simple}, {1 * GiB, ring, simple}}},
    {8, {{8, tree, ll}, {256 * KiB, tree, ll128}, {16 * MiB, nvlstree, simple}, {4 * GiB, ring, simple}}},
    {16, {{8, tree, ll}, {256 * KiB, tree, ll128}, {16 * MiB, nvlstree, simple}, {8 * GiB, ring, simple}}},
    {32, {{8, tree, ll}, {256 * KiB, tree, ll128}, {32 * MiB, nvlstree, simple}, {16 * GiB, ring, simple}}},
    {64, {{8, tree, ll}, {256 * KiB, tree, ll128}, {32 * MiB, nvlstree, simple}}},
    {128, {{8, tree, ll}, {256 * KiB, tree, ll128}, {32 * MiB, nvlstree, simple}}},
};

const std::vector<Row> h100_all_gather = {
    {1, {{8, ring, ll}, {8 * MiB, ring, ll128}, {32 * MiB, ring, simple}}},
    {2, {{8, ring, ll}, {1 * MiB, ring, ll128}, {64 * MiB, ring, simple}}},
    {4, {{8, ring, ll}, {1 * MiB, ring, ll128}, {128 * MiB, ring, simple}}},
    {8, {{8, ring, ll}, {2 * MiB, ring, ll128}, {256 * MiB, ring, simple}}},
    {16, {{8, ring, ll}, {4 * MiB, ring, ll128}, {512 * MiB, ring, simple}}},
    {32, {{8, ring, ll}, {8 * MiB, ring, ll128}, {1 * GiB, ring, simple}}},
    {64, {{8, ring, ll}, {16 * MiB, ring, ll128}, {2 * GiB, ring, simple}}},
    {128, {{8, ring, ll}, {32 * MiB, ring, ll128}, {4 * GiB, ring, simple}}},
};

const std::vector<Row> a100_all_reduce = {
    {1, {{8, ring, ll}, {4 * MiB, ring, ll128}, {32 * MiB, ring, simple}}},
    {2, {{8, tree, ll}, {256 * KiB, tree, ll128}, {16 * MiB, ring, ll128}, {128 * MiB, ring, simple}}},
    {4, {{8, tree, ll}, {256 * KiB, tree, ll128}, {32 * MiB, ring, ll128}, {256 * MiB, ring, simple}}},
    {8, {{8, tree, ll}, {256 * KiB, tree, ll128}, {64 * MiB, ring, ll128}, {512 * MiB, ring, simple}}},
    {16, {{8, tree, ll}, {256 * KiB, tree, ll128}, {256 * MiB, ring, ll128}, {1 * GiB, ring, simple}}},
    {32,
     {{8, tree, ll},
      {256 * KiB, tree, ll128},
      {512 * MiB, tree, simple},
      {1 * GiB, ring, ll128},
      {2 * GiB, ring, simple}}},
    {64,
     {{8, tree, ll},
      {256 * KiB, tree, ll128},
      {512 * MiB, tree, simple},
      {2 * GiB, ring, ll128},
      {4 * GiB, ring, simple}}},
    {128,
     {{8, tree, ll},
      {512 * KiB, tree, ll128},
      {512 * MiB, tree, simple},
      {4 * GiB, ring, ll128},
      {8 * GiB, ring, simple}}},
};

const std::vector<Row> a100_all_gather = {
    {1, {{8, ring, ll}, {4 * MiB, ring, ll128}, {16 * MiB, ring, simple}}},
    {2, {{8, ring, ll}, {256 * KiB, ring, ll128}, {64 * MiB, ring, simple}}},
    {4, {{8, ring, ll}, {256 * KiB, ring, ll128}, {256 * MiB, ring, simple}}},
    {8, {{8, ring, ll}, {512 * KiB, ring, ll128}, {512 * MiB, ring, simple}}},
    {16, {{8, ring, ll}, {1 * MiB, ring, ll128}, {1 * GiB, ring, simple}}},
    {32, {{8, ring, ll}, {1 * MiB, ring, ll128}, {2 * GiB, ring, simple}}},
    {64, {{8, ring, ll}, {2 * MiB, ring, ll128}, {4 * GiB, ring, simple}}},
    {128, {{8, ring, ll}, {4 * MiB, ring, ll128}, {8 * GiB, ring, simple}}},
};

TEST_CASE("NCCL's choice on H100 nodes", "[planner]") {
  check_choices("hgx-h100", CollectiveOp::all_reduce, h100_all_reduce);
  check_choices("hgx-h100", CollectiveOp::all_gather, h100_all_gather);
  check_choices("hgx-h100", CollectiveOp::reduce_scatter, h100_all_gather);
}

TEST_CASE("NCCL's choice on A100 nodes", "[planner]") {
  check_choices("dgx-a100", CollectiveOp::all_reduce, a100_all_reduce);
  check_choices("dgx-a100", CollectiveOp::all_gather, a100_all_gather);
  check_choices("dgx-a100", CollectiveOp::reduce_scatter, a100_all_gather);
}

TEST_CASE("broadcast and reduce run on rings only", "[planner]") {
  for (const auto op : {CollectiveOp::broadcast, CollectiveOp::reduce})
    for (const std::uint32_t nodes : {1U, 2U, 64U}) {
      const Planner planner = test::planner_of(test::preset_spec("hgx-h100"), nodes);
      for (std::int64_t bytes = 8; bytes <= 16 * GiB; bytes *= 4)
        for (const Candidate& c : plan_collective(planner, op, bytes).candidates) CHECK(c.algorithm == ring);
    }
}

TEST_CASE("if NCCL's choice has no schedule, the next best replaces it", "[planner]") {
  // NVLS over several nodes is simulated for all_reduce only.
  const Planner planner = test::reducing_planner(test::preset_spec("hgx-h100"), 4, {{"NCCL_ALGO", "NVLS"}});
  const Plan gather = plan_collective(planner, CollectiveOp::all_gather, 256 * MiB);
  REQUIRE(gather.candidates.front().algorithm == nvls);
  CHECK(gather.stands_in);
  CHECK(gather.algorithm == ring);
  const Plan reduce = plan_collective(planner, CollectiveOp::all_reduce, 256 * MiB);
  CHECK(reduce.algorithm == nvls);
  CHECK_FALSE(reduce.stands_in);
}

TEST_CASE("NCCL's default choices have schedules", "[planner]") {
  for (const std::uint32_t nodes : {1U, 2U, 8U})
    for (const char* preset : {"hgx-h100", "dgx-a100"}) {
      const Planner planner = test::planner_of(test::preset_spec(preset), nodes);
      for (const auto op : {CollectiveOp::all_reduce, CollectiveOp::all_gather, CollectiveOp::reduce_scatter})
        for (std::int64_t bytes = 8; bytes <= 16 * GiB; bytes *= 4) {
          const Plan plan = plan_collective(planner, op, bytes);
          CHECK_FALSE(plan.stands_in);
          CHECK(plan.algorithm == plan.candidates.front().algorithm);
        }
    }
}

}  // namespace
}  // namespace fabricast
