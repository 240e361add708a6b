// What NCCL's variables leave of a host: its NICs, its network, its ways between GPUs [NCCL-env].
#pragma once

#include "fabricast/planner/nccl.hpp"

namespace fabricast {

/// The longest way on which GPUs access each other directly, or `otherwise` if no variable says so.
PathType peer_level(const NcclSettings& settings, PathType otherwise);

/// Changes a host's spec to what NCCL uses of it: sockets instead of InfiniBand, PCIe instead of NVLink.
/// \returns what a spec can not say
/// \throws UserError if nothing is left, or variables contradict each other or the host; warns of those without effect.
NodeUse use_of_node(NodeSpec& spec, const NcclSettings& settings, std::vector<Diagnostic>& warnings);

/// \throws UserError if NCCL_SHM_DISABLE takes the only way between the GPUs of a host.
void check_ways_inside(const Node& node, const NcclSettings& settings);

}  // namespace fabricast
