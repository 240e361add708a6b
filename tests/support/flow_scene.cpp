#include "flow_scene.hpp"

#include <cmath>
#include <numeric>

#include "fabricast/core/rng.hpp"

namespace fabricast {

namespace {
constexpr double line_rate = 50e9;
double some_bytes(Rng& rng) { return std::floor(1e9 * rng.uniform(0.5, 1.5)); }
}  // namespace

FlowScene permutations(std::uint32_t hosts, std::uint32_t flows, std::uint64_t seed) {
  const auto k = static_cast<std::uint32_t>(std::lround(std::sqrt(hosts)));
  FlowScene scene;
  scene.hosts = hosts;
  scene.capacity.assign(4 * hosts, line_rate);
  const auto leaf_up = [&](std::uint32_t leaf, std::uint32_t s) { return 2 * hosts + leaf * k + s; };
  const auto leaf_down = [&](std::uint32_t leaf, std::uint32_t s) { return 3 * hosts + leaf * k + s; };
  Rng rng(seed);
  std::vector<std::uint32_t> to(hosts);
  for (std::uint32_t round = 0; round * hosts < flows; ++round) {
    std::iota(to.begin(), to.end(), 0);
    shuffle(to, rng);
    for (std::uint32_t host = 0; host < hosts; ++host) {
      if (to[host] == host) continue;
      SceneFlow flow;
      flow.from = host, flow.to = to[host], flow.bytes = some_bytes(rng);
      flow.path.push_back(2 * host);
      if (host / k != flow.to / k) {
        const std::uint32_t s = flow.to % k;  // d-mod-k: flows between the same hosts have one path
        flow.path.push_back(leaf_up(host / k, s));
        flow.path.push_back(leaf_down(flow.to / k, s));
      }
      flow.path.push_back(2 * flow.to + 1);
      scene.flows.push_back(std::move(flow));
    }
  }
  return scene;
}

}  // namespace fabricast
