// Execution traces of Chakra, read by the reader of traces (sim/trace). Of a recorded trace, nodes of collectives have
// the time that they took on that rank. The file is held whole.
//
// As in forecasts of traces, the n-th collective of a rank on a process group belongs to the n-th of the other ranks.
#include <fmt/format.h>

#include <algorithm>

#include "../../sim/trace/rank_trace.hpp"
#include "fabricast/core/error.hpp"
#include "fabricast/core/scan.hpp"
#include "job_reader.hpp"

namespace fabricast::live {

namespace {

constexpr std::size_t longest_trace = std::size_t{1} << 31;

class Chakra : public HeldReader {
 public:
  Chakra(const LiveSource& source, std::size_t piece, Job& job)
      : reader_(source, piece), job_(job), rank_(rank_of_name(source.name)) {
    job_.ordered_only = true;
  }
  const std::string& name() const override { return reader_.name(); }

  bool next(RankCall& call) override {
    if (!HeldReader::next(call)) return false;
    call.sequence = counted_[call.counter]++;
    return true;
  }

 private:
  void read() override {
    std::string bytes;
    if (!reader_.read_all(bytes, longest_trace))
      return job_.problem(name(), 0, 0, "ignored: the trace is larger than 2 GiB");
    trace::RankTrace trace;
    try {
      trace = trace::decode(name(), bytes);
    } catch (const UserError& e) {
      for (const Diagnostic& d : e.diagnostics())
        job_.problem(name(), d.where.line, d.where.column, shown(d.message + (d.hint.empty() ? "" : "; " + d.hint)));
      return;
    }
    for (const trace::CommNode& comm : trace.comms) take(trace, comm);
  }

  void take(const trace::RankTrace& trace, const trace::CommNode& comm) {
    const trace::TraceNode& node = trace.nodes[comm.node];
    if (node.kind != trace::NodeKind::collective) return job_.leave_out(peer_wait);
    if (!waits_for_all(comm.op)) return job_.leave_out(early_leave(comm.op));
    if (node.cpu) return job_.leave_out("the time is that of the host");
    if (!(node.seconds > 0)) return job_.leave_out("no recorded time");
    if (!rank_) return job_.leave_out("the name of the file does not end in the number of its rank");
    if (comm.bytes <= 0) return job_.leave_out("the size is 0 B or not stated");
    const auto group = std::find_if(trace.groups.begin(), trace.groups.end(),
                                    [&](const trace::TraceGroup& g) { return g.name == comm.group; });
    CommunicatorFacts facts;
    facts.id = comm.group.empty() ? "all" : shown(comm.group, 60);
    if (group != trace.groups.end() && !group->ranks.empty()) {
      facts.ranks = static_cast<int>(group->ranks.size());
      for (std::size_t i = 1; i < group->ranks.size(); ++i)
        facts.scattered = facts.scattered || group->ranks[i] != group->ranks[i - 1] + 1;
      // Groups of different ranks may have one name.
      facts.id += fmt::format(" from rank {}", group->ranks.front());
    }
    RankCall call;
    call.communicator = job_.communicator(facts);
    call.rank = *rank_;
    call.op = comm.op;
    call.bytes = comm.bytes;
    if (comm.op == CollectiveOp::all_gather) {
      if (facts.ranks == 0) return job_.leave_out("the number of ranks is not known, and so the size");
      call.bytes *= facts.ranks;
    }
    call.counter = job_.counter(call.communicator, call.op, call.bytes);
    call.time_us = node.seconds * 1e6;
    call.when = static_cast<std::uint64_t>(std::clamp(node.start * 1e6, 0.0, 1e18));
    job_.place(call.communicator, call.rank, name());
    hold(call);
  }

  ByteReader reader_;
  Job& job_;
  std::optional<int> rank_;
  std::map<int, std::int64_t> counted_;  ///< calls so far, by their counter
};

}  // namespace

std::unique_ptr<CallReader> chakra_reader(const LiveSource& source, std::size_t piece, Job& job) {
  return std::make_unique<Chakra>(source, piece, job);
}

}  // namespace fabricast::live
