// Scenarios drawn at random: nodes, fabrics, routing, placement, faults, and one call of any operation under any
// algorithm and protocol. Many do not fit together, or NCCL stops there: whoever draws them goes on to the next.
#pragma once

#include <string>
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

RandomScenario sample_scenario(Rng& rng);

/// One or two slow or dead links of what the scenario has become, on hosts of the job.
std::string sample_faults(Rng& rng, const World& world);

}  // namespace fabricast::test
