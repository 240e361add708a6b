// Bytes that a collective must put on every link, counted from its schedule: what no forecast may undercut.
//
//   bytes(l) = sum over channels, workers, steps and messages m of  wire m's bytes parts(m, l)
//
// Every step of every worker of every channel is walked. A message goes from GPU to GPU, or from GPU to NIC, over the
// fabric, and from NIC to GPU; on the fabric each queue pair takes its part of it, on the way that the router gives it.
// What a router spreads over equal cables is counted on all of them together (a bundle). Nothing of the engines is
// used: ways inside nodes are found anew, and `wire` is the protocol's (LL 2, LL128 16/15, Simple 1).
//
// A link is as fast as it is built: line rate, less headers and what a NIC reaches of it, times what faults leave.
#pragma once

#include <string>
#include <vector>

#include "fabricast/engine/network.hpp"

namespace fabricast::test {

struct LinkBytes {
  std::vector<double> fabric;               ///< by resource of the router
  std::vector<std::vector<double>> inside;  ///< by NCCL node and link of the node graph
};

/// Of all channels together.
/// \param router  of the first segment; null on a single node
LinkBytes count_link_bytes(const NetworkSetup& setup, const Plan& plan, const Router* router);

/// The link that takes longest for its bytes.
struct LongestLink {
  double seconds = 0;
  std::string name;
};
LongestLink longest_link(const NetworkSetup& setup, const Router* router, const LinkBytes& bytes);

/// Steps of all workers: what counting costs.
std::int64_t steps_of(const Communicator& comm, const Plan& plan);

}  // namespace fabricast::test
