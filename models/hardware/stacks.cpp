#include "fabricast/hardware/stack.hpp"

namespace fabricast {

std::vector<ParameterRef> parameters(Stack& s) {
  return {
      {"gemm", "", "rate of GEMMs, relative to the GPU's", &s.gemm},
      {"attention_rate", "", "rate of attention, relative to the GPU's", &s.attention_rate},
      {"eager", "", "element-wise traffic without a compiler, relative", &s.eager},
      {"cast", "B", "per element that is cast to 8 bits or fewer, of what products read", &s.cast},
      {"expert_cast", "B", "the same of what products of experts read", &s.expert_cast},
      {"tensor_exposed", "", "overlap.tensor: part of a collective of tensor parallelism that stays exposed",
       &s.tensor_exposed, true},
      {"context_exposed", "", "part of the exchange of keys and values that stays exposed", &s.context_exposed, true},
      {"expert_exposed", "", "overlap.expert: part of the exchange of tokens that stays exposed", &s.expert_exposed,
       true},
      {"context_imbalance", "", "of attention among ranks that share a sequence: 0 none, 1 as if split in order",
       &s.context_imbalance, true},
      {"interference", "", "part of its speed that computation loses beside 16 channels of a collective",
       &s.interference},
      {"accumulation", "B", "per parameter and micro-batch, to add gradients up", &s.accumulation},
      {"optimizer", "B", "per parameter of the optimizer", &s.optimizer},
      {"layer_launch", "us", "per layer and pass that the GPU waits for its host; backward twice", &s.layer_launch},
      {"launch", "us", "that the host takes to launch half a layer's kernels, which it does ahead of the GPU",
       &s.launch},
      {"router_launch", "us", "the same of router, permutation and what prepares the dispatch", &s.router_launch},
      {"fused_launch", "us", "the same where dispatching permutes tokens, too: HybridEP", &s.fused_launch},
      {"expert_launch", "us", "the same of each local expert's product", &s.expert_launch},
      {"step_fixed", "s", "per step: data, synchronization with the host, logging", &s.step_fixed},
      {"jitter", "", "standard deviation of a layer's time, relative: groups wait for their slowest", &s.jitter},
      {"spread", "", "standard deviation of ln(measured / forecast) of steps when all else is known", &s.spread}};
}

}  // namespace fabricast
