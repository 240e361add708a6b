#include "numa.hpp"

#include <filesystem>
#include <fstream>

#ifdef FABRICAST_HWLOC
#include <hwloc.h>

#include <cerrno>

#include "fabricast/core/file.hpp"
#endif

namespace fabricast {

#ifdef FABRICAST_HWLOC

namespace {

using Topology = std::unique_ptr<hwloc_topology, decltype(&hwloc_topology_destroy)>;
using Bits = std::shared_ptr<hwloc_bitmap_s>;

/// The topology as this process sees it, read once; null if hwloc cannot read it.
hwloc_topology_t topology() {
  static const Topology loaded = [] {
    hwloc_topology_t raw = nullptr;
    if (hwloc_topology_init(&raw) != 0) return Topology(nullptr, hwloc_topology_destroy);
    Topology topology(raw, hwloc_topology_destroy);
    if (hwloc_topology_load(raw) != 0) topology.reset();
    return topology;
  }();
  return loaded.get();
}

Bits bits() { return {hwloc_bitmap_alloc(), hwloc_bitmap_free}; }

hwloc_obj_t node_of(int node) { return hwloc_get_numanode_obj_by_os_index(topology(), static_cast<unsigned>(node)); }

constexpr const char* not_ours = "this process may not use the node";

NumaBinding bind_thread(int node) {
  const hwloc_obj_t object = node_of(node);
  if (!object) return {not_ours, {}};
  const Bits before = bits(), wanted = bits();
  errno = 0;
  if (hwloc_get_cpubind(topology(), before.get(), HWLOC_CPUBIND_THREAD) != 0)
    return {"sched_getaffinity: " + system_reason(errno), {}};
  hwloc_bitmap_and(wanted.get(), before.get(), object->cpuset);
  if (hwloc_bitmap_iszero(wanted.get())) return {"the thread's CPUs are on other nodes", {}};
  errno = 0;
  if (hwloc_set_cpubind(topology(), wanted.get(), HWLOC_CPUBIND_THREAD) != 0)
    return {"sched_setaffinity: " + system_reason(errno), {}};
  return {{}, std::shared_ptr<void>(nullptr, [before](void*) {
            hwloc_set_cpubind(topology(), before.get(), HWLOC_CPUBIND_THREAD);
          })};
}

NumaMemory allocate(std::size_t size, int node) {
  const hwloc_obj_t object = node_of(node);
  if (!object) return {not_ours, {}};
  errno = 0;
  void* memory = hwloc_alloc_membind(topology(), size, object->nodeset, HWLOC_MEMBIND_BIND,
                                     HWLOC_MEMBIND_STRICT | HWLOC_MEMBIND_BYNODESET);
  if (!memory) return {"mbind: " + system_reason(errno), {}};
  return {{}, {static_cast<char*>(memory), [size](char* m) { hwloc_free(topology(), m, size); }}};
}

}  // namespace

const NumaCalls& library_numa() {
  static const NumaCalls calls = {
      [] { return topology() ? std::string() : std::string("hwloc cannot read the topology of this host"); },
      [] { return hwloc_get_nbobjs_by_type(topology(), HWLOC_OBJ_NUMANODE); }, bind_thread, allocate};
  return calls;
}

#else

const NumaCalls& library_numa() {
  static const NumaCalls calls = {
      [] { return std::string("fabricast was built without hwloc (Debian: libhwloc-dev)"); }, [] { return 0; },
      [](int) { return NumaBinding{}; }, [](std::size_t, int) { return NumaMemory{}; }};
  return calls;
}

#endif

int numa_node_of(const std::string& root, const std::string& hca) {
  int node = -1;
  std::ifstream(std::filesystem::path(root) / "sys/class/infiniband" / hca / "device/numa_node") >> node;
  return node < 0 ? -1 : node;
}

std::string NumaPlace::refusal() const {
  if (!calls) return {};
  if (std::string missing = calls->missing(); !missing.empty()) return missing;
  if (calls->nodes() < 2) return {};
  return node < 0 ? "the port's NUMA node is unknown" : std::string();
}

bool NumaPlace::binds() const { return calls && node >= 0 && calls->missing().empty() && calls->nodes() > 1; }

}  // namespace fabricast
