// All-reduces that serving engines run as a kernel of their own instead of calling NCCL.
//
// Every GPU of an NVLink domain reads the data of the others. With n ranks and S bytes:
//
//   one-shot  start + 2 hops + (n - 1) S / rate         each rank reads all data of the others and sums it
//   two-shot  start + 4 hops + 2 (n - 1) / n S / rate   each rank sums one part, then reads the sums of the others
//
// A hop is a flag from one GPU to another, as in NCCL's LL protocol. The model takes the faster of the two, which
// agrees with the engines' thresholds within a few percent [vLLM-custom-all-reduce], [TensorRT-LLM-all-reduce]. Above 8
// MiB engines call NCCL.
//
// Pure functions; safe to call concurrently.
// Not modelled: sums in the NVSwitch (multimem), which some releases use from about 1 MiB on; GPUs that only PCIe
// connects, where engines call NCCL; and kernels that fuse the norm after the all-reduce.
#pragma once

#include "fabricast/core/units.hpp"
#include "fabricast/hardware/hardware.hpp"
#include "fabricast/hardware/node.hpp"

namespace fabricast {

/// Its label in programs (workload/program.hpp).
constexpr const char* own_all_reduce_label = "engine's own all-reduce";

/// What the time of such a kernel depends on. A plain value.
struct OwnAllReduce {
  int ranks = 1;        ///< GPUs that reach each other over NVLink; 1: the engine has no such kernel here
  Seconds start;        ///< of the kernel on all GPUs
  Seconds hop;          ///< of a flag
  BytesPerSecond rate;  ///< at which a GPU reads from the others
};

/// Largest message; above it engines call NCCL [vLLM-custom-all-reduce].
constexpr Bytes largest_own_all_reduce{8 << 20};

/// The kernel of an engine on a node. \param nvlink_nodes  hosts that share an NVLink domain
OwnAllReduce own_all_reduce(const ServingStack& stack, const NodeSpec& node, int nvlink_nodes,
                            const Hardware& hardware);

/// Whether `ranks` neighbouring GPUs reduce `bytes` with the engine's kernel.
bool runs_own(const OwnAllReduce& kernel, int ranks, Bytes bytes);
/// Time of the one-shot kernel. \pre ranks is at least 2
Seconds one_shot(const OwnAllReduce& kernel, int ranks, Bytes bytes);
/// Time of the two-shot kernel. \pre ranks is at least 2
Seconds two_shot(const OwnAllReduce& kernel, int ranks, Bytes bytes);
/// The faster of both. \pre ranks is at least 2
Seconds all_reduce_seconds(const OwnAllReduce& kernel, int ranks, Bytes bytes);

}  // namespace fabricast
