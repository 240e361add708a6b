// Max-min shares against SimGrid's own solver: the same flows, which end one after the other.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "fabricast/engine/max_min.hpp"
#include "support/simgrid_flows.hpp"

namespace fabricast {
namespace {

Sharing share(const FlowScene& scene, const std::vector<std::size_t>& open) {
  SharingProblem problem;
  problem.capacity = scene.capacity;
  problem.first.push_back(0);
  for (const std::size_t f : open) {
    for (const std::uint32_t link : scene.flows[f].path) problem.link.push_back(link), problem.use.push_back(1);
    problem.first.push_back(static_cast<std::uint32_t>(problem.link.size()));
    problem.weight.push_back(1), problem.cap.push_back(std::numeric_limits<double>::infinity());
  }
  return fill(problem);
}

/// s; when each flow ends. All begin at 0, and shares are recomputed whenever one ends.
std::vector<double> ends_of(const FlowScene& scene) {
  std::vector<double> end(scene.flows.size()), left;
  std::vector<std::size_t> open;
  for (const SceneFlow& flow : scene.flows) open.push_back(left.size()), left.push_back(flow.bytes);
  for (double now = 0; !open.empty();) {
    const Sharing sharing = share(scene, open);
    double step = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < open.size(); ++i) step = std::min(step, left[open[i]] / sharing.level[i]);
    now += step;
    std::vector<std::size_t> still_open;
    for (std::size_t i = 0; i < open.size(); ++i) {
      const bool ends = left[open[i]] / sharing.level[i] <= step * (1 + 1e-12);
      left[open[i]] -= step * sharing.level[i];
      if (ends)
        end[open[i]] = now;
      else
        still_open.push_back(open[i]);
    }
    open = std::move(still_open);
  }
  return end;
}

TEST_CASE("2048 flows end at the same times as with SimGrid's max-min solver", "[engine][simgrid]") {
  for (const std::uint64_t seed : {1, 2}) {
    const FlowScene scene = permutations(256, 2048, seed);
    const std::vector<double> expected = run_simgrid(scene).end, found = ends_of(scene);
    double worst = 0;
    for (std::size_t f = 0; f < found.size(); ++f) worst = std::max(worst, std::abs(found[f] / expected[f] - 1));
    CHECK(worst < 5e-9);
  }
}

}  // namespace
}  // namespace fabricast
