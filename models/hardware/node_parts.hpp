// Parts of build_node that have their own files.
#pragma once

#include "fabricast/hardware/node.hpp"

namespace fabricast {

/// The usual layout of a host with the given numbers of devices.
/// \param nics  number of NICs as NCCL counts them, of `rate` each
NodeLayout usual_layout(const NodeSpec& spec, const GpuKind& gpu, int nics, BytesPerSecond rate);

/// Whether boards exist on which NVLinks alone, `nvlinks` per GPU, connect `gpus` GPUs.
bool has_nvlink_mesh(int gpus, int nvlinks);
/// NVLinks between two GPUs of such a board; fractional if links are spread evenly and do not divide.
/// \pre has_nvlink_mesh(gpus, nvlinks)
double mesh_nvlinks(int gpus, int nvlinks, int a, int b);

/// The graph on which transfers run, with the rates of the hardware data. \pre `node` is complete except for its graph
NodeGraph build_node_graph(const NodeLayout& layout, const Node& node, const Hardware& hardware);

/// Scales the times and rates of NCCL's work on the GPU to a clock relative to the usual one.
void scale_clock(Architecture& architecture, double clock);
/// Delays the start of a call, and the interval between overlapping calls.
void add_call_delay(Architecture& architecture, Seconds delay);

/// Fills in how the GPUs of a node reach each other. \pre `node` is complete except for that
void find_peer_paths(Node& node, const NodeUse& use);

}  // namespace fabricast
