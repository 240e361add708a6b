// Time of the all-reduce kernels that vLLM, SGLang and TensorRT-LLM run instead of NCCL for small messages. The header
// has the equations.
#include "fabricast/workload/own_all_reduce.hpp"

#include <algorithm>

namespace fabricast {

OwnAllReduce own_all_reduce(const ServingStack& stack, const NodeSpec& node, int nvlink_nodes,
                            const Hardware& hardware) {
  OwnAllReduce kernel;
  const bool joined = node.intranode == Intranode::nvswitch || node.intranode == Intranode::nvlink_mesh;
  const GpuKind& gpu = hardware.gpus.find(node.gpu)->second;
  if (!stack.own_all_reduce || !joined || gpu.nvlink.empty()) return kernel;
  // Launch and flag are NCCL's on the same GPU, since both write and poll flags over NVLink; two factors of the engine
  // are fitted: of the start and of the rate.
  const Architecture architecture = hardware.architecture(gpu.architecture);
  kernel.ranks = node.gpus * std::max(1, nvlink_nodes);
  kernel.start = {stack.reduce_start.value * architecture.launch.us().value};
  kernel.hop = architecture.hop[static_cast<std::size_t>(Protocol::ll)].us();
  kernel.rate = {hardware.links.find(gpu.nvlink)->second.rate.value * gpu.nvlinks * stack.reduce_rate.value};
  return kernel;
}

bool runs_own(const OwnAllReduce& kernel, int ranks, Bytes bytes) {
  return ranks > 1 && ranks <= kernel.ranks && bytes <= largest_own_all_reduce;
}

Seconds one_shot(const OwnAllReduce& k, int ranks, Bytes bytes) {
  const double read = static_cast<double>(ranks - 1) * static_cast<double>(bytes.value);
  return {k.start.value + 2 * k.hop.value + read / k.rate.value};
}

Seconds two_shot(const OwnAllReduce& k, int ranks, Bytes bytes) {
  const double read = 2.0 * (ranks - 1) / ranks * static_cast<double>(bytes.value);
  // Two phases, each with two hops of flags.
  return {k.start.value + 4 * k.hop.value + read / k.rate.value};
}

Seconds all_reduce_seconds(const OwnAllReduce& k, int ranks, Bytes bytes) {
  return {std::min(one_shot(k, ranks, bytes).value, two_shot(k, ranks, bytes).value)};
}

}  // namespace fabricast
