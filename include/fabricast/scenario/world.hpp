// A World is everything that a simulation of a scenario needs: the fabric as a graph, NCCL's view of the cluster, the
// hosts of each job, routing, and faults resolved to links.
//
// build_world derives it from a Scenario. After that it does not change: a variant, such as the same world on other
// samples of the network, is a new World that shares what it has in common. A World is therefore a handle. It costs
// little to copy, may be moved and returned, and may be read by several threads at once. Forecasts keep the World that
// they are of.
//
// References and pointers that a World gives out hold as long as one of its copies lives.
//
// Hosts are nodes of the scenario; a node of NCCL may be several hosts that NVLink joins.
#pragma once

#include <memory>
#include <vector>

#include "fabricast/engine/background.hpp"
#include "fabricast/engine/engine.hpp"
#include "fabricast/engine/engine_pool.hpp"
#include "fabricast/planner/planner.hpp"
#include "fabricast/planner/provider.hpp"
#include "fabricast/scenario/allocation.hpp"
#include "fabricast/scenario/scenario.hpp"

namespace fabricast {

/// Traffic of other jobs and flows, one element per sample of the network; empty if there is none or it is left out.
using TrafficBySample = std::vector<std::shared_ptr<const Background>>;

class EffectiveText;

/// A scenario that is ready to simulate. A default World is empty and may only be assigned to.
class World {
 public:
  World() = default;

  /// With partly filled NVLink domains made even (see `even_domains`).
  const Scenario& scenario() const;
  /// Variables set by the provider, without those that the user sets.
  const ProviderEnvironment& provider() const;
  /// The communicator of the job, and what decides NCCL's choices.
  const Planner& planner() const;
  /// Null if nothing uses the network, such as a job of one NCCL node.
  const Fabric* fabric() const;
  /// The hosts of each job.
  const Allocation& allocation() const;
  /// What engines simulate on.
  const NetworkSetup& setup() const;
  /// How many samples of the network the routing policy needs, or those that with_samples chose.
  const Samples& samples() const;
  /// Traffic of other jobs and flows, by sample.
  const TrafficBySample& beside() const;
  /// The traffic of others in the sample of a seed, or null.
  /// \pre the seed is one of `samples`
  const Background* beside_in(std::uint64_t seed) const;
  /// Of building this world, without positions in the file.
  const std::vector<Diagnostic>& warnings() const;
  /// An engine for one sample of the network. It may have counted for this world before, if engines are kept.
  /// \param threads  of the engine; results do not depend on it
  /// \pre the engine is given back before the world is destroyed
  EngineLease engine(std::uint64_t seed, std::size_t threads) const;
  /// The effective scenario as JSON text (sim/scenario/effective.hpp).
  const std::shared_ptr<EffectiveText>& effective() const;

  /// On these samples of the network.
  World with_samples(const Samples& samples) const;
  /// On at most the first `most` of its samples.
  World with_samples_up_to(int most) const;
  /// With links in these states instead of those of the scenario's faults.
  World with_segments(std::vector<NetworkSegment> segments) const;
  /// With this traffic of others.
  World with_beside(TrafficBySample beside) const;
  /// Without the bottleneck and the split of the time, which cost extra.
  World with_times_only() const;
  /// With counts of connections that `other` has made, if the two connect alike. Results are the same.
  World with_counts_of(const World& other) const;
  /// With engines that are kept for the next forecast instead of counting anew, which costs memory. Results are the
  /// same.
  World with_engines_kept() const;
  /// Of the same scenario with other message sizes. Everything else is shared.
  /// \param place  of the sizes, for messages
  /// \pre a collective whose sizes were listed
  World with_sizes(std::vector<Bytes> sizes, SourceSpan place) const;

 private:
  struct State;
  explicit World(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  template <class Change>
  World changed(Change change) const;
  friend World build_world(Scenario scenario);

  std::shared_ptr<const State> state_;
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
  /// Hosts of all domains, at least those asked for.
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

/// Derives the world of a scenario. Warnings are in the result.
/// \throws UserError if sections are not consistent, for example if the fabric has too few ports
World build_world(Scenario scenario);

}  // namespace fabricast
