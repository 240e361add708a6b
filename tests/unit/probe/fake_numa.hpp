// Hosts with one or two NUMA nodes, without hwloc.
#pragma once

#include <cstdlib>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "calibrate/probe/numa.hpp"

namespace fabricast::test {

/// A host with one NUMA node, where nothing is bound.
inline const NumaCalls& one_node() {
  static const NumaCalls calls = {[] { return std::string(); }, [] { return 1; },
                                  [](int) {
                                    return NumaBinding{"called for nothing", {}};
                                  },
                                  [](std::size_t, int) {
                                    return NumaMemory{"called for nothing", {}};
                                  }};
  return calls;
}

/// A host with two NUMA nodes that records what was bound, and what still is.
struct FakeNuma {
  std::mutex mutex;
  std::vector<int> threads, memories;
  std::set<std::thread::id> bound;
  int held = 0;
  std::string missing, no_thread, no_memory;

  NumaCalls calls() {
    NumaCalls c;
    c.missing = [this] { return missing; };
    c.nodes = [] { return 2; };
    c.bind_thread = [this](int node) {
      const std::lock_guard lock(mutex);
      if (!no_thread.empty()) return NumaBinding{no_thread, {}};
      threads.push_back(node);
      bound.insert(std::this_thread::get_id());
      return NumaBinding{{}, std::shared_ptr<void>(nullptr, [this, id = std::this_thread::get_id()](void*) {
                           const std::lock_guard again(mutex);
                           bound.erase(id);
                         })};
    };
    c.allocate = [this](std::size_t size, int node) {
      const std::lock_guard lock(mutex);
      if (!no_memory.empty()) return NumaMemory{no_memory, {}};
      memories.push_back(node);
      ++held;
      return NumaMemory{{}, {static_cast<char*>(std::aligned_alloc(4096, size)), [this](char* memory) {
                               std::free(memory);
                               const std::lock_guard again(mutex);
                               --held;
                             }}};
    };
    return c;
  }
};

}  // namespace fabricast::test
