// Assigns the hosts of the fabric to jobs and storage.
//
// Hosts are assigned in this order, each step from the hosts that the previous ones leave free:
//
//   1  `cluster.taken`, storage targets of `background`, and hosts that a placement `list` names
//   2  `cluster.filled`: random hosts, whole NVLink domains at a time, until this fraction of all hosts is taken
//   3  the jobs of section `jobs`, in their order
//   4  the job of the scenario
//
// Hosts are numbers from 0 to cluster.size - 1. Random choices depend only on seeds in the scenario.
//
// Pure functions; safe to call concurrently.
#pragma once

#include <cstdint>
#include <vector>

#include "fabricast/scenario/scenario.hpp"

namespace fabricast {

/// Which host belongs to what. No host is in two of the lists.
struct Allocation {
  std::vector<std::uint32_t> main;               ///< the scenario's job, in rank order
  std::vector<std::vector<std::uint32_t>> jobs;  ///< by index in Scenario::jobs, each in rank order
  std::vector<std::uint32_t> storage, taken;     ///< ascending; `taken`: not available and otherwise unused
};

/// Assigns all hosts.
/// \param locality  where hosts attach to the fabric; may be null unless `needs_locality`
/// \param shared    whether an NVLink domain is one node of NCCL; its hosts then go to the same job
/// \pre cluster.size is set
/// \throws UserError if a host is claimed twice or does not exist, or if a job does not fit
Allocation allocate(const Scenario& scenario, const Locality* locality, bool shared);

/// Whether the placement policy of some job depends on where hosts attach to the fabric.
bool needs_locality(const Scenario& scenario);

/// Hosts on the fabric: `cluster.size`, but at least as many as its users need. They need enough for the highest host
/// number in the scenario, and for all jobs, taken hosts and storage together.
/// \throws UserError if a range of hosts is invalid
int hosts_on_fabric(const Scenario& scenario);

}  // namespace fabricast
