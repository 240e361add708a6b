// The network that engines run on: a fabric with a routing policy, over time.
//
// A draw is one seed of a policy whose choice is random. Faults cut time into segments in which links keep their rates.
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

/// The end of what does not end.
inline constexpr Seconds for_ever{std::numeric_limits<double>::infinity()};

/// Links degraded or down for a while. Time counts from the start of each collective.
struct Fault {
  std::string target;  ///< as the user wrote it
  double rate = 0;     ///< relative to nominal; 0: down
  Seconds begin;
  Seconds end = for_ever;
  std::vector<LinkId> links;  ///< of the fabric
  struct Inside {
    std::uint32_t node;  ///< of the fabric
    std::uint16_t link;  ///< of the node graph
  };
  std::vector<Inside> inside;
};

/// Finds what a fault names: a cable, a switch or a NIC of the fabric, a link inside a node (`node3.gpu2-pcie1`), all links of
/// a GPU (`node3.gpu2`), or all NICs of a node and all links inside it (`node3`).
/// \throws UserError (path faults[index].link) if nothing has that name.
void resolve_fault(Fault& fault, std::size_t index, const Fabric& fabric, const NodeGraph& node);

/// The state of all links for a while.
struct NetworkSegment {
  Seconds begin;
  Seconds end = for_ever;
  LinkState links;
  double ports = 1;  ///< rate of NIC ports, relative to that of their links
  struct InsideFactor {
    std::uint32_t node;
    std::uint16_t link;
    double factor;
  };
  std::vector<InsideFactor> inside;
  std::vector<Fault> faults;  ///< in force
};

/// Cuts time at the begin and end of every fault.
std::vector<NetworkSegment> segments(const std::vector<Fault>& faults);

/// Connections on links, counted once for all that ask for the same (sim/engine/count/count_store.hpp).
class CountStore;

/// What the engines of all draws share; what it points to outlives them.
struct NetworkSetup {
  const Communicator* comm = nullptr;
  const Fabric* fabric = nullptr;  ///< null on a single node
  const RoutingPolicy* policy = nullptr;
  const std::any* policy_spec = nullptr;
  std::vector<NetworkSegment> segments;
  bool times_only = false;             ///< results go without bottleneck and split of the time: a fit needs neither
  std::size_t threads = 1;             ///< that one engine may use; results do not depend on it
  std::shared_ptr<CountStore> counts;  ///< null: engines share no counts
};

/// \param seed  of the draw in which hardware is varied
std::shared_ptr<CountStore> make_count_store(std::uint64_t seed);
/// Whether the connections of one network are those of the other, on the same links: both may share a store.
bool connects_alike(const NetworkSetup& a, const NetworkSetup& b);
/// The same of communicators on fabrics that are alike.
bool connects_alike(const Communicator& a, const Communicator& b);

}  // namespace fabricast
