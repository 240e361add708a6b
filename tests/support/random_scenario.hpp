// Scenarios drawn at random: nodes, fabrics, routing, placement, faults, and one call of any operation under any
// algorithm and protocol. Many do not fit together, or NCCL stops there: whoever draws them goes on to the next.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fabricast/scenario/world.hpp"
#include "support/dice.hpp"

namespace fabricast::test {

struct RandomScenario {
  std::string node, domain, cluster, fabric, routing, version, variables, faults, collective;
  std::int64_t bytes = 0;

  /// A scenario file, of short lines: messages of a test are broken where they are long.
  std::string yaml() const;
};

/// \param fabric  as for direct_fabric; empty: a Clos network
RandomScenario sample_scenario(Rng& rng, std::string_view fabric = {});

/// The fabrics beside usual Clos networks: `fabric.kind`, or `islands` for rails in islands.
inline constexpr std::string_view other_fabrics[] = {"dragonfly", "dragonfly_plus", "torus",  "hyperx",
                                                     "ocs",       "multi_plane",    "islands"};
/// Whether valiant and ugal find detours in it.
bool has_detours(std::string_view fabric);
/// One of these for this many nodes.
std::string direct_fabric(Rng& rng, std::string_view kind, int nodes);

/// One or two slow or dead links of what the scenario has become, on hosts of the job.
std::string sample_faults(Rng& rng, const World& world);

}  // namespace fabricast::test
