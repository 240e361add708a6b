// Threads and memory near a NUMA node: hwloc behind functions, so that a test can replace them.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

namespace fabricast {

/// What binding came to: why it could not be done, or empty; bound for as long as `hold` lives.
struct NumaBinding {
  std::string reason;
  std::shared_ptr<void> hold;
};

struct NumaMemory {
  std::string reason;  ///< why it is not on the node; then there is none
  std::shared_ptr<char> memory;
};

struct NumaCalls {
  /// Why nothing can be bound, or empty.
  std::function<std::string()> missing;
  /// How many nodes this process may use.
  std::function<int()> nodes;
  /// Binds the calling thread to those CPUs of the node that it has already.
  std::function<NumaBinding(int node)> bind_thread;
  /// Whole pages on the node, that nobody has touched.
  std::function<NumaMemory(std::size_t size, int node)> allocate;
};

/// Those of hwloc, or ones that say that it is missing.
const NumaCalls& library_numa();

/// The node of an HCA by its number, -1 if it is not told. \param root  "/", or a copy of it
int numa_node_of(const std::string& root, const std::string& hca);

/// Where a port is, and how to get there.
struct NumaPlace {
  const NumaCalls* calls = nullptr;  ///< none: nothing is bound
  int node = -1;
  /// Why nothing is bound, empty if it is, or if there is but one node.
  std::string refusal() const;
  bool binds() const;
};

}  // namespace fabricast
