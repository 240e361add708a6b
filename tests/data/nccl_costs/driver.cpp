// Calls NCCL's own cost model (src/graph/tuning.cc of the tag NCCL_TAG) with the communicators that it reads, and prints
// its costs (README.md). It is not part of the build: it needs NCCL's source.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "comm.h"
#include "core.h"
#include "graph.h"
#include "nccl.h"
#include "topo.h"

#if NCCL_TAG < 21200
#define PATH_PXN PATH_PHB  // as far from LL128's point of view
#endif

static int vendor_of_cpu = NCCL_TOPO_CPU_VENDOR_INTEL;

// What tuning.cc needs of the rest of NCCL.
thread_local int ncclDebugNoWarn = 0;
int ncclDebugLevel = 0;
uint64_t ncclDebugMask = 0;
const char* ncclGetEnv(const char*) { return nullptr; }
void ncclDebugLog(ncclDebugLogLevel, unsigned long, const char*, int, const char*, ...) {}
void ncclDebugLogInternal(ncclDebugLogLevel, unsigned long, const char*, const char*, int, const char*, ...) {}
#if NCCL_TAG < 22907
void ncclLoadParam(const char*, int64_t value, int64_t, int64_t* cache) { *cache = value; }
#else
int64_t ncclLoadParam(const char*, int64_t value, int64_t, int64_t* cache, int8_t* known) {
  *known = 1;
  return *cache = value;
}
#endif
ncclResult_t ncclTopoCpuType(ncclTopoSystem*, int* architecture, int* vendor, int* model) {
  *architecture = NCCL_TOPO_CPU_ARCH_X86, *vendor = vendor_of_cpu, *model = 1;
  return ncclSuccess;
}
ncclResult_t ncclTopoGetNvsCount(ncclTopoSystem*, int* count) {
  *count = 1;
  return ncclSuccess;
}
ncclResult_t ncclTopoGetMinNetBw(ncclTopoSystem*, float* gigabytes) {
  *gigabytes = 50;
  return ncclSuccess;
}

static bool read(ncclTopoGraph& g) {
  constexpr int inter[] = {PATH_PIX, PATH_PXB, PATH_PXN, PATH_PHB};
  int channels, type_intra, type_inter, same, pattern;
  float bw_intra, bw_inter, latency;
  if (scanf("%d %f %f %d %d %f %d %d", &channels, &bw_intra, &bw_inter, &type_intra, &type_inter, &latency, &same,
            &pattern) != 8)
    return false;
  memset(&g, 0, sizeof g);
  g.nChannels = channels, g.sameChannels = same, g.pattern = pattern;
  g.typeIntra = type_intra == 0 ? PATH_NVL : PATH_PIX, g.typeInter = inter[type_inter];
#if NCCL_TAG < 21400
  g.speedIntra = bw_intra, g.speedInter = bw_inter;
#else
  g.bwIntra = bw_intra, g.bwInter = bw_inter;
#endif
#if NCCL_TAG >= 21200
  g.latencyInter = latency;
#endif
  return true;
}

static float time_of(ncclComm* comm, int op, int algorithm, int protocol, size_t bytes) {
  float time = -1;
#if NCCL_TAG < 22200
  ncclInfo info;
  memset(&info, 0, sizeof info);
  info.comm = comm, info.coll = static_cast<decltype(info.coll)>(op), info.nBytes = bytes;
#if NCCL_TAG < 21000
  ncclTopoGetAlgoTime(&info, algorithm, protocol, &time);
#else
  ncclTopoGetAlgoTime(&info, algorithm, protocol, 1, &time);
#endif
#else
  ncclTopoGetAlgoTime(comm, op, algorithm, protocol, bytes, 1, &time);
#endif
  return time;
}

int main() {
  int number, capability, vendor, nodes, gpus, channels;
  while (scanf("%d %d %d %d %d %d", &number, &capability, &vendor, &nodes, &gpus, &channels) == 6) {
    static ncclTopoGraph ring, tree, nvls, all[NCCL_NUM_ALGORITHMS];
    if (!read(ring) || !read(tree) || !read(nvls)) return 1;
    for (ncclTopoGraph& g : all) g = ring;
    all[NCCL_ALGO_TREE] = tree;
#if NCCL_TAG >= 21800
    all[NCCL_ALGO_NVLS] = all[NCCL_ALGO_NVLS_TREE] = nvls;
#endif
#if NCCL_TAG >= 22300
    all[NCCL_ALGO_PAT] = tree;
#endif
    auto* comm = static_cast<ncclComm*>(calloc(1, sizeof(ncclComm)));
    vendor_of_cpu = vendor == 2 ? NCCL_TOPO_CPU_VENDOR_AMD : NCCL_TOPO_CPU_VENDOR_INTEL;
    comm->nNodes = nodes, comm->nRanks = nodes * gpus, comm->nChannels = channels;
    comm->rank = 1;  // rank 0 logs
#if NCCL_TAG >= 21700
    comm->minCompCap = capability;
    comm->nvlsSupport = gpus > 1 && capability >= 90 && (NCCL_TAG >= 21800 || nodes == 1);
#endif
#if NCCL_TAG >= 22200
    comm->cpuArch = NCCL_TOPO_CPU_ARCH_X86, comm->cpuVendor = vendor_of_cpu;
#endif
#if NCCL_TAG >= 22600
    comm->maxTreePattern = tree.pattern;
#endif
#if NCCL_TAG >= 22800
    comm->nodeRanks = static_cast<ncclNodeRanks*>(calloc(nodes, sizeof(ncclNodeRanks)));
    comm->rankToNode = static_cast<int*>(calloc(nodes * gpus, sizeof(int)));
    for (int i = 0; i < nodes; ++i) comm->nodeRanks[i].localRanks = gpus;
    for (int i = 0; i < nodes * gpus; ++i) comm->rankToNode[i] = i / gpus;
    ncclTopoInitTunerConstants(comm);
#endif
#if NCCL_TAG < 21800
    if (ncclTopoTuneModel(comm, capability, capability, &tree, &ring, &all[2])) return 1;
#else
    ncclTopoGraph* graphs[NCCL_NUM_ALGORITHMS];
    for (int a = 0; a < NCCL_NUM_ALGORITHMS; ++a) graphs[a] = &all[a];
    if (ncclTopoTuneModel(comm, capability, capability, graphs)) return 1;
#endif
    for (int op = 0; op < 5; ++op)
      for (int a = 0; a < NCCL_NUM_ALGORITHMS; ++a)
        for (int p = 0; p < 3; ++p) {
          if (comm->bandwidths[op][a][p] == 0) continue;
          printf("%d %d %d %d %.6g %.6g", number, op, a, p, comm->bandwidths[op][a][p], comm->latencies[op][a][p]);
          for (const size_t bytes : {4096, 262144, 4194304, 268435456}) printf(" %.6g", time_of(comm, op, a, p, bytes));
          printf("\n");
        }
  }
}
