// GPUs for tests of kernels.
#pragma once

#include "fabricast/workload/kernels.hpp"

namespace fabricast::test {

/// Of 100 multiprocessors of 1 TFLOP/s each that reach all of it, with memory that is never in the way.
inline Kernels ideal_kernels() {
  Kernels k;
  k.gpu = "ideal";
  k.peak.fill(1e14);
  k.multiprocessors = 100;
  k.memory_rate = BytesPerSecond{1e30};
  for (const ParameterRef& p : parameters(k.model)) p.parameter->value = p.share ? 1 : 0;
  return k;
}

inline Kernels kernels_of(std::string_view gpu) {
  return resolve_kernels(default_node(shipped_hardware(), gpu, {}), shipped_hardware());
}

}  // namespace fabricast::test
