// The inside of a node: GPUs, NVSwitch or NVLink mesh, PCIe switches, CPU sockets with their memory, NICs.
//
// One small directed graph serves all nodes of a cluster. Links are directed; link l's reverse is l ^ 1.
// A transfer between two GPUs, or between a GPU and a NIC, crosses a list of these links:
//
//   GPU to GPU      NVLink if there is one, past at most one other GPU, else the shortest way over PCIe and the sockets
//   GPU to NIC      with GPUDirect RDMA: PCIe only, in the same switch, socket, or across sockets
//                   without: GPU -> PCIe -> socket -> memory, memory -> socket -> PCIe -> NIC,
//                   which crosses PCIe twice more and reads and writes host memory
//
// Distances are NCCL's path types [NCCL-paths]: the worst kind of thing that a path crosses.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fabricast/core/id.hpp"
#include "fabricast/fabric/link.hpp"

namespace fabricast {

enum class NodeVertexKind { gpu, nvswitch, pcie_switch, socket, memory, nic };

/// NCCL's path types, close to far [NCCL-paths].
enum class PathType { LOC, NVL, NVB, C2C, PIX, PXB, P2C, PXN, PHB, SYS, NET, DIS };
template <>
struct EnumNames<PathType> {
  static constexpr std::array<std::string_view, 12> names{"LOC", "NVL", "NVB", "C2C", "PIX", "PXB",
                                                          "P2C", "PXN", "PHB", "SYS", "NET", "DIS"};
};

class NodeGraph {
 public:
  struct Vertex {
    NodeVertexKind kind;
    std::string name;
  };
  struct Link {
    std::uint16_t from, to;
    LinkClass link_class;
  };

  int gpus = 0;
  int nics = 0;
  /// Of a part of a machine: its GPUs' numbers there, and how many the machine has. Empty: all are there, in order.
  std::vector<int> numbers;
  int installed = 0;
  std::vector<Vertex> vertices;
  std::vector<Link> links;

  std::uint16_t add_vertex(NodeVertexKind kind, std::string name);
  /// Two links, one per direction.
  void add_cable(std::uint16_t a, std::uint16_t b, const LinkClass& link_class);

  /// The same links with these GPUs and NICs alone, in the order given: they become the first of their kinds. Names
  /// and numbers of links stay.
  NodeGraph restricted_to(const std::vector<int>& used_gpus, const std::vector<int>& used_nics) const;
  /// Number of a GPU in its machine, and how many GPUs that has.
  int number(int gpu) const { return numbers.empty() ? gpu : numbers[static_cast<std::size_t>(gpu)]; }
  int machine_gpus() const { return numbers.empty() ? gpus : installed; }

  std::uint16_t gpu(int i) const { return find(NodeVertexKind::gpu, i); }
  std::uint16_t nic(int i) const { return find(NodeVertexKind::nic, i); }
  /// The i-th vertex of a kind.
  std::uint16_t find(NodeVertexKind kind, int i) const;

  /// Links from one vertex to another by the fewest hops, then the highest rate, then the lowest ids.
  /// `nvlink` allows or forbids NVLink hops; GPUs and NICs are never transit. Empty if there is none.
  std::vector<std::uint16_t> path(std::uint16_t from, std::uint16_t to, bool nvlink) const;
  /// Over NVLink if there is one, also by one GPU between them, as NCCL sends (NVB); else over PCIe.
  std::vector<std::uint16_t> gpu_to_gpu(int a, int b) const;
  std::vector<std::uint16_t> gpu_to_nic(int gpu, int nic, bool gdr) const;
  std::vector<std::uint16_t> nic_to_gpu(int nic, int gpu, bool gdr) const;
  /// The path that traffic takes where PCIe switches send what comes from below up to the root complex, as Access Control
  /// Services have them do: up from where it would turn, and down again.
  std::vector<std::uint16_t> by_root_complex(const std::vector<std::uint16_t>& route) const;
  /// The socket whose memory a GPU stages through: its own.
  std::uint16_t memory_of_gpu(int gpu) const;

  /// NCCL's distance of a path of links.
  PathType path_type(const std::vector<std::uint16_t>& path) const;
  PathType gpu_nic_distance(int gpu, int nic) const { return path_type(gpu_to_nic(gpu, nic, true)); }
  PathType gpu_gpu_distance(int a, int b) const { return path_type(gpu_to_gpu(a, b)); }
  /// NICs sorted by distance from the GPU, then by rate, then by |index - proportional index| so that GPUs spread.
  std::vector<int> nics_by_distance(int gpu) const;
  PathType nearest_nic_distance(int gpu) const;

  std::string link_name(std::uint16_t link) const;  ///< `gpu0-pcie0`

 private:
  /// Up to the nearest socket; empty if there is none.
  std::vector<std::uint16_t> to_root(std::uint16_t from) const;
  /// NVLinks all the way, past an NVSwitch or not; empty if there are none.
  std::vector<std::uint16_t> nvlinks_between(int a, int b) const;
  /// The same by one other GPU: of several the one with the fastest links, then the first.
  std::vector<std::uint16_t> nvlinks_by_peer(int a, int b) const;
};

}  // namespace fabricast
