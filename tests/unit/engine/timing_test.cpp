// Streams name their timings: the engine has each of them.
#include "sim/engine/time/timing.hpp"

#include <catch2/catch.hpp>
#include <set>

#include "fabricast/collective/algorithm.hpp"
#include "support/reducing.hpp"

namespace fabricast {
namespace {

TEST_CASE("timings have distinct names and one method of timing", "[engine]") {
  std::set<std::string_view> names;
  for (const Timing& t : timings()) {
    CAPTURE(t.name);
    CHECK(names.insert(t.name).second);
    CHECK((t.makespan == nullptr) == (t.time_whole != nullptr));
    CHECK((t.time_whole == nullptr) == (t.split_whole == nullptr));
    CHECK(&find_timing(t.name) == &t);
  }
}

TEST_CASE("the engine has the timing of every algorithm, and every timing an algorithm", "[engine]") {
  std::set<std::string_view> used;
  for (const int gpus : {1, 8})
    for (const std::uint32_t nodes : {1U, 3U}) {
      if (gpus * nodes == 1) continue;
      const Planner planner = test::reducing_planner(test::node_of(gpus, gpus), nodes);
      for (const CollectiveAlgorithm& a : collective_algorithms())
        for (std::size_t o = 0; o < EnumNames<CollectiveOp>::names.size(); ++o) {
          const auto op = static_cast<CollectiveOp>(o);
          if (!can_run(a, planner.comm, op, Protocol::simple)) continue;
          const Plan plan = plan_collective(planner, op, 1 << 20, a.algorithm, Protocol::simple);
          used.insert(find_timing(a.stream(planner.comm, plan, 0).timing).name);
        }
    }
  used.insert("whole");  // for algorithms that NCCL runs without consulting its cost model
  CHECK(used.size() == timings().size());
}

}  // namespace
}  // namespace fabricast
