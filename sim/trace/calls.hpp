// From the traces of ranks to a program: collectives and messages joined across ranks, and ranks with identical work.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fabricast/trace/trace.hpp"
#include "fabricast/workload/program.hpp"
#include "groups.hpp"
#include "rank_trace.hpp"

namespace fabricast::trace {

/// The traces, and which of them each rank runs.
struct Job {
  std::vector<RankTrace> traces;
  std::vector<std::uint32_t> trace_of;  ///< by rank
  std::uint32_t ranks() const { return static_cast<std::uint32_t>(trace_of.size()); }
  const RankTrace& of(std::uint32_t rank) const { return traces[trace_of[rank]]; }
};

/// The part of a rank in a call. `comm` is an index into RankTrace::comms.
struct Member {
  std::uint32_t rank = 0, comm = 0;
};

/// One collective of one group, or one message (send and receive).
struct Call {
  CollectiveOp op = CollectiveOp::sendrecv;
  Part part = Part::data;
  std::int64_t bytes = 0;       ///< counted as in CollectiveKind
  std::uint32_t group = none;   ///< into Calls::groups; none: a message
  std::vector<Member> members;  ///< of a collective by rank; of a message: source, destination
};

struct Calls {
  std::vector<Call> calls;
  std::vector<std::vector<std::uint32_t>> of;  ///< by rank and comm; none: in a group of one, which sends nothing
  std::vector<GroupTable::Group> groups;
};

/// Joins the n-th collective of a group across its ranks, and sends with their receives. Reports to `faults` what does
/// not match; the result is complete only if there is no fault.
/// \throws Interrupted on Ctrl-C
Calls join_calls(const Job& job, GroupTable groups, const TraceSpec& spec, Faults& faults);

/// Ranks as actors, and calls as classes. The calls of a class are one collective of many groups at once.
struct Folded {
  std::vector<std::uint32_t> actor_of;  ///< by rank
  std::vector<std::uint32_t> rank_of;   ///< by actor: its first rank, whose trace stands for all
  std::vector<std::uint32_t> class_of;  ///< by call
  std::uint32_t classes = 0;
};
/// The coarsest partition of the ranks into actors (fold.cpp).
/// \param is_on  false: every rank is an actor and every call a class
/// \throws Interrupted on Ctrl-C
Folded fold(const Job& job, const Calls& calls, bool is_on);

/// The program, with activities in the order in which they are queued (program.cpp).
/// \param kernel_time  for nodes without a duration; absent: such nodes are errors
/// \throws UserError for those nodes, for collectives that wait for each other in a cycle, and for traces too large
/// \throws Interrupted on Ctrl-C
Program build_program(const Job& job, const Calls& calls, const Folded& folded, const TraceSpec& spec,
                      const KernelTime& kernel_time, Faults& faults);

/// The program of traces that are already decoded: all steps of read_trace() after reading the files.
Program program_of(Job job, NamedGroups named, const TraceSpec& spec, const KernelTime& kernel_time);

}  // namespace fabricast::trace
