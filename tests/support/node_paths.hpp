// Ways inside a node, found on its graph: the fewest hops, of these the widest, of these the lowest links.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "fabricast/collective/communicator.hpp"

namespace fabricast::test {

using NodePath = std::vector<std::uint16_t>;

/// What NCCL makes of them: host memory where there is no direct way, another GPU's NIC where that is nearer (PXN).
class NodePaths {
 public:
  explicit NodePaths(const Communicator& comm) : comm_(comm), graph_(comm.node.graph) {}

  const NodePath& between_gpus(int from, int to);
  const NodePath& to_nic(int gpu, int nic);
  const NodePath& from_nic(int nic, int gpu);
  /// All links of one operation of the NVSwitch.
  const NodePath& reduced_to(int gpu);
  const NodePath& multicast_from(int gpu);

 private:
  enum class Kind { gpus, to_nic, from_nic, reduce, multicast };
  const NodePath& known(Kind kind, int a, int b, NodePath (NodePaths::*find)(int, int) const);

  NodePath find_between_gpus(int from, int to) const;
  NodePath find_to_nic(int gpu, int nic) const;
  NodePath find_from_nic(int nic, int gpu) const;
  NodePath find_reduced_to(int gpu, int) const;
  NodePath find_multicast_from(int gpu, int) const;
  NodePath direct_to_nic(int gpu, int nic, bool gdr) const;
  int peer_at(int nic, PathType nearer_than) const;
  std::uint16_t memory_near(int gpu) const;

  const Communicator& comm_;
  const NodeGraph& graph_;
  std::map<std::tuple<Kind, int, int>, NodePath> ways_;
};

}  // namespace fabricast::test
