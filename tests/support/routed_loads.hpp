// Loads of links by routing flows one by one, and a dragonfly with its worst traffic.
#pragma once

#include <catch2/catch.hpp>
#include <utility>
#include <vector>

#include "support/fabrics.hpp"

namespace fabricast::test {

/// Flows on each link, queue pairs 0 to `pairs` - 1 of every pair of endpoints that `flows` lists.
using Pairs = std::vector<std::pair<std::uint32_t, std::uint32_t>>;
inline std::vector<double> loads(const Fabric& fabric, const Router& router, const Pairs& flows,
                                 std::uint32_t pairs = 1) {
  std::vector<double> load(fabric.links(), 0);
  Path path;
  for (const auto& [from, to] : flows)
    for (std::uint32_t q = 0; q < pairs; ++q) {
      REQUIRE(router.route({from, to, q, q + 1}, path));
      for (std::size_t i = 0; i < path.resources.size(); ++i) load[path.resources[i]] += path.weight(i);
    }
  return load;
}

/// A canonical dragonfly: two hosts and two global cables at each of four switches, nine groups.
inline Fabric canonical() {
  return fabric_of("dragonfly", demand_of(72, 1),
                   {{"groups", "9"}, {"switches_per_group", "4"}, {"switch.ports", "7"}});
}
inline std::uint32_t group_of(const Fabric& fabric, VertexId v) { return (v.value - fabric.endpoints()) / 4; }

/// The traffic that is worst for a dragonfly: host i of each group sends to host i of the next one.
inline Pairs to_next_group() {
  Pairs flows;
  for (std::uint32_t e = 0; e < 72; ++e) flows.emplace_back(e, (e + 8) % 72);
  return flows;
}

}  // namespace fabricast::test
