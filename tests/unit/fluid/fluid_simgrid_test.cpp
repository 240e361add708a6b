#include <catch2/catch.hpp>
#include <cmath>

#include "support/simgrid_flows.hpp"

namespace fabricast {
namespace {

TEST_CASE("4096 flows end when SimGrid's max-min says", "[engine][fluid][simgrid]") {
  const FlowScene scene = permutations(256, 4096, Spine::by_destination, 1);
  const SimGridRun expected = run_simgrid(scene);

  FluidNetwork network(scene.capacity);
  for (const SceneFlow& flow : scene.flows) network.start(flow.bytes, flow.path);
  double worst = 0;
  std::size_t ends = 0;
  while (const auto event = network.advance()) {
    worst = std::max(worst, std::abs(event->time / expected.end[event->flow.value] - 1));
    ++ends;
  }
  CHECK(ends == scene.flows.size());
  CHECK(worst < 5e-9);
}

}  // namespace
}  // namespace fabricast
