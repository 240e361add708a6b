// A scenario made real: the fabric built, NCCL's view of the cluster resolved, faults found on their links.
#pragma once

#include <memory>

#include "fabricast/engine/background.hpp"
#include "fabricast/engine/engine.hpp"
#include "fabricast/planner/planner.hpp"
#include "fabricast/planner/provider.hpp"
#include "fabricast/scenario/allocation.hpp"
#include "fabricast/scenario/scenario.hpp"

namespace fabricast {

struct World {
  Scenario scenario;
  ProviderEnvironment provider;  ///< what counts of it
  Planner planner;
  std::unique_ptr<Fabric> fabric;  ///< null if the job has one NCCL node
  std::any static_paths;            ///< of the policy that stands in where NCCL keeps messages to one way
  Allocation allocation;           ///< who has which hosts
  NetworkSetup setup;              ///< points into this World
  Samples samples;
  /// Traffic of other jobs and flows, by draw; empty: there is none, or it is left out.
  std::vector<std::shared_ptr<const Background>> beside;
  std::shared_ptr<SearchStore>
      searches;  ///< what NCCL's search has found here and in scenarios that are nearly this one
  std::vector<Diagnostic> warnings;

  World() = default;
  World(const World&) = delete;  // setup points inside
  World& operator=(const World&) = delete;
  /// What is beside the job in the draw of a seed, or null.
  const Background* beside_in(std::uint64_t seed) const {
    return beside.empty() ? nullptr : beside.at(static_cast<std::size_t>(seed - samples.first_seed)).get();
  }
};

/// The versions that NCCL may have in this scenario.
NcclVersions nccl_versions(const Scenario& scenario);
/// The one that is forecast: the only one; of several the usual one of the GPU, or else the newest.
NcclVersion main_version(const Scenario& scenario);

/// Whether NCCL_ALGO and NCCL_PROTO leave nothing for an operation, so that NCCL's own choice stands.
/// \throws UserError if this NCCL stops there
bool falls_back(const Scenario& scenario, const Planner& planner, CollectiveOp collective);

/// Whether the scenario tells how far GPUs access each other directly: by a variable, or as NCCL's version is given. Too
/// little is known of a version that is only implied to go by what old ones did.
bool tells_peer_levels(const Scenario& scenario, const NcclSettings& settings);

/// NVLink domains as a job fills them.
struct EvenDomains {
  int domains = 1, each = 1;  ///< and hosts of one
  int hosts() const { return domains * each; }
};
/// The fewest domains of at most `domain` hosts that hold `nodes` of them, filled alike: with more hosts than that where
/// they can not be.
EvenDomains even_domains(int nodes, int domain);

/// What the hosts of the scenario ask of their fabric.
FabricDemand demand_of_hosts(const Scenario& scenario, const Communicator& comm);
/// The fabric of all hosts of the scenario, whether or not the job needs it.
Fabric fabric_of_hosts(const Scenario& scenario, const Communicator& comm);

/// \param searches  those of a world that is nearly this one; null: there is none
/// \throws UserError if something does not fit together.
std::unique_ptr<World> build_world(Scenario scenario, std::shared_ptr<SearchStore> searches = nullptr);

}  // namespace fabricast
