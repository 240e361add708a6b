#include "calls.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "fabricast/core/stop.hpp"

namespace fabricast::trace {

namespace {

std::string name_of_group(const GroupTable::Group& group) {
  return group.name.empty() ? fmt::format("of {} ranks", group.ranks.size()) : fmt::format("'{}'", group.name);
}

class Joiner {
 public:
  Joiner(const Job& job, GroupTable groups, const TraceSpec& spec, Faults& faults)
      : job_(job), table_(std::move(groups)), spec_(spec), faults_(faults) {}

  Calls run() {
    out_.of.resize(job_.ranks());
    for (std::uint32_t rank = 0; rank < job_.ranks(); ++rank) {
      if ((rank & 0xff) == 0) stop_if_requested();
      join_rank(rank);
    }
    out_.groups = table_.groups();
    check_calls();
    match_messages();
    return std::move(out_);
  }

 private:
  struct Waiting {
    std::vector<Member> sends, receives;
  };

  const CommNode& comm(const Member& m) const { return job_.of(m.rank).comms[m.comm]; }
  std::string place(const Member& m) const {
    return fmt::format("node {} of {}", job_.of(m.rank).nodes[comm(m).node].id, job_.of(m.rank).file);
  }

  void join_rank(std::uint32_t rank) {
    const RankTrace& trace = job_.of(rank);
    out_.of[rank].assign(trace.comms.size(), none);
    std::vector<std::uint32_t> made;  // calls so far, by group
    for (std::uint32_t k = 0; k < trace.comms.size(); ++k) {
      const CommNode& c = trace.comms[k];
      if (c.op == CollectiveOp::sendrecv) {
        add_message(rank, k);
        continue;
      }
      std::uint32_t group = none;
      try {
        group = table_.find(trace, rank, c);
      } catch (const UserError& e) {
        const Diagnostic& d = e.diagnostics().front();
        faults_.node(trace, c.node, d.message, d.hint);
        continue;
      }
      if (group >= made.size()) made.resize(group + 1, 0);
      add_call(rank, k, group, made[group]++);
    }
  }

  void add_call(std::uint32_t rank, std::uint32_t k, std::uint32_t group, std::uint32_t number) {
    const CommNode& c = job_.of(rank).comms[k];
    const GroupTable::Group& members = table_.groups()[group];
    if (members.ranks.size() == 1) return;
    if (group >= calls_of_.size()) calls_of_.resize(group + 1);
    std::vector<std::uint32_t>& list = calls_of_[group];
    if (number == list.size()) {
      Call call;
      call.op = c.op;
      call.group = group;
      call.part = part_of(c.op, members.name);
      const bool is_part = c.op == CollectiveOp::all_gather || c.op == CollectiveOp::gather;
      call.bytes = c.bytes * (is_part ? static_cast<std::int64_t>(members.ranks.size()) : 1);
      list.push_back(static_cast<std::uint32_t>(out_.calls.size()));
      out_.calls.push_back(std::move(call));
    } else if (const Member first = out_.calls[list[number]].members.front();
               comm(first).op != c.op || comm(first).bytes != c.bytes) {
      faults_.node(
          job_.of(rank), c.node,
          fmt::format("is {} of {} B, but call {} on group {} is {} of {} B in {}", name_of(c.op), c.bytes, number + 1,
                      name_of_group(members), name_of(comm(first).op), comm(first).bytes, place(first)),
          "all ranks of a group must make the same calls in the same order");
    }
    out_.calls[list[number]].members.push_back({rank, k});
    out_.of[rank][k] = list[number];
  }

  Part part_of(CollectiveOp op, const std::string& group) const {
    if (const auto given = spec_.parts.find(group); given != spec_.parts.end()) return *enum_from<Part>(given->second);
    return op == CollectiveOp::alltoall ? Part::expert : op == CollectiveOp::sendrecv ? Part::pipeline : Part::data;
  }

  void check_calls() {
    for (std::uint32_t group = 0; group < calls_of_.size(); ++group)
      for (std::uint32_t n = 0; n < calls_of_[group].size(); ++n) {
        const std::vector<Member>& made = out_.calls[calls_of_[group][n]].members;
        std::vector<std::uint32_t> wanted = out_.groups[group].ranks;
        if (made.size() == wanted.size()) continue;
        std::sort(wanted.begin(), wanted.end());
        std::size_t i = 0;
        while (i < made.size() && made[i].rank == wanted[i]) ++i;
        faults_.node(job_.of(made.front().rank), comm(made.front()).node,
                     fmt::format("is call {} on group {}, which rank {} does not make", n + 1,
                                 name_of_group(out_.groups[group]), wanted[i]),
                     "all ranks of a group must make the same calls in the same order");
        break;  // the later calls of the group have the same cause
      }
  }

  void add_message(std::uint32_t rank, std::uint32_t k) {
    const RankTrace& trace = job_.of(rank);
    const CommNode& c = trace.comms[k];
    const bool sends = trace.nodes[c.node].kind == NodeKind::send;
    if (c.self >= 0 && c.self != rank)
      return faults_.node(
          trace, c.node,
          fmt::format("has {} {}, but belongs to rank {}", sends ? "comm_src" : "comm_dst", c.self, rank));
    if (c.peer >= job_.ranks() || c.peer == rank)
      return faults_.node(trace, c.node,
                          fmt::format("{} rank {}, {}", sends ? "sends to" : "receives from", c.peer,
                                      c.peer == rank ? std::string("its own rank")
                                                     : fmt::format("but the trace has {} ranks", job_.ranks())));
    const auto peer = static_cast<std::uint32_t>(c.peer);
    Waiting& w = messages_[sends ? std::tuple(rank, peer, c.tag) : std::tuple(peer, rank, c.tag)];
    (sends ? w.sends : w.receives).push_back({rank, k});
  }

  void match_messages() {
    for (const auto& [key, w] : messages_) {
      const std::size_t pairs = std::min(w.sends.size(), w.receives.size());
      for (std::size_t i = 0; i < pairs; ++i) {
        const Member from = w.sends[i], to = w.receives[i];
        if (comm(from).bytes != comm(to).bytes)
          faults_.node(job_.of(from.rank), comm(from).node,
                       fmt::format("sends {} B, but {} receives {} B", comm(from).bytes, place(to), comm(to).bytes));
        Call call;
        call.bytes = comm(from).bytes;
        call.members = {from, to};
        call.part = part_of(CollectiveOp::sendrecv, comm(from).group);
        for (const Member& m : call.members) out_.of[m.rank][m.comm] = static_cast<std::uint32_t>(out_.calls.size());
        out_.calls.push_back(std::move(call));
      }
      const bool sends_left = w.sends.size() > pairs;
      if (!sends_left && w.receives.size() == pairs) continue;
      const Member left = sends_left ? w.sends[pairs] : w.receives[pairs];
      faults_.node(
          job_.of(left.rank), comm(left).node,
          fmt::format("{} rank {} with tag {}, which has no matching {}", sends_left ? "sends to" : "receives from",
                      comm(left).peer, std::get<2>(key), sends_left ? "receive" : "send"));
    }
  }

  const Job& job_;
  GroupTable table_;
  const TraceSpec& spec_;
  Faults& faults_;
  Calls out_;
  std::vector<std::vector<std::uint32_t>> calls_of_;  ///< by group
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::int64_t>, Waiting> messages_;
};

}  // namespace

Calls join_calls(const Job& job, GroupTable groups, const TraceSpec& spec, Faults& faults) {
  return Joiner(job, std::move(groups), spec, faults).run();
}

}  // namespace fabricast::trace
