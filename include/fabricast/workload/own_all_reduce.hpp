// All-reduces that serving engines run as one kernel of their own, instead of calling NCCL.
//
// Every GPU of an NVLink domain reads what the others hold. With n ranks of S bytes:
//
//   one-shot  start + 2 hops + (n - 1) S / rate           each rank reads all of the others' data and sums it
//   two-shot  start + 4 hops + 2 (n - 1) / n S / rate     each rank sums a part, then reads the parts of the others
//
// A hop is a flag from one GPU to another, as in NCCL's LL protocol. The kernel takes the faster of the two, as the engines'
// thresholds do within a few percent [vLLM-custom-all-reduce], [TensorRT-LLM-all-reduce]. Above 8 MiB they call NCCL.
//
// Not modelled: sums in the switch (multimem), which some releases use from about 1 MiB on; GPUs joined by PCIe alone, where
// engines call NCCL; kernels that fuse the norm that follows.
#pragma once

#include "fabricast/core/units.hpp"
#include "fabricast/hardware/hardware.hpp"
#include "fabricast/hardware/node.hpp"

namespace fabricast {

/// What such a kernel needs to know of a GPU and an engine; a plain value.
struct OwnAllReduce {
  int ranks = 1;        ///< GPUs that reach each other by NVLink; 1: the engine has no such kernel here
  Seconds start;        ///< of the kernel on all GPUs
  Seconds hop;          ///< of a flag
  BytesPerSecond rate;  ///< at which a GPU reads from the others
};

/// Largest message: above it NCCL is called [vLLM-custom-all-reduce].
constexpr Bytes largest_own_all_reduce{8 << 20};

/// \param nvlink_nodes  hosts that share an NVLink domain
OwnAllReduce own_all_reduce(const ServingStack& stack, const NodeSpec& node, int nvlink_nodes,
                            const Hardware& hardware);

/// Whether `ranks` neighbours reduce so many bytes by the engine's kernel.
bool runs_own(const OwnAllReduce& kernel, int ranks, Bytes bytes);
/// \pre ranks is at least 2
Seconds one_shot(const OwnAllReduce& kernel, int ranks, Bytes bytes);
Seconds two_shot(const OwnAllReduce& kernel, int ranks, Bytes bytes);
/// The faster of both.
Seconds all_reduce_seconds(const OwnAllReduce& kernel, int ranks, Bytes bytes);

}  // namespace fabricast
