// The constants of NCCL's cost model by version [NCCL-tuning-1.1]. cost_model.cpp has the formulas.
#pragma once

#include <array>

#include "fabricast/planner/nccl.hpp"

namespace fabricast {

/// Indices of algorithms: NCCL's, and those of Algorithm.
namespace cost_index {
inline constexpr std::size_t tree = 0, ring = 1, direct = 2, chain = 3, nvls = 4, nvlstree = 5, pat = 6;
}  // namespace cost_index

/// By algorithm (cost_index) and protocol: LL, LL128, Simple.
using PerAlgorithm = std::array<PerProtocol<double>, algorithm_count>;
/// Rows Volta, Ampere, Hopper, Blackwell; columns 1, 2, more nodes. Three nodes and a thousand share a column: NCCL's
/// model has no further dependence on size.
using BandwidthCaps = std::array<std::array<double, 3>, 4>;

struct CostConstants {
  // Latencies in us: `base` once per call, `hop` for each hop over a kind of link. Zero means that NCCL has no such
  // kernel, or that the other term carries the whole latency.
  PerAlgorithm base;
  std::array<PerAlgorithm, 3> hop;  ///< [NVLink, PCI, network]
  // Bandwidths in GB/s, of one channel except `ll`, which is of all channels together.
  BandwidthCaps ll, ring_ll128, tree_ll128, tree, nvlstree;
  /// Factors on the bandwidth of trees by floor(log2(bytes / 64)). They stand for what the formula leaves out: filling
  /// the pipeline, and the granularity of chunks [NCCL-tuning-1.5]. The engines compute these effects and have no such
  /// table.
  std::array<std::array<double, 24>, 3> tree_correction;
};

/// The constants of a version. Versions before 2.7 get those of 2.7.
const CostConstants& cost_constants(const NcclVersion& version);

}  // namespace fabricast
