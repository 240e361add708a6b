// What a scenario leaves open, and what it may be.
//
// A key that neither the file nor a named machine states has an assumed value: the middle one of what is usual. The
// forecast is of the assumed values; what the others would make of it is part of its 90 % interval (report/interval.hpp),
// and `explain` names the one that matters most.
//
//   nccl.version        by the GPU's age: planner/usual_version.cpp
//   node.cpu            the other x86 vendor: NCCL's rules for GPUDirect RDMA and its latencies look at it
//   node.gdr            off: a missing peer-memory module or a container without it
//   node.pcie_switches  0: a virtual machine that shows no PCIe switches, and no topology file that tells them
//
// Weights are guesses, except where usual_version.cpp says otherwise. Not covered: the provider's tuner, clocks, other jobs.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "fabricast/scenario/scenario.hpp"

namespace fabricast {

struct UnstatedInput {
  struct Other {
    std::string value;
    double weight = 0;  ///< probability; of all others together less than 1, the rest is the assumed value's
  };
  std::string key;      ///< of the scenario
  std::string assumed;  ///< as a scenario would state it
  std::vector<Other> others;
  std::string how_to_tell;  ///< where its value stands on a machine
};

/// The four.
inline constexpr std::array<std::string_view, 4> open_keys = {"nccl.version", "node.cpu", "node.gdr",
                                                                "node.pcie_switches"};

/// In the order above; empty where all is stated. One node leaves out what only a network feels.
std::vector<UnstatedInput> unstated_inputs(const Scenario& scenario);

/// The scenario with a value for an unstated key. It stays unstated. \pre one of the input's others
Scenario with_input(const Scenario& scenario, std::string_view key, std::string_view value);

}  // namespace fabricast
