// The parts of build_node that have files of their own.
#pragma once

#include "fabricast/hardware/node.hpp"

namespace fabricast {

/// The usual layout of a machine of a few words.
/// \param nics as NCCL sees them, of `rate` each
NodeLayout usual_layout(const NodeSpec& spec, const GpuKind& gpu, int nics, BytesPerSecond rate);

/// The graph on which transfers run, with the rates of the hardware data. `node` is whole but for its graph.
NodeGraph build_node_graph(const NodeLayout& layout, const Node& node, const Hardware& hardware);

}  // namespace fabricast
