// How often what fails, what then happens, and what a job does about it: the section `reliability`.
//
// A month has 30 days. Shares are of the components of a kind that fail in a month: 0.057% of 8,192 cables are 4.7
// events. Defaults are published rates where there are any, and else say `guess` (docs/models/risk.md has them all).
// They describe the ageing of a cluster, not a forecast of any one; give your own where you have counted.
//
// Not modelled: failures that come together (a rack's power, a batch of optics), wear, planned maintenance.
#pragma once

#include <vector>

#include "fabricast/core/fields.hpp"

namespace fabricast {

/// Share of all components that fail in a month.
struct FailureShares {
  Ratio gpu{0.0089};            ///< 262 of 16,384 GPUs in 54 days [Grattafiori2024]
  Ratio host{0.0125};           ///< 46 of 2,048 hosts in 54 days [Grattafiori2024]
  Ratio nic{0.00024};           ///< 7 of 16,384 in 54 days [Grattafiori2024]
  Ratio nic_cable{0.00057};     ///< [FABRICS-8]
  Ratio leaf{0.00051};          ///< [FABRICS-8]
  Ratio spine{0.00051};         ///< guess: as a leaf
  Ratio core{0.00051};          ///< guess: as a leaf
  Ratio fabric_cable{0.00057};  ///< guess: as a NIC's cable
  Ratio software{0.0023};  ///< of GPUs: 69 stops of a job of 16,384 in 54 days [Grattafiori2024]; guess: in proportion
};

/// Cables and NICs that go on at a part of their rate.
struct DegradedSpec {
  Ratio cable{0.00057};             ///< share of cables in a month; guess: as often as they fail
  Ratio nic{0.00024};               ///< share of NICs in a month; guess: as often as they fail
  std::vector<Ratio> rates{{0.5}};  ///< what is left; each as often. guess: half of the lanes
};

/// Cables that are down for moments.
struct FlapSpec {
  double cable = 0.25;  ///< flaps of a cable in a month; guess: 5,000 a day [FABRICS-8] over 600,000 cables
  Seconds median{2};    ///< that one lasts; guess
  double spread = 0.7;  ///< standard deviation of its logarithm; guess
};

/// Hosts that compute slower for a while.
struct StragglerSpec {
  Ratio hosts{0.005};   ///< share in a month [Jiang2024]
  Ratio slowdown{0.1};  ///< [Jiang2024]
  Seconds last{86400};  ///< until they are found and replaced; guess
};

/// When a queue pair gives up: NCCL's variables unless given here.
struct TransportSpec {
  int timeout = 0;   ///< exponent of 4.096 us; 0: NCCL_IB_TIMEOUT, or NCCL's default
  int retries = -1;  ///< -1: NCCL_IB_RETRY_CNT, or NCCL's default
};

/// From a failure until the component is back. guess: a day each
struct RepairSpec {
  Seconds cable{86400};
  Seconds switches{86400};
  Seconds host{86400};
};

struct CheckpointSpec {
  Seconds every{0};                 ///< 0: the best interval [Daly2006]
  bool asynchronous = true;         ///< the step goes on while a copy in host memory is written [Jiang2024]
  double bytes_per_parameter = 14;  ///< bf16 weights; fp32 weights and two moments of Adam
  BytesPerSecond storage{2e9};      ///< of each host, reading and writing; guess
  BytesPerSecond copy{25e9};        ///< of each GPU to host memory; guess: half of a PCIe Gen5 x16
};

struct RestartSpec {
  Seconds detect{600};  ///< until a hang is found: the time limit of PyTorch's process groups [PyTorch-pg]
  Seconds start{300};   ///< scheduling, processes, communicators; guess. The checkpoint is read on top
};

struct ReliabilitySpec {
  FailureShares failures;
  DegradedSpec degraded;
  FlapSpec flaps;
  StragglerSpec stragglers;
  int planes = 1;        ///< ports of each NIC, each at leaves of its own (dual-ToR: 2)
  Seconds reroute{0.1};  ///< until switches route around what is down; guess
  TransportSpec transport;
  RepairSpec repair;
  int spares = -1;  ///< hosts that stand by; -1: one for every 16 of the job [FABRICS-8]
  CheckpointSpec checkpoint;
  RestartSpec restart;
};
void visit_fields(FieldVisitor& visit, ReliabilitySpec& spec);

}  // namespace fabricast
