#include "fabricast/hardware/serving_stack.hpp"

namespace fabricast {

// Parameters of a release of a serving engine. Those marked `true` are fractions and must not exceed 1.
std::vector<ParameterRef> parameters(ServingStack& s) {
  return {
      {"gemm", "", "rate of GEMMs, relative to the GPU's", &s.gemm},
      {"attention_rate", "", "rate of attention, relative to the GPU's", &s.attention_rate},
      {"small_kernel", "us", "minimum time of a kernel other than a GEMM", &s.small_kernel},
      {"expert_rate", "", "rate of GEMMs of experts, relative to the GPU's with full tiles", &s.expert_rate},
      {"expert_rate_4", "", "the same with weights in 4 bits", &s.expert_rate_4},
      {"expert_fixed", "us", "time per MoE layer, besides its kernels", &s.expert_fixed},
      {"kernel_launch", "us", "host time per kernel, without CUDA graphs", &s.kernel_launch},
      {"layer_launch", "us", "host time per layer besides its kernels, without CUDA graphs", &s.layer_launch},
      {"expert_launch", "us", "additional host time per MoE layer, without CUDA graphs", &s.expert_launch},
      {"dispatch", "us", "time per dispatch or combine, besides the collective", &s.dispatch},
      {"collective", "us", "time per collective, besides its traffic and launch", &s.collective},
      {"reduce_start", "", "start of the engine's own all-reduce, relative to NCCL's on the GPU", &s.reduce_start},
      {"reduce_rate", "", "fraction of NVLink's rate at which the engine's own all-reduce reads", &s.reduce_rate, true},
      {"reduce_launch", "us", "host time per all-reduce of the engine's own kernel, without CUDA graphs",
       &s.reduce_launch},
      {"step_fixed", "us", "host time per pass: scheduling, inputs, outputs", &s.step_fixed},
      {"sequence_fixed", "us", "host time per pass and sequence", &s.sequence_fixed},
      {"request_fixed", "us", "time per request, outside passes", &s.request_fixed},
      {"request_serial", "us", "time per request, while the engine handles no other request", &s.request_serial},
      {"transfer_fixed", "us", "additional time per request with disaggregated prefill", &s.transfer_fixed},
      {"descriptor", "us", "host time per descriptor of a KV-cache transfer", &s.descriptor},
      {"interference", "", "fraction of its speed that computation loses to an overlapped collective", &s.interference},
      {"memory", "", "fraction of a GPU's memory that the engine uses, or of what weights leave free", &s.memory,
       true}};
}

}  // namespace fabricast
