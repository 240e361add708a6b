// Execution traces of MLCommons Chakra as a program: what every rank of a step that was recorded, or made up by a
// generator, computes and exchanges, with all dependencies.
//
// A trace is a file per rank, `PREFIX.RANK.et` (protobuf) or `PREFIX.RANK.json`, or one file that all ranks run. Of
// collectives, the n-th call on a process group joins the n-th of all its ranks; a send joins the receive of the same
// source, destination and tag in their order. Ranks that do the same at the same time are one actor.
//
// Not modelled: storage nodes, buffered sends (a send ends when it is received, as NCCL's do), priorities, the root of a
// broadcast, parts of an alltoall that differ. docs/models/trace.md has the rules.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "fabricast/core/fields.hpp"
#include "fabricast/workload/program.hpp"

namespace fabricast {

struct TraceSpec {
  std::string path;             ///< PREFIX of a file per rank
  std::string file;             ///< or one file for all
  int ranks = 0;                ///< 0: as many as there are files
  std::string groups;           ///< JSON file: process groups by name; empty: the trace's own
  std::vector<int> dimensions;  ///< sizes of the dimensions that `involved_dim` names, from the fastest
  double speedup = 1;           ///< recorded computation runs so many times faster
  bool fold = true;
  std::map<std::string, std::string> parts;  ///< process group: the Part that its exchanges count as
};
void visit_fields(FieldVisitor& visit, TraceSpec& spec);

/// Seconds of a kernel that has no recorded duration. \param bytes  that it reads and writes
using KernelTime = std::function<double(double flops, double bytes)>;

/// Reads the files and joins them. Ranks of the groups are ranks of the trace.
/// \throws UserError with file and node of everything that does not fit
Program read_trace(const TraceSpec& spec, const KernelTime& kernel_time = {});

/// Ranks of a program: of all its actors.
std::int64_t ranks_of(const Program& program);

}  // namespace fabricast
