// How pairs of GPUs of a host reach each other [NCCL-paths]: directly over NVLink or PCIe up to a maximum distance, and
// over PCIe only if the driver allows it; otherwise through a buffer in host memory. NCCL decides this for each pair.
#include "node_parts.hpp"

namespace fabricast {

PeerLevels usual_peer_levels(CpuVendor cpu) {
  // Root ports of AMD CPUs forward traffic between two GPUs at full rate.
  return {cpu == CpuVendor::amd ? PathType::SYS : PathType::PXB, PathType::PXB};
}

/// \param by_pcie  whether the driver allows GPUs to write to each other over PCIe
static PeerPath path_of(PathType distance, PathType level, bool by_pcie) {
  // NVLink counts as a distance as well, so NCCL_P2P_DISABLE (level LOC) also sends NVLink traffic through host memory.
  if (distance > level) return PeerPath::host_memory;
  if (distance <= PathType::NVL) return PeerPath::nvlink;
  if (distance == PathType::NVB) return PeerPath::nvlink_by_peer;
  return by_pcie ? PeerPath::pcie : PeerPath::host_memory;
}

void find_peer_paths(Node& node, const NodeUse& use) {
  const int gpus = node.spec.gpus;
  const bool by_switch = node.spec.intranode == Intranode::nvswitch;
  node.nvlink = by_switch || node.spec.intranode == Intranode::nvlink_mesh;
  node.all_nvlink = node.nvlink;
  node.peer_to_peer = false;
  node.peer_paths.clear();
  // All GPUs behind an NVSwitch reach each other, so the thousands of pairs of a rack need no table.
  if (gpus < 2 || by_switch) return;
  const PeerLevels levels = use.peer_levels.value_or(usual_peer_levels(node.spec.cpu));
  // NCCL treats hosts with at most two GPUs differently on AMD.
  const PathType level = gpus <= 2 ? levels.of_two : levels.of_more;
  node.peer_paths.assign(static_cast<std::size_t>(gpus * gpus), PeerPath::nvlink);
  bool all_direct = true;
  node.nvlink = false;
  node.all_nvlink = true;
  for (int a = 0; a < gpus; ++a)
    for (int b = 0; b < gpus; ++b) {
      if (a == b) continue;
      const PeerPath route = path_of(node.graph.gpu_gpu_distance(a, b), level, node.gpu.peer_to_peer);
      node.peer_paths[static_cast<std::size_t>(a * gpus + b)] = route;
      node.nvlink = node.nvlink || route == PeerPath::nvlink;
      node.all_nvlink = node.all_nvlink && route == PeerPath::nvlink;
      all_direct = all_direct && route != PeerPath::host_memory;
    }
  node.peer_to_peer = !node.nvlink && all_direct;
}

}  // namespace fabricast
