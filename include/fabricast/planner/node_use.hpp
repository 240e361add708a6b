// How NCCL's variables restrict a host: its NICs, its network, and the paths between its GPUs [NCCL-env].
//
// Pure functions; safe to call concurrently. Errors and warnings have the path of a variable, `nccl.env.NCCL_X`.
#pragma once

#include "fabricast/planner/nccl.hpp"

namespace fabricast {

/// Maximum distance at which GPUs access each other directly, or `otherwise` if no variable sets it.
PathType peer_level(const NcclSettings& settings, PathType otherwise);

/// The same with NCCL's default, which depends on its version and the CPU.
PeerLevels peer_levels(const NcclSettings& settings, CpuVendor cpu);

/// Changes the spec of a host to what NCCL uses: sockets instead of InfiniBand, PCIe instead of NVLink. Appends
/// warnings about variables without effect.
/// \returns restrictions that a spec cannot express
/// \throws UserError if nothing is left, or if variables contradict each other or the host
NodeUse use_of_node(NodeSpec& spec, const NcclSettings& settings, std::vector<Diagnostic>& warnings);

/// A host as NCCL sees it if its GPUs must not use host memory (NCCL_SHM_DISABLE). If some GPUs cannot reach others,
/// each group of GPUs that reach each other becomes a node with the NICs close to it.
/// \returns the first such node; its `parts` is their number. The host itself if nothing is split
/// \throws UserError if the groups are not alike
Node split_by_network(const Node& host, const NcclSettings& settings, const NodeUse& use);

/// \throws UserError if NCCL_SHM_DISABLE removes the only path between GPUs of a node
void check_paths_inside(const Node& node, const NcclSettings& settings);

}  // namespace fabricast
