// The network that engines run on: a fabric with a routing policy, and its faults over time.
//
// A *sample* of the network is one seed of a policy whose choices are random. Faults divide time into *segments* in
// which links keep their rates. Time counts from the start of each collective.
//
// Plain values and pure functions; safe to call concurrently.
//
// Not modelled: how long the control plane of switches needs to react to a fault. Routes change at once.
#pragma once

#include <any>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "fabricast/collective/communicator.hpp"
#include "fabricast/core/units.hpp"
#include "fabricast/routing/routing.hpp"

namespace fabricast {

/// End of a fault or segment that does not end.
inline constexpr Seconds for_ever{std::numeric_limits<double>::infinity()};

/// Links that are degraded or down from `begin` until `end`.
struct Fault {
  std::string target;  ///< name of the links, as the user wrote it
  double rate = 0;     ///< fraction of the nominal rate, 0 to 1; 0: down
  Seconds begin;
  Seconds end = for_ever;
  std::vector<LinkId> links;  ///< of the fabric; filled in by resolve_fault, as is `inside`
  /// A link inside a node.
  struct Inside {
    std::uint32_t node;  ///< of the fabric
    std::uint16_t link;  ///< of the node graph
  };
  std::vector<Inside> inside;
};

/// Finds the links of a fault by its target: a cable, a switch or a NIC of the fabric, a link inside a node
/// (`node3.gpu2-pcie1`), all links of a GPU (`node3.gpu2`), or all NICs of a node and all links inside it (`node3`). Both
/// directions of a cable or link are affected.
/// \param index  of the fault in the scenario, for the message
/// \throws UserError (path faults[index].link) if nothing has that name
void resolve_fault(Fault& fault, std::size_t index, const Fabric& fabric, const NodeGraph& node);

/// The state of all links between two changes.
struct NetworkSegment {
  Seconds begin;
  Seconds end = for_ever;
  LinkState links;
  double ports = 1;  ///< rate of NIC ports as a fraction of the rate of their links
  /// What flows of several NIC ports reach together of a link between switches, as a fraction of its rate.
  double contended = 1;
  /// What packets wait on each path in queues that others keep (docs/models/congestion.md), on average.
  Seconds queue;
  /// Rate of a link inside a node, as a fraction of the nominal rate.
  struct InsideFactor {
    std::uint32_t node;
    std::uint16_t link;
    double factor;
  };
  std::vector<InsideFactor> inside;
  std::vector<Fault> faults;  ///< in force during the segment
};

/// The segments between the beginnings and ends of all faults, in order, from time 0 to for_ever. If several faults
/// affect a link at once, the lowest rate applies.
std::vector<NetworkSegment> segments(const std::vector<Fault>& faults);

/// Counts of connections on links, shared by the engines that need the same counts (sim/engine/count/count_store.hpp).
class CountStore;

/// Settings of DCQCN (engine/dcqcn_settings.hpp).
struct DcqcnSettings;

/// What the engines of all samples have in common. Objects that it points to must outlive the engines.
struct NetworkSetup {
  const Communicator* comm = nullptr;
  const Fabric* fabric = nullptr;  ///< null on a single node
  const RoutingPolicy* policy = nullptr;
  const std::any* policy_spec = nullptr;  ///< of the type that `policy` expects
  std::vector<NetworkSegment> segments;   ///< at least one
  bool times_only = false;                ///< omit the bottleneck and the split of the makespan
  std::size_t threads = 1;                ///< per engine; results do not depend on it
  std::shared_ptr<CountStore> counts;     ///< null: engines share no counts
  /// What contended links carry is simulated (engine/dcqcn.hpp), on top of NetworkSegment::contended. Null: it is not.
  std::shared_ptr<const DcqcnSettings> dcqcn;
  /// The paths of its flows.
  PathKind paths() const { return policy ? policy->paths(*policy_spec) : PathKind::fixed; }
};

/// An empty store, which is safe to use from several threads. It keeps the counts of one seed and shares what all seeds
/// have in common.
/// \param seed  of the sample whose hardware is varied
std::shared_ptr<CountStore> make_count_store(std::uint64_t seed);
/// Whether the same plan has the same connections on the same links in both setups, so that they may share a store.
/// Rates and latencies may differ. Only Clos networks are compared; for other fabrics the answer is false.
bool connects_alike(const NetworkSetup& a, const NetworkSetup& b);
/// The same for two communicators, on the assumption that their fabrics are alike.
bool connects_alike(const Communicator& a, const Communicator& b);

}  // namespace fabricast
