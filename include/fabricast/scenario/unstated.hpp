// Unstated inputs: keys that affect a forecast but that a scenario often does not state, and their alternative values.
//
// A key that neither the file nor a named machine states has an assumed value, the most usual one. The forecast uses
// the assumed values. The effects of the alternatives are part of its 90 % interval (report/interval.hpp), and
// `explain` names the key that matters most.
//
//   nccl.version        other versions in use with a GPU of this age (planner/usual_version.cpp)
//   node.cpu            the other x86 vendor: NCCL's rules for GPUDirect RDMA and its latencies depend on it
//   node.gdr            off: the peer-memory module is missing on the host or in the container
//   node.pcie_switches  0: a virtual machine that shows no PCIe switches, and no topology file that describes them
//   fabric.congestion.efficiency  with `control: reactive`, the ends of its interval (docs/models/congestion.md)
//
// The weights are guesses, except where usual_version.cpp gives a source. Not covered: the provider's tuner, clocks,
// other jobs.
//
// Pure functions; safe to call concurrently.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "fabricast/scenario/scenario.hpp"

namespace fabricast {

/// An unstated key with its assumed value and its alternatives.
struct UnstatedInput {
  /// An alternative value.
  struct Other {
    std::string value;
    double weight = 0;  ///< probability; the weights of all alternatives sum to less than 1
  };
  std::string key;      ///< of the scenario
  std::string assumed;  ///< as a scenario would state it
  std::vector<Other> others;
  std::string how_to_tell;  ///< how to find the value on a machine
};

/// The keys that this file covers and whose values a reader fills in. The efficiency is not among them: its value 0
/// says that it is not stated.
inline constexpr std::array<std::string_view, 4> open_keys = {"nccl.version", "node.cpu", "node.gdr",
                                                              "node.pcie_switches"};

/// The unstated keys that can affect this scenario, in the order of the table above. Keys that affect only the network are
/// left out for a single host.
std::vector<UnstatedInput> unstated_inputs(const Scenario& scenario);

/// The scenario with another value for an unstated key. The key stays unstated.
/// \pre `value` is one of the alternatives of this key
Scenario with_input(const Scenario& scenario, std::string_view key, std::string_view value);

}  // namespace fabricast
