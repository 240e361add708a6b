// Binding threads and memory to NUMA nodes. The hwloc calls are in a table, so that a test can replace them.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

namespace fabricast {

/// Result of binding a thread. The thread stays bound until `hold` is destroyed.
struct NumaBinding {
  std::string reason;  ///< why it is not bound; empty if it is
  std::shared_ptr<void> hold;
};

struct NumaMemory {
  std::string reason;  ///< why it could not be allocated on the node; then `memory` is null
  std::shared_ptr<char> memory;
};

struct NumaCalls {
  /// Why nothing can be bound on this host; empty if binding works.
  std::function<std::string()> missing;
  /// Number of NUMA nodes that this process may use.
  std::function<int()> nodes;
  /// Binds the calling thread to those of its CPUs that are on the node.
  std::function<NumaBinding(int node)> bind_thread;
  /// Allocates untouched whole pages on the node.
  std::function<NumaMemory(std::size_t size, int node)> allocate;
};

/// The calls of hwloc, or calls that report that Fabricast was built without it.
const NumaCalls& library_numa();

/// Number of the NUMA node of an HCA; -1 if sysfs does not state it.
/// \param root  "/", or a copy of sysfs in a test
int numa_node_of(const std::string& root, const std::string& hca);

/// The NUMA node of a port, and the calls that bind to it.
struct NumaPlace {
  const NumaCalls* calls = nullptr;  ///< null: nothing is bound
  int node = -1;
  /// Why nothing is bound; empty if it is bound, or if there is only one node.
  std::string refusal() const;
  /// Whether threads and memory are to be bound.
  bool binds() const;
};

}  // namespace fabricast
