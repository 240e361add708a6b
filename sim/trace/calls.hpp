// Exchanges of ranks joined over ranks, and ranks that do the same.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fabricast/workload/program.hpp"
#include "fabricast/trace/trace.hpp"
#include "groups.hpp"
#include "rank_trace.hpp"

namespace fabricast::trace {

/// The files and which of them each rank runs.
struct Job {
  std::vector<RankTrace> traces;
  std::vector<std::uint32_t> trace_of;  ///< by rank
  std::uint32_t ranks() const { return static_cast<std::uint32_t>(trace_of.size()); }
  const RankTrace& of(std::uint32_t rank) const { return traces[trace_of[rank]]; }
};

struct Member {
  std::uint32_t rank = 0, comm = 0;  ///< index into RankTrace::comms
};

/// One collective of one group, or a message.
struct Call {
  CollectiveOp op = CollectiveOp::sendrecv;
  Part part = Part::data;
  std::int64_t bytes = 0;       ///< as ExchangeKind counts them
  std::uint32_t group = none;   ///< into Calls::groups
  std::vector<Member> members;  ///< of a message: source, destination
};

struct Calls {
  std::vector<Call> calls;
  std::vector<std::vector<std::uint32_t>> of;  ///< by rank and comm; none: of a group of one, where nothing is sent
  std::vector<GroupTable::Group> groups;
};

Calls join_calls(const Job& job, GroupTable groups, const TraceSpec& spec, Faults& faults);

/// Ranks as actors, calls as classes: those of a class are one exchange of many groups.
struct Folded {
  std::vector<std::uint32_t> actor_of;  ///< by rank
  std::vector<std::uint32_t> rank_of;   ///< by actor: the first of its ranks
  std::vector<std::uint32_t> class_of;  ///< by call
  std::uint32_t classes = 0;
};
Folded fold(const Job& job, const Calls& calls, bool is_on);

/// Puts the activities in order. Reports nodes that wait for each other in a circle.
Program build_program(const Job& job, const Calls& calls, const Folded& folded, const TraceSpec& spec,
                      const KernelTime& kernel_time, Faults& faults);

/// All of it, once the files are read.
Program program_of(Job job, NamedGroups named, const TraceSpec& spec, const KernelTime& kernel_time);

}  // namespace fabricast::trace
