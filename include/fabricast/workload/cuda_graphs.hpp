// What of a training step is launched as CUDA graphs: the host launches a graph by one call, so what is in one costs it nothing.
#pragma once

#include <string_view>

#include "fabricast/core/enum_names.hpp"

namespace fabricast {

/// Each holds what stands before it.
enum class CudaGraphs {
  none,
  router,     ///< of layers with experts: router and what prepares the dispatch
  attention,  ///< attention, and feed-forward parts without experts
  step        ///< all
};
template <>
struct EnumNames<CudaGraphs> {
  static constexpr std::array<std::string_view, 4> names{"none", "router", "attention", "step"};
};

}  // namespace fabricast
