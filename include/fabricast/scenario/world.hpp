// A World is everything that a simulation of a scenario needs: the fabric as a graph, NCCL's view of the cluster, the
// hosts of each job, routing, and faults resolved to links.
//
// build_world derives it from a Scenario. Simulations read it and do not modify it; several threads may share one.
// Hosts are nodes of the scenario; a node of NCCL may be several hosts that NVLink joins.
#pragma once

#include <memory>

#include "fabricast/engine/background.hpp"
#include "fabricast/engine/engine.hpp"
#include "fabricast/planner/planner.hpp"
#include "fabricast/planner/provider.hpp"
#include "fabricast/scenario/allocation.hpp"
#include "fabricast/scenario/scenario.hpp"

namespace fabricast {

/// A scenario that is ready to simulate. Not copyable, because `setup` points into it.
struct World {
  Scenario scenario;             ///< with partly filled NVLink domains made even (see `even_domains`)
  ProviderEnvironment provider;  ///< variables set by the provider, without those that the user sets
  Planner planner;
  std::unique_ptr<Fabric> fabric;  ///< null if nothing uses the network, such as a job of one NCCL node
  std::any static_paths;           ///< spec of the policy that replaces adaptive routing if NCCL requires order
  Allocation allocation;           ///< the hosts of each job
  NetworkSetup setup;              ///< points into this World
  Samples samples;                 ///< how many samples of the network the routing policy needs
  /// Traffic of other jobs and flows, by sample; empty if there is none or it is left out.
  std::vector<std::shared_ptr<const Background>> beside;
  /// Results of NCCL's graph search, shared with worlds of similar scenarios.
  std::shared_ptr<SearchStore> searches;
  std::vector<Diagnostic> warnings;

  World() = default;
  World(const World&) = delete;  // setup points inside
  World& operator=(const World&) = delete;
  /// The background traffic in the sample of a seed, or null.
  /// \pre the seed is one of `samples`
  const Background* beside_in(std::uint64_t seed) const {
    return beside.empty() ? nullptr : beside.at(static_cast<std::size_t>(seed - samples.first_seed)).get();
  }
};

/// The NCCL versions that `nccl.version` allows.
NcclVersions nccl_versions(const Scenario& scenario);
/// The version that is forecast. From a range this is the usual version for the GPU if the range contains it, or else
/// the newest.
NcclVersion main_version(const Scenario& scenario);

/// Whether NCCL_ALGO and NCCL_PROTO exclude everything for an operation, so that NCCL falls back to its own choice.
/// \throws UserError if the stated NCCL version fails in this case, as 2.24 and later do
bool falls_back(const Scenario& scenario, const Planner& planner, CollectiveOp collective);

/// Whether the scenario determines how far GPUs access each other directly: by a variable, or by a stated NCCL version.
/// A version that is only implied is too uncertain to apply the rules of old versions.
bool tells_peer_levels(const Scenario& scenario, const NcclSettings& settings);

/// NVLink domains that are filled evenly.
struct EvenDomains {
  int domains = 1, each = 1;  ///< number of domains, and hosts of each
  int hosts() const { return domains * each; }
};
/// The fewest evenly filled domains of at most `domain` hosts that hold `nodes` hosts. They hold more if `nodes` cannot
/// be divided evenly.
/// \pre nodes >= 1, domain >= 1
EvenDomains even_domains(int nodes, int domain);

/// What the hosts of the scenario need from their fabric: ports, rates and efficiencies.
FabricDemand demand_of_hosts(const Scenario& scenario, const Communicator& comm);
/// The fabric of all hosts of the scenario, whether or not the job uses it.
/// \throws UserError if the topology cannot connect them
Fabric fabric_of_hosts(const Scenario& scenario, const Communicator& comm);

/// Builds the world of a scenario. Warnings are in the result.
/// \param searches  the store of a world of a similar scenario, to reuse its results; null: a new store
/// \throws UserError if sections are not consistent, for example if the fabric has too few ports
std::unique_ptr<World> build_world(Scenario scenario, std::shared_ptr<SearchStore> searches = nullptr);

}  // namespace fabricast
