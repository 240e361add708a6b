#include "fabricast/hardware/serving_stack.hpp"

namespace fabricast {

std::vector<ParameterRef> parameters(ServingStack& s) {
  return {
      {"gemm", "", "rate of GEMMs, relative to the GPU's", &s.gemm},
      {"attention_rate", "", "rate of attention, relative to the GPU's", &s.attention_rate},
      {"small_kernel", "us", "that a kernel besides GEMMs takes however little it does", &s.small_kernel},
      {"expert_rate", "", "rate of GEMMs of experts, relative to the GPU's of well-filled ones", &s.expert_rate},
      {"expert_fixed", "us", "of a layer with experts beside its kernels", &s.expert_fixed},
      {"kernel_launch", "us", "of the host per kernel, without CUDA graphs", &s.kernel_launch},
      {"layer_launch", "us", "of the host per layer beside its kernels, without CUDA graphs", &s.layer_launch},
      {"expert_launch", "us", "of the host per layer with experts beside that, without CUDA graphs", &s.expert_launch},
      {"dispatch", "us", "that tokens take to or from their experts' ranks beside the collective", &s.dispatch},
      {"collective", "us", "that a collective takes beside its traffic and launch", &s.collective},
      {"reduce_start", "", "start of an all-reduce of the engine's own, relative to NCCL's on the GPU",
       &s.reduce_start},
      {"reduce_rate", "", "share of NVLink's rate that an all-reduce of the engine's own reads at", &s.reduce_rate,
       true},
      {"reduce_launch", "us", "of the host per all-reduce of the engine's own, without CUDA graphs", &s.reduce_launch},
      {"step_fixed", "us", "of the host per pass: schedule, inputs, what comes out", &s.step_fixed},
      {"sequence_fixed", "us", "of the host per pass and sequence", &s.sequence_fixed},
      {"request_fixed", "us", "of a request outside of passes", &s.request_fixed},
      {"request_serial", "us", "of a request, during which no other one of the engine gets on", &s.request_serial},
      {"transfer_fixed", "us", "of a request more where prompts have GPUs of their own", &s.transfer_fixed},
      {"interference", "", "part of its speed that computation loses to a collective beside it", &s.interference},
      {"memory", "", "part of a GPU's memory that is used, or of what weights leave free", &s.memory, true}};
}

}  // namespace fabricast
