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

/// \param fabric  `fabric.kind`; empty: a Clos network
RandomScenario sample_scenario(Rng& rng, std::string_view fabric = {});

/// A fabric of directly connected switches for this many nodes: dragonfly, dragonfly_plus, torus or hyperx.
std::string direct_fabric(Rng& rng, std::string_view kind, int nodes);

/// One or two slow or dead links of what the scenario has become, on hosts of the job.
std::string sample_faults(Rng& rng, const World& world);

}  // namespace fabricast::test
