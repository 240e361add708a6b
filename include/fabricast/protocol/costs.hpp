// What the protocols LL, LL128 and Simple cost: the numbers between a schedule and its time.
//
// On its way from rank to rank a slice passes *stations*. Each is a server that handles one slice after the other:
//
//   GPU       its threads wait for the slice, reduce or copy it, and store it to the next GPU or to the NIC's buffer
//   network   the proxy thread posts the slice, and the NIC sends it
//
// A GPU keeps a slice of b bytes for the longer of `overhead + b / copy_rate` (its threads) and b over its share of the
// links inside the node. Handshake and transfer of neighbouring slices overlap. A proxy thread serves the messages of
// its GPU one by one. A NIC does the same, at the rate that remains on the path. Then the slice takes `latency` to the
// next station. Both engines time the same stations; they differ in how they share links and in what they fold.
//
// The parameters are those of `comm.node` (docs/models/protocols.md).
//
// Not modelled: other kernels that take SMs from the collective.
//
// Pure functions; safe to call concurrently.
#pragma once

#include "fabricast/collective/costs.hpp"
#include "fabricast/collective/schedule.hpp"

namespace fabricast {

/// The costs of a call's stations, with the adjustments of its algorithm.
/// \pre the plan is one of this communicator
ProtocolCosts protocol_costs(const Communicator& comm, const Plan& plan);

/// What a call pays for the channels that it launches. It is contained in ProtocolCosts::launch.
Seconds channel_launch(const Communicator& comm, const Plan& plan);

/// A node that stands for all nodes of its role.
struct NodeClass {
  std::uint32_t node = 0;   ///< the first of them
  std::uint32_t count = 1;  ///< how many there are
};
/// One node for each role (CollectiveAlgorithm::node_role), in the order of their numbers. Counts add up to all nodes.
std::vector<NodeClass> node_classes(const Communicator& comm, Algorithm algorithm);

}  // namespace fabricast
