#include "fabricast/workload/parallel.hpp"

#include <catch2/catch.hpp>
#include <set>

using namespace fabricast;

TEST_CASE("ranks and coordinates map one to one in the given order") {
  ParallelLayout layout;
  layout.tensor = 4, layout.context = 2, layout.data = 3, layout.pipeline = 2;
  std::set<std::int64_t> seen;
  for (std::int64_t r = 0; r < layout.ranks(); ++r) {
    CHECK(layout.rank(layout.coordinates(r)) == r);
    seen.insert(r);
  }
  CHECK(seen.size() == 48);
  CHECK(layout.coordinates(5) == std::array<int, 4>{1, 1, 0, 0});
  layout.order = {Dimension::pipeline, Dimension::tensor, Dimension::context, Dimension::data};
  CHECK(layout.coordinates(5) == std::array<int, 4>{2, 0, 0, 1});
}

TEST_CASE("groups hold every rank of a stage once") {
  ParallelLayout layout;
  layout.tensor = 2, layout.data = 4, layout.pipeline = 2;
  const RankGroups tensor = groups_of(layout, 1, {Dimension::tensor});
  CHECK(tensor == RankGroups{{8, 9}, {10, 11}, {12, 13}, {14, 15}});
  const RankGroups data = groups_of(layout, 0, {Dimension::context, Dimension::data});
  CHECK(data == RankGroups{{0, 2, 4, 6}, {1, 3, 5, 7}});
  CHECK(split_neighbours(data, 2) == RankGroups{{0, 2}, {4, 6}, {1, 3}, {5, 7}});
  CHECK(split_apart(data, 2) == RankGroups{{0, 4}, {2, 6}, {1, 5}, {3, 7}});
  CHECK(stage_pairs(layout, 0, 1).front() == std::vector<std::uint32_t>{0, 8});
  CHECK(stage_pairs(layout, 1, 0).size() == 8);
}
