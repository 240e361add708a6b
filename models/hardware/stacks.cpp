#include "fabricast/hardware/stack.hpp"

namespace fabricast {

// Parameters of a generation of training software. Those marked `true` are fractions and must not exceed 1.
std::vector<ParameterRef> parameters(Stack& s) {
  return {
      {"gemm", "", "rate of GEMMs, relative to the GPU's", &s.gemm},
      {"gemm_4", "", "rate of 4-bit GEMMs, in addition to gemm", &s.gemm_4},
      {"attention_rate", "", "rate of attention, relative to the GPU's", &s.attention_rate},
      {"eager", "", "element-wise traffic without a compiler, relative to compiled", &s.eager},
      {"cast", "B", "bytes per element of GEMM inputs that is cast to 8 bits or fewer", &s.cast},
      {"expert_cast", "B", "the same for GEMM inputs of experts", &s.expert_cast},
      {"tensor_exposed", "", "overlap.tensor: exposed fraction of tensor parallel collectives", &s.tensor_exposed,
       true},
      {"context_exposed", "", "exposed fraction of context parallel collectives", &s.context_exposed, true},
      {"expert_exposed", "", "overlap.expert: exposed fraction of dispatch and combine", &s.expert_exposed, true},
      {"context_imbalance", "", "imbalance of attention among context parallel ranks: 0 none, 1 as if split in order",
       &s.context_imbalance, true},
      {"interference", "", "fraction of its speed that computation loses to 16 channels of a collective",
       &s.interference},
      {"accumulation", "B", "bytes per parameter and micro-batch, to accumulate gradients", &s.accumulation},
      {"optimizer", "B", "bytes per parameter, of the optimizer", &s.optimizer},
      {"layer_launch", "us",
       "time per layer and forward pass in which the GPU waits for its host; backward: twice that", &s.layer_launch},
      {"launch", "us", "host time to launch the kernels of half a layer, ahead of the GPU", &s.launch},
      {"router_launch", "us", "the same for router, permutation and preparation of the dispatch", &s.router_launch},
      {"fused_launch", "us", "the same if the dispatch also permutes tokens (HybridEP)", &s.fused_launch},
      {"expert_launch", "us", "the same for each GEMM of a local expert", &s.expert_launch},
      {"step_fixed", "s", "time per step for data, synchronization with the host, logging", &s.step_fixed},
      {"jitter", "", "relative standard deviation of a layer's time; groups wait for their slowest rank", &s.jitter},
      {"spread", "", "standard deviation of ln(measured / forecast) of steps if all else is known", &s.spread}};
}

}  // namespace fabricast
