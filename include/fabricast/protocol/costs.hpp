// What the protocols cost: the numbers between a schedule and its time.
//
// A slice on its way from rank to rank passes *stations*, each a server that handles one slice after the other:
//
//   GPU       its threads wait for the slice, reduce or copy it, and store it to the next GPU or to the NIC's buffer
//   network   the proxy thread posts it, the NIC sends it
//
// A GPU keeps a slice of b bytes for the longer of `overhead + b / copy_rate`, its threads, and b over its share of the
// links inside the node: handshake and transfer of neighbouring slices overlap. A proxy thread serves the messages of
// its GPU one by one; so does a NIC, at the rate that the path has left. Then the slice takes `latency` to the next
// station. Both engines time the same stations; they differ in how links are shared and in what is folded.
#pragma once

#include "fabricast/collective/costs.hpp"
#include "fabricast/collective/schedule.hpp"

namespace fabricast {

ProtocolCosts protocol_costs(const Communicator& comm, const Plan& plan);

/// s; what a call pays for the channels it launches.
double channel_launch(const Communicator& comm, const Plan& plan);

/// Nodes that stand for all: one per role, with how many there are.
struct NodeClass {
  std::uint32_t node = 0;
  std::uint32_t count = 1;
};
std::vector<NodeClass> node_classes(const Communicator& comm, Algorithm algorithm);

}  // namespace fabricast
