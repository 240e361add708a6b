// Which parts of a training step run as CUDA graphs.
//
// The host launches a graph with one call, so kernels inside a graph cost no launch time. Outside graphs the host
// launches kernel by kernel and may fall behind the GPU; Stack holds what a launch costs (hardware/stack.hpp).
//
// Not modelled: the launch of the graph itself.
#pragma once

#include <string_view>

#include "fabricast/core/enum_names.hpp"

namespace fabricast {

/// What is captured. Each value includes those before it.
enum class CudaGraphs {
  none,
  router,     ///< of MoE layers: the router and the preparation of the dispatch
  attention,  ///< attention, and feed-forward blocks without experts
  step        ///< the whole step
};
template <>
struct EnumNames<CudaGraphs> {
  static constexpr std::array<std::string_view, 4> names{"none", "router", "attention", "step"};
};

}  // namespace fabricast
