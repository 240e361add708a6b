// Collects communicators and their calls, put together over ranks.
#include <fmt/format.h>

#include <algorithm>

#include "fabricast/core/scan.hpp"
#include "job_reader.hpp"

namespace fabricast::live {

namespace {

constexpr std::size_t most_communicators = 100'000;
constexpr std::size_t most_rows = 10'000;
constexpr std::size_t most_open = 65'536;
constexpr std::size_t most_open_ranks = std::size_t{1} << 21;  ///< 16 MiB
constexpr std::size_t most_live_problems = 1000;
constexpr std::size_t most_behind = 100;

}  // namespace

Job::Job(std::string tool) : matcher_(most_open, most_open_ranks) { out_.job.tool = std::move(tool); }

int Job::communicator(const CommunicatorFacts& facts) {
  const auto it = numbers_.find(facts.id);
  if (it != numbers_.end()) {
    CommunicatorFacts& known = communicators_[static_cast<std::size_t>(it->second)].facts;
    if (known.ranks == 0) known.ranks = facts.ranks;
    if (known.nodes == 0) known.nodes = facts.nodes;
    if (known.name.empty()) known.name = facts.name;
    return it->second;
  }
  if (communicators_.size() >= most_communicators) {
    ++out_.job.communicators_left_out;
    return -1;
  }
  const auto number = static_cast<int>(communicators_.size());
  numbers_.emplace(facts.id, number);
  communicators_.push_back({facts, {}, {}, {}, {}, {}, 0, 0, 0});
  return number;
}

int Job::ranks(int communicator) const {
  return communicator < 0 ? 0 : communicators_[static_cast<std::size_t>(communicator)].facts.ranks;
}

bool Job::same_shape(int communicator, int ranks, int nodes) const {
  if (communicator < 0) return true;
  const CommunicatorFacts& known = communicators_[static_cast<std::size_t>(communicator)].facts;
  return known.ranks == ranks && known.nodes == nodes;
}

void Job::set_ranks(int communicator, int ranks) {
  if (communicator >= 0) communicators_[static_cast<std::size_t>(communicator)].facts.ranks = ranks;
}

void Job::member(int communicator, int rank) {
  if (communicator >= 0) communicators_[static_cast<std::size_t>(communicator)].members.try_emplace(rank);
}

int Job::ranks_noted(int communicator) const {
  if (communicator < 0) return 0;
  const auto& members = communicators_[static_cast<std::size_t>(communicator)].members;
  const bool all = members.size() > 1 && members.rbegin()->first == static_cast<int>(members.size()) - 1;
  return all ? static_cast<int>(members.size()) : 0;
}

int Job::counter(int communicator, CollectiveOp op, std::int64_t bytes) {
  // Beyond the limit all share one counter: their calls then disagree and are dropped, with warnings.
  if (counters_.size() > most_rows * 100) return 0;
  return counters_.try_emplace({communicator, op, bytes}, static_cast<int>(counters_.size()) + 1).first->second;
}

void Job::place(int communicator, int rank, std::string_view place) {
  if (communicator < 0) return;
  auto& places = communicators_[static_cast<std::size_t>(communicator)].places;
  if (!places.contains(rank)) places.emplace(rank, shown(place, 120));
}

int Job::numbered_place(int communicator, const std::string& place) {
  if (communicator < 0) return 0;
  auto& numbers = communicators_[static_cast<std::size_t>(communicator)].place_numbers;
  if (numbers.size() > 1 << 20) return 0;
  return numbers.try_emplace(place, static_cast<int>(numbers.size())).first->second;
}

RankState* Job::state(int communicator, int rank) {
  return communicator < 0 ? nullptr : &communicators_[static_cast<std::size_t>(communicator)].states[rank];
}

void Job::behind(int communicator, BehindRank rank) {
  if (communicator < 0) return;
  auto& list = communicators_[static_cast<std::size_t>(communicator)].behind;
  // Snapshots that follow each other repeat what has not changed.
  if (list.size() < most_behind && std::find(list.begin(), list.end(), rank) == list.end())
    list.push_back(std::move(rank));
}

void Job::problem(const std::string& file, int line, int column, std::string message) {
  if (out_.problems.size() < most_live_problems)
    out_.problems.push_back({line, std::move(message), file, column});
  else
    ++out_.problems_left_out;
}

Job::RowKey Job::row_of(const RankCall& call) const {
  const CommunicatorFacts& c = communicators_[static_cast<std::size_t>(call.communicator)].facts;
  return {call.op, c.ranks, c.nodes, c.scattered, call.coarse, call.bytes};
}

void Job::add(const std::string& file, const RankCall& call) {
  ++out_.job.records;
  if (call.communicator < 0) return leave_out("there are too many communicators");
  Communicator& c = communicators_[static_cast<std::size_t>(call.communicator)];
  c.members.try_emplace(call.rank);
  const RowKey row = row_of(call);
  if (const auto it = rows_.find(row); it != rows_.end()) {
    it->second.each.add(call.time_us);
  } else if (rows_.size() < most_rows) {
    Row& fresh = rows_[row];
    fresh.line = call.line;
    fresh.bytes_below = call.bytes_below;
    fresh.each.add(call.time_us);
  } else {
    return leave_out("there are too many sizes");
  }
  if (call.alone) return;
  OpenCall whole;
  const CallMatcher::Added added = matcher_.add(call, c.facts.ranks, whole);
  if (added == CallMatcher::Added::repeated)
    return problem(file, call.line, call.column,
                   fmt::format("rank {} records call {} of {} again: ignored", call.rank, call.sequence, c.facts.id));
  const RankCall& first = whole.first;
  if (added == CallMatcher::Added::other && (first.op != call.op || first.bytes != call.bytes)) {
    // Either a damaged record, or ranks that disagree about what they do, which would hang or corrupt a job.
    problem(file, call.line, call.column,
            fmt::format("call {} of {}: rank {} has {} of {} B, another rank {} of {} B", call.sequence, c.facts.id,
                        call.rank, name_of(call.op), call.bytes, name_of(first.op), first.bytes));
    if (first.op != call.op)
      behind(call.communicator,
             {call.rank,
              {},
              "other_call",
              fmt::format("call {} is {} there, {} elsewhere", call.sequence, name_of(call.op), name_of(first.op)),
              true});
  }
  if (added == CallMatcher::Added::other && !whole.times.empty())
    leave_out("ranks record different collectives or sizes for one call");
  if (added == CallMatcher::Added::whole) complete(whole);
  matcher_.trim([this](const OpenCall& part) { close(part); });
}

void Job::complete(OpenCall& call) {
  Communicator& c = communicators_[static_cast<std::size_t>(call.first.communicator)];
  ++c.matched;
  if (!waits_for_all(call.first.op)) return;
  ++c.judged;
  Row& row = rows_[row_of(call.first)];
  row.shortest.add(call.least);
  row.skew.add(call.most - call.least);
  late_in(call, [&](int rank, double waited_us) {
    Member& member = c.members[rank];
    ++member.late;
    member.waited_us += waited_us;
  });
}

void Job::close(const OpenCall& call) {
  ++communicators_[static_cast<std::size_t>(call.first.communicator)].part;
  ++rows_[row_of(call.first)].part;
}

}  // namespace fabricast::live
