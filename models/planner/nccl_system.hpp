// A node as NCCL's search sees it: vertices, links with NCCL's bandwidths, and the paths between vertices.
#pragma once

#include <cstdint>
#include <vector>

#include "fabricast/planner/nccl.hpp"

namespace fabricast {

/// Bandwidth in thousandths of GB/s, to which NCCL rounds the remaining bandwidth of a link.
using MilliBandwidth = std::int64_t;
inline MilliBandwidth milli(double gigabytes) {
  return static_cast<MilliBandwidth>(gigabytes * 1000 + (gigabytes < 0 ? -0.5 : 0.5));
}

/// The best path between two vertices. Type DIS: there is none.
struct NcclPath {
  PathType type = PathType::DIS;
  MilliBandwidth bandwidth = 0;
  std::vector<std::uint16_t> links;
  bool operator==(const NcclPath&) const = default;
};

/// The graph and its paths.
struct NcclSystem {
  enum class Kind { gpu, nvswitch, cpu, pci, nic, net };
  enum class LinkType { nvlink, c2c, pci, socket, net };
  struct Vertex {
    Kind kind;
    int index;  ///< among vertices of its kind
    bool operator==(const Vertex&) const = default;
  };
  struct Link {
    std::uint16_t from, to;
    LinkType type;
    MilliBandwidth bandwidth;
    std::uint16_t reverse;
    bool operator==(const Link&) const = default;
  };

  NodeLayout layout;
  int gpus = 0, nets = 0, cpus = 0;
  bool nvswitch = false;
  int capability = 0;
  bool intel = false, amd = false;  ///< x86 CPUs of that vendor
  std::vector<Vertex> vertices;     ///< GPUs first, then NETs
  std::vector<Link> links;

  // Indexed by [from * number of destinations + to].
  std::vector<NcclPath> gpu_gpu, gpu_net, net_gpu, gpu_switch, switch_gpu;

  bool operator==(const NcclSystem&) const = default;

  const NcclPath& path_gpu_gpu(int a, int b) const { return gpu_gpu[static_cast<std::size_t>(a * gpus + b)]; }
  const NcclPath& path_gpu_net(int g, int n) const { return gpu_net[static_cast<std::size_t>(g * nets + n)]; }
  const NcclPath& path_net_gpu(int n, int g) const { return net_gpu[static_cast<std::size_t>(n * gpus + g)]; }

  /// NETs nearest to a GPU, and GPUs nearest to a NET: highest bandwidth first, then closest type.
  std::vector<int> nearest_nets(int gpu) const;
  std::vector<int> nearest_gpus(int net) const;
  /// The NET that a GPU prefers for a channel.
  int preferred_net(int gpu, int channel) const;
  /// The first GPU that prefers the NET, or -1.
  int owner(int net) const;

  double max_bandwidth() const;  ///< GB/s of the best path from a GPU to a NET, or to another GPU if there are no NETs
  double total_bandwidth() const;  ///< GB/s of all links of the best GPU
};

/// The system of a node. \param network  whether the communicator has several nodes; if not, NICs are omitted, as in
/// NCCL
NcclSystem nccl_system(const Node& node, bool network, const NcclSettings& settings);

}  // namespace fabricast
