// What NCCL's variables leave of a host: its NICs, its network, its ways between GPUs [NCCL-env].
#pragma once

#include "fabricast/planner/nccl.hpp"

namespace fabricast {

/// The longest way on which GPUs access each other directly, or `otherwise` if no variable says so.
PathType peer_level(const NcclSettings& settings, PathType otherwise);

/// The same by NCCL's version and the CPU where no variable says so.
PeerLevels peer_levels(const NcclSettings& settings, CpuVendor cpu);

/// Changes a host's spec to what NCCL uses of it: sockets instead of InfiniBand, PCIe instead of NVLink.
/// \returns what a spec can not say
/// \throws UserError if nothing is left, or variables contradict each other or the host; warns of those without effect.
NodeUse use_of_node(NodeSpec& spec, const NcclSettings& settings, std::vector<Diagnostic>& warnings);

/// A host whose GPUs may not meet in host memory, as NCCL sees it: where some do not reach others, those that do are nodes
/// of their own, which use the NICs beside them. \returns the first of them, with their number
/// \throws UserError if they are not alike.
Node split_by_network(const Node& host, const NcclSettings& settings, const NodeUse& use);

/// \throws UserError if NCCL_SHM_DISABLE takes the only way between the GPUs of a node.
void check_paths_inside(const Node& node, const NcclSettings& settings);

}  // namespace fabricast
