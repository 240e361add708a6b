// What makes a whole host slower than others of its kind: GPUs with a capped clock, and host time added to each call.
#include "node_parts.hpp"

namespace fabricast {

/// Times of work on SMs are inversely proportional to their clock. Links and NICs keep their rate. Hops over PCIe and
/// the network keep their time, because most of such a hop is not spent on the GPU (guess).
void scale_clock(Architecture& a, double clock) {
  for (Parameter* time :
       {&a.launch, &a.slice, &a.ll_burst, &a.fence_ll128, &a.nvls_hop, &a.nvls_slice, &a.copy_barrier})
    time->value /= clock;
  for (Parameter& hop : a.hop) hop.value /= clock;
  for (Parameter& rate : a.rate) rate.value *= clock;
  a.rate_unaligned.value *= clock;
  a.nvls_rate.value *= clock;
}

// Host time delays a single call, and also the next call of a sequence, which the host issues after it.
void add_call_delay(Architecture& a, Seconds delay) {
  a.launch.value += delay.value * 1e6;
  a.issue_gap.value += delay.value * 1e6;
}

}  // namespace fabricast
