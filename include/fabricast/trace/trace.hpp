// Execution traces of MLCommons Chakra as a program: the computation and communication of every rank of a step,
// recorded or generated, with all dependencies.
//
// A trace is one file per rank, `PREFIX.RANK.et` (protobuf) or `PREFIX.RANK.json`, or one file that all ranks run. The
// n-th collective of a rank on a process group belongs to the n-th collective of the other ranks of the group. A send
// belongs to the receive with the same source, destination and tag, in order. Ranks that do the same at the same time
// are one actor. Recorded times of collectives determine only the order of activities. docs/models/trace.md has the
// rules.
//
// Sizes are bytes, times seconds. Pure functions apart from reading files; safe to call concurrently.
//
// Not modelled: storage nodes, buffered sends (a send ends when it is received, as in NCCL), priorities, the root of a
// broadcast, and different amounts between the ranks of an alltoall.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "fabricast/core/fields.hpp"
#include "fabricast/workload/program.hpp"

namespace fabricast {

/// Section `workload: {kind: trace}`. Exactly one of `path` and `file` is set.
struct TraceSpec {
  std::string path;                          ///< PREFIX of one file per rank
  std::string file;                          ///< or one file for all ranks
  int ranks = 0;                             ///< number of ranks; 0: the number of files; required with `file`
  std::string groups;                        ///< JSON file with process groups by name; empty: those of the trace
  std::vector<int> dimensions;               ///< sizes of the dimensions that `involved_dim` refers to, fastest first
  double speedup = 1;                        ///< factor by which recorded computation on GPUs is faster
  bool fold = true;                          ///< whether ranks with identical work are one actor
  std::map<std::string, std::string> parts;  ///< by process group: name of the Part that its collectives count as
};
/// The keys of the section (core/fields.hpp).
void visit_fields(FieldVisitor& visit, TraceSpec& spec);

/// The time of a kernel without a recorded duration.
/// \param flops  floating-point operations; 0 if unknown
/// \param bytes  read and written; 0 if unknown
using KernelTime = std::function<Seconds(double flops, double bytes)>;

/// Reads the files of a trace and builds its program. Ranks of the program's groups are ranks of the trace.
/// \param kernel_time  for kernels without a duration; absent: such kernels are errors
/// \throws UserError if `spec` is inconsistent, or if a file is missing, unreadable or larger than 2 GiB; with file and
///         node for what is inconsistent or not supported in the trace, up to 20 messages
/// \throws Interrupted on Ctrl-C
Program read_trace(const TraceSpec& spec, const KernelTime& kernel_time = {});

/// The number of ranks of a program: the sum over its actors.
std::int64_t ranks_of(const Program& program);

}  // namespace fabricast
