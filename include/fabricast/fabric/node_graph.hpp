// The inside of a node: GPUs, NVSwitch or NVLink mesh, PCIe switches, CPU sockets with their memory, and NICs.
//
// One small directed graph describes all nodes of a cluster. The reverse of link l is link l ^ 1. A transfer between
// two GPUs, or between a GPU and a NIC, crosses a list of these links:
//
//   GPU to GPU      over NVLink if there is a path through at most one other GPU, else the shortest path over PCIe and
//                   sockets
//   GPU to NIC      with GPUDirect RDMA: over PCIe only, within a switch or socket or across sockets
//                   without: GPU -> PCIe -> socket -> memory, memory -> socket -> PCIe -> NIC,
//                   which crosses PCIe twice more, and writes and reads host memory
//
// Distances are NCCL's path types [NCCL-paths], given by the worst device on a path.
//
// Rates of links are bytes per second of payload in one direction (link.hpp). A plain value; its functions are pure, so
// it is safe to use concurrently while nobody changes it. Paths are searched at every call: a graph has tens of
// vertices.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fabricast/core/id.hpp"
#include "fabricast/fabric/link.hpp"

namespace fabricast {

/// A kind of device in a node.
enum class NodeVertexKind { gpu, nvswitch, pcie_switch, socket, memory, nic };

/// NCCL's path types, from near to far [NCCL-paths]. DIS: not connected.
enum class PathType { LOC, NVL, NVB, C2C, PIX, PXB, P2C, PXN, PHB, SYS, NET, DIS };
template <>
struct EnumNames<PathType> {
  static constexpr std::array<std::string_view, 12> names{"LOC", "NVL", "NVB", "C2C", "PIX", "PXB",
                                                          "P2C", "PXN", "PHB", "SYS", "NET", "DIS"};
};

/// The graph of a node, or of the GPUs of a node that a communicator uses. GPUs and NICs are numbered from 0 in the
/// order of their vertices.
class NodeGraph {
 public:
  /// A device.
  struct Vertex {
    NodeVertexKind kind;
    std::string name;
  };
  /// One direction of a connection between two devices.
  struct Link {
    std::uint16_t from = 0, to = 0;  ///< vertices
    LinkClass link_class{};
  };

  int gpus = 0;
  int nics = 0;
  std::vector<int> numbers;  ///< for a part of a machine, numbers of its GPUs in the machine; empty: all GPUs in order
  int installed = 0;         ///< for a part of a machine, number of GPUs of the machine
  std::vector<Vertex> vertices;
  std::vector<Link> links;

  /// A link is a number of 16 bits.
  std::uint16_t link_count() const { return static_cast<std::uint16_t>(links.size()); }
  /// \returns the number of the new vertex
  std::uint16_t add_vertex(NodeVertexKind kind, std::string name);
  /// Adds two links, one for each direction.
  void add_cable(std::uint16_t a, std::uint16_t b, const LinkClass& link_class);

  /// The same links with only these GPUs and NICs, which become the first of their kinds, in the order given. Names and
  /// numbers of links stay. The other GPUs and NICs remain as vertices that no path uses.
  NodeGraph restricted_to(const std::vector<int>& used_gpus, const std::vector<int>& used_nics) const;
  /// The number of a GPU in its machine, and the number of GPUs of the machine.
  int number(int gpu) const { return numbers.empty() ? gpu : numbers[static_cast<std::size_t>(gpu)]; }
  int machine_gpus() const { return numbers.empty() ? gpus : installed; }

  /// The vertices of GPU and NIC i.
  std::uint16_t gpu(int i) const { return find(NodeVertexKind::gpu, i); }
  std::uint16_t nic(int i) const { return find(NodeVertexKind::nic, i); }
  /// The i-th vertex of a kind.
  /// \throws InternalError if there is none
  std::uint16_t find(NodeVertexKind kind, int i) const;

  /// The links from one vertex to another: the path with the fewest hops, then the highest rate, then the lowest links.
  /// It does not pass through GPUs, NICs or memory.
  /// \param nvlink  whether NVLink hops are allowed
  /// \returns an empty list if there is no path
  std::vector<std::uint16_t> path(std::uint16_t from, std::uint16_t to, bool nvlink) const;
  /// The links from GPU to GPU: over NVLink, directly or through one other GPU as NCCL sends (NVB), or else over PCIe.
  std::vector<std::uint16_t> gpu_to_gpu(int a, int b) const;
  /// The links between GPU and NIC, in either direction. \param gdr  with GPUDirect RDMA, or through the memory of the
  /// GPU's socket
  std::vector<std::uint16_t> gpu_to_nic(int gpu, int nic, bool gdr) const;
  std::vector<std::uint16_t> nic_to_gpu(int nic, int gpu, bool gdr) const;
  /// The path that traffic takes if Access Control Services make PCIe switches send everything from below to the root
  /// complex: up from the switch where it would turn, and down again.
  std::vector<std::uint16_t> by_root_complex(const std::vector<std::uint16_t>& route) const;
  /// The vertex of the memory nearest to a GPU, through which it stages data.
  std::uint16_t memory_of_gpu(int gpu) const;

  /// NCCL's distance for a path of links; DIS if it is empty.
  PathType path_type(const std::vector<std::uint16_t>& path) const;
  /// NCCL's distance of a GPU from a NIC, by the path of GPUDirect RDMA, and from another GPU. Each call
  /// searches the path.
  PathType gpu_nic_distance(int gpu, int nic) const { return path_type(gpu_to_nic(gpu, nic, true)); }
  PathType gpu_gpu_distance(int a, int b) const { return path_type(gpu_to_gpu(a, b)); }
  /// NICs sorted by path type, then by hops, then by the difference between their number and the GPU's proportional
  /// share of the numbers, so that GPUs at the same distance use different NICs.
  std::vector<int> nics_by_distance(int gpu) const;
  /// The distance of the first of these; DIS if there is no NIC.
  PathType nearest_nic_distance(int gpu) const;

  /// `gpu0-pcie0`
  std::string link_name(std::uint16_t link) const;

 private:
  /// The links up to the nearest socket; empty if there is none.
  std::vector<std::uint16_t> to_root(std::uint16_t from) const;
  /// A path of NVLinks only, with or without NVSwitch; empty if there is none.
  std::vector<std::uint16_t> nvlinks_between(int a, int b) const;
  /// A path of NVLinks through one other GPU: the one with the fastest links, then the first one.
  std::vector<std::uint16_t> nvlinks_by_peer(int a, int b) const;
};

}  // namespace fabricast
