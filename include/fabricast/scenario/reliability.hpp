// The section `reliability` of a scenario: how often components fail, what happens then, and how the job reacts.
//
// A month has 30 days. A share is the fraction of the components of a kind that fail in a month: 0.057% of 8,192 cables
// are 4.7 events. Defaults are published rates where they exist; otherwise the comment says `guess`
// (docs/models/risk.md lists them all). They come from other clusters and do not forecast a particular one: replace
// them if you have counts of your own.
//
// Not modelled: correlated failures (a rack's power, a batch of optics), wear, planned maintenance.
//
// Plain values; safe to use concurrently.
#pragma once

#include <vector>

#include "fabricast/core/fields.hpp"

namespace fabricast {

/// Fraction of the components of each kind that fail in a month.
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

/// Cables and NICs that continue at a fraction of their rate.
struct DegradedSpec {
  Ratio cable{0.00057};             ///< fraction of cables in a month; guess: as often as they fail
  Ratio nic{0.00024};               ///< fraction of NICs in a month; guess: as often as they fail
  std::vector<Ratio> rates{{0.5}};  ///< remaining fractions of the rate, equally likely; guess: half of the lanes
};

/// Cables that are down for short times.
struct FlapSpec {
  double cable = 0.25;  ///< flaps of a cable in a month; guess: 5,000 a day [FABRICS-8] over 600,000 cables
  Seconds median{2};    ///< duration of a flap, log-normal; guess
  double spread = 0.7;  ///< standard deviation of the logarithm of the duration; guess
};

/// Hosts that compute more slowly for a while.
struct StragglerSpec {
  Ratio hosts{0.005};   ///< fraction of hosts that become stragglers in a month [Jiang2024]
  Ratio slowdown{0.1};  ///< extra compute time, as a fraction [Jiang2024]
  Seconds last{86400};  ///< until a straggler is found and replaced; guess
};

/// NICs that stop their neighbours: they send pauses without end, which spread from switch to switch.
struct PauseStormSpec {
  Ratio nic{0};      ///< fraction of NICs that begin one in a month
  Seconds last{60};  ///< until a watchdog of switches or NICs, or an operator, ends it
};

/// When a queue pair gives up. Overrides NCCL's variables.
struct TransportSpec {
  int timeout = 0;   ///< exponent of 4.096 us; 0: NCCL_IB_TIMEOUT, or NCCL's default
  int retries = -1;  ///< -1: NCCL_IB_RETRY_CNT, or NCCL's default
};

/// Time from a failure until the component works again; guess: one day each.
struct RepairSpec {
  Seconds cable{86400};
  Seconds switches{86400};
  Seconds host{86400};
};

/// Checkpoints of a training job.
struct CheckpointSpec {
  Seconds every{0};                 ///< work between two checkpoints; 0: the optimal interval [Daly2006]
  bool asynchronous = true;         ///< training continues while a copy in host memory is written [Jiang2024]
  double bytes_per_parameter = 14;  ///< bf16 weights; fp32 weights and two moments of Adam
  BytesPerSecond storage{2e9};      ///< of each host, for reading and for writing; guess
  BytesPerSecond copy{25e9};        ///< of each GPU to host memory; guess: half of a PCIe Gen5 x16
};

/// Time that a restart takes after a failure that stops the job.
struct RestartSpec {
  Seconds detect{600};  ///< until a hang is detected: the timeout of PyTorch's process groups [PyTorch-pg]
  Seconds start{300};   ///< scheduling, processes, communicators; guess. Reading the checkpoint is added
};

/// The section `reliability`.
struct ReliabilitySpec {
  FailureShares failures;
  DegradedSpec degraded;
  FlapSpec flaps;
  StragglerSpec stragglers;
  PauseStormSpec pause_storms;
  int planes = 1;        ///< ports of each NIC, each connected to its own leaves (dual-ToR: 2)
  Seconds reroute{0.1};  ///< until switches route around a failed component; guess
  TransportSpec transport;
  RepairSpec repair;
  int spares = -1;  ///< spare hosts; -1: one for every 16 hosts of the job [FABRICS-8]
  CheckpointSpec checkpoint;
  RestartSpec restart;
};
void visit_fields(FieldVisitor& visit, ReliabilitySpec& spec);

}  // namespace fabricast
