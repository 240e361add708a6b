// The parts of build_node that have files of their own.
#pragma once

#include "fabricast/hardware/node.hpp"

namespace fabricast {

/// The usual layout of a machine of a few words.
/// \param nics as NCCL sees them, of `rate` each
NodeLayout usual_layout(const NodeSpec& spec, const GpuKind& gpu, int nics, BytesPerSecond rate);

/// Whether GPUs with so many NVLinks each are sold joined by these alone.
bool has_nvlink_mesh(int gpus, int nvlinks);
/// NVLinks between two GPUs of such a board; a fraction where they are spread evenly and do not divide. \pre there is one
double mesh_nvlinks(int gpus, int nvlinks, int a, int b);

/// The graph on which transfers run, with the rates of the hardware data. `node` is whole but for its graph.
NodeGraph build_node_graph(const NodeLayout& layout, const Node& node, const Hardware& hardware);

/// What GPUs take for NCCL's work at a clock relative to the usual one.
void scale_clock(Architecture& architecture, double clock);
/// A call starts later, and calls that overlap start farther apart.
void add_call_delay(Architecture& architecture, Seconds delay);

/// Fills in how its GPUs reach each other. `node` is whole but for that.
void find_peer_paths(Node& node, const NodeUse& use);

}  // namespace fabricast
