// NCCL's interface to tuner plugins, versions 2 to 6, declared for this plugin [NCCL-tuner].
//
// NCCL looks for the symbols ncclTunerPlugin_v6 down to _v2 and takes the first that it knows. Each is a table of
// functions. NCCL 2.21 asks for 2; 2.22 and 2.23 for 3; 2.24 to 2.27 for 4; 2.28 and 2.29 for 5; 2.30 and 2.31 for 6.
//
// - NCCL calls `init` once per communicator and rank, from ncclCommInitRank. An error there fails that call.
// - It calls `choose` for each group of equal collectives, while it queues them. `bytes` is the larger of the data sent
//   and received, summed over the group. An error there fails the collective: NCCL does not fall back.
// - `costs` is NCCL's estimate in us, a float for each algorithm and protocol, protocols side by side. It is passed as
//   a float**, but there is no array of pointers. -1: not allowed for this call. NCCL runs the least that is not
//   negative.
// - `channels` is 0 on entry. NCCL takes another number as the most channels of the call.
// - `end` also gets the null context of an `init` that failed.
//
// Numbers of functions, algorithms and protocols are the same in all versions, and those of CollectiveOp, Algorithm and
// Protocol. NCCL 2.21 and 2.22 have no PAT, which is the last algorithm.
//
// Not declared: what the plugin does not read, which are the sizes of NVLink domains and the constants of NCCL's cost
// model (`domains`, `constants`), and the errors that it does not return.
#pragma once

#include <cstddef>
#include <cstdint>

#include "fabricast/collective/collective.hpp"
#include "nccl_log.hpp"

namespace fabricast::plugin {

using Init4 = int (*)(std::size_t ranks, std::size_t nodes, NcclLog log, void** context);
using Init5 = int (*)(void** context, std::uint64_t communicator, std::size_t ranks, std::size_t nodes, NcclLog log,
                      void* domains, void* constants);
using Choose2 = int (*)(void* context, int function, std::size_t bytes, int collnet, int nvls, int pipelined,
                        int* algorithm, int* protocol, int* channels);
using Choose3 = int (*)(void* context, int function, std::size_t bytes, int pipelined, float** costs, int algorithms,
                        int protocols, int* channels);
using Choose4 = int (*)(void* context, int function, std::size_t bytes, int pipelined, float** costs, int algorithms,
                        int protocols, int registered, int* channels);
using End = int (*)(void* context);
using ChunkSize = int (*)(void* context, int function, std::size_t bytes, int algorithm, int protocol, int channels,
                          std::size_t* chunk);

struct Tuner2 {
  const char* name;
  Init4 init;
  Choose2 choose;
  End end;
};

struct Tuner3 {
  const char* name;
  Init4 init;
  Choose3 choose;
  End end;
};

struct Tuner4 {
  const char* name;
  Init4 init;
  Choose4 choose;
  End end;
};

struct Tuner5 {
  const char* name;
  Init5 init;
  Choose4 choose;
  End end;
};

struct Tuner6 {
  const char* name;
  Init5 init;
  Choose4 choose;
  End end;
  ChunkSize chunk_size;  ///< null: NCCL's
};

/// The collectives that NCCL asks about: functions 0 to 4.
constexpr int function_count = 5;

static_assert(static_cast<int>(CollectiveOp::broadcast) == 0 && static_cast<int>(CollectiveOp::all_reduce) == 4);
static_assert(static_cast<int>(Algorithm::tree) == 0 && static_cast<int>(Algorithm::ring) == 1);
static_assert(static_cast<int>(Algorithm::collnetdirect) == 2 && static_cast<int>(Algorithm::collnetchain) == 3);
static_assert(static_cast<int>(Algorithm::nvls) == 4 && static_cast<int>(Algorithm::nvlstree) == 5);
static_assert(static_cast<int>(Algorithm::pat) == 6 && algorithm_count == 7);
static_assert(static_cast<int>(Protocol::ll) == 0 && static_cast<int>(Protocol::simple) == 2);

}  // namespace fabricast::plugin
