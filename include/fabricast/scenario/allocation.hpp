// Who has which hosts of the fabric.
//
//   1  taken hosts, storage, and hosts that a `list` names
//   2  cluster.filled: a random part of what is left
//   3  the jobs of section `jobs`, in their order
//   4  the job of the scenario, on what the others leave
#pragma once

#include <cstdint>
#include <vector>

#include "fabricast/scenario/scenario.hpp"

namespace fabricast {

struct Allocation {
  std::vector<std::uint32_t> main;               ///< in rank order
  std::vector<std::vector<std::uint32_t>> jobs;  ///< by Scenario::jobs
  std::vector<std::uint32_t> storage, taken;     ///< rising; taken: by nobody named here
};

/// \param locality  null: no policy here asks where hosts are plugged in
/// \param shared    whether NVLink domains are one node to NCCL: then their hosts stay together
/// \throws UserError where hosts are wanted twice, or a job does not fit
Allocation allocate(const Scenario& scenario, const Locality* locality, bool shared);

/// Whether some job's policy does.
bool needs_locality(const Scenario& scenario);

/// Hosts that the scenario names by number, and all that its jobs take: fewer can not be on the fabric.
std::uint32_t least_hosts(const Scenario& scenario);

}  // namespace fabricast
