// When a queue pair of a scenario sends again, and when it gives up.
//
// InfiniBand and RoCE wait 4.096 us x 2^timeout for an acknowledgement [IBTA-spec], `retries` times in a row. NCCL sets
// both [NCCL-env]: 20 since 2.23, 18 since 2.14, 14 before; 7 retries.
//
// A pure function. Not modelled: NICs that wait for less at first or for longer later. NVIDIA's adaptive retransmission
// does the first, and may take up to four times what is set [NVIDIA-ADP].
#pragma once

#include "fabricast/planner/provider.hpp"
#include "fabricast/scenario/scenario.hpp"

namespace fabricast {

/// A lost packet is sent again after each `timeout`, and the job stops after `window`; in s.
struct Transport {
  double timeout = 0, window = 0;
};
/// By the section, or else NCCL's variables (those of the scenario win over the provider's), or else the defaults of the
/// NCCL version.
Transport transport_of(const Scenario& scenario, const ProviderEnvironment& provider, const TransportSpec& spec);

}  // namespace fabricast
