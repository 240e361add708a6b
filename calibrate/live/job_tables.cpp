// The tables and facts of a job, once all of its records are read.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "fabricast/core/scan.hpp"
#include "fabricast/core/text.hpp"
#include "job_reader.hpp"
#include "late.hpp"

namespace fabricast::live {

namespace {

constexpr double low_quantile = 0.1;
constexpr std::size_t most_listed = 10'000;

}  // namespace

// One rank late in most calls is the one that others wait for, whatever makes it late.
void Job::late_ranks(Communicator& c) {
  std::int64_t late = 0;
  for (const auto& [rank, member] : c.members) late += member.late;
  const double rate = static_cast<double>(late) / std::max(1.0, static_cast<double>(c.judged) * c.facts.ranks);
  for (const auto& [rank, member] : c.members) {
    if (!later_than_chance(c.judged, member.late, rate)) continue;
    const double share = static_cast<double>(member.late) / static_cast<double>(c.judged);
    c.behind.push_back({rank,
                        {},
                        "late",
                        fmt::format("joins {:.0f} % of {} late; most ranks then wait {:.1f} us for it", 100 * share,
                                    counted(c.judged, "call"), member.waited_us / static_cast<double>(member.late)),
                        true});
  }
}

// Ranks of one communicator launch the same calls. If one has launched fewer, the others wait for it, now or soon. A
// snapshot cannot tell a rank that is stuck from one that is a moment behind, unless a call of the others timed out.
void Job::compare_states(Communicator& c) {
  std::int64_t most = -1;
  double waited = 0;
  bool timed_out = false;
  for (const auto& [rank, state] : c.states) most = std::max(most, state.launched.value_or(-1));
  for (const auto& [rank, state] : c.states) {
    if (!state.launched || *state.launched < most) continue;
    waited = std::max(waited, state.waits_s);
    timed_out = timed_out || state.timed_out;
  }
  for (const auto& [rank, state] : c.states) {
    if (!state.launched || *state.launched >= most) continue;
    std::string detail = fmt::format("has launched {}, others {}", counted(*state.launched, "call"), most);
    if (waited > 0)
      detail += fmt::format("; a call there has waited {:.1f} s{}", waited, timed_out ? ", its timeout" : "");
    c.behind.push_back({rank, state.place, "waited_for", std::move(detail), timed_out});
  }
}

void Job::write_tables() {
  const LogTable* open = nullptr;
  RowKey before{};
  for (auto& [key, row] : rows_) {
    if (!waits_for_all(key.op)) {
      if (row.each.count() > 0) out_.job.left_out[early_leave(key.op)] += row.each.count();
      continue;
    }
    // Calls that are matched by their order must all be there: one that is missing shifts all that follow.
    const bool matched = row.shortest.count() > 0 && !(ordered_only && (disordered || row.part > 0));
    if (!matched && row.each.count() == 0) continue;
    if (!open || key.op != before.op || key.ranks != before.ranks || key.nodes != before.nodes ||
        key.scattered != before.scattered || key.coarse != before.coarse) {
      LogTable table;
      table.tool = out_.job.tool;
      table.operation = name_of(key.op);
      table.line = row.line;
      table.ranks = key.ranks;
      table.nodes = key.nodes;
      table.scattered = key.scattered;
      table.live = true;
      table.gpu = gpu;
      table.nccl_version = nccl_version;
      if (key.coarse) table.details["timing"] = "host";
      out_.tables.push_back(std::move(table));
      before = key;
    }
    open = &out_.tables.back();
    const Distribution& times = matched ? row.shortest : row.each;
    LogRow r;
    r.line = row.line;
    r.bytes = key.bytes;
    r.time_us = times.quantile(matched ? 0.5 : low_quantile);
    CallSpread spread;
    spread.calls = times.count();
    spread.matched = matched;
    spread.bytes_below = row.bytes_below;
    spread.low_us = times.quantile(0.05);
    spread.high_us = times.quantile(0.95);
    if (matched) spread.skew_us = row.skew.quantile(0.5);
    r.spread = spread;
    out_.tables.back().rows.push_back(r);
  }
}

void Job::write_facts() {
  std::vector<int> order(communicators_.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
  const auto at = [&](int i) -> const Communicator& { return communicators_[static_cast<std::size_t>(i)]; };
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    return std::tuple(-at(a).facts.ranks, at(a).facts.id) < std::tuple(-at(b).facts.ranks, at(b).facts.id);
  });
  for (const int i : order) {
    Communicator& c = communicators_[static_cast<std::size_t>(i)];
    late_ranks(c);
    compare_states(c);
    for (BehindRank& rank : c.behind)
      if (const auto it = c.places.find(rank.rank); rank.place.empty() && it != c.places.end()) rank.place = it->second;
    if (out_.job.communicators.size() >= most_listed) {
      ++out_.job.communicators_left_out;
      continue;
    }
    JobCommunicator facts;
    facts.id = c.facts.id;
    facts.name = c.facts.name;
    facts.ranks = c.facts.ranks;
    facts.nodes = c.facts.nodes;
    std::set<int> seen;
    for (const auto& [rank, member] : c.members) seen.insert(rank);
    for (const auto& [rank, state] : c.states) seen.insert(rank);
    facts.seen = static_cast<int>(seen.size());
    facts.calls = c.matched;
    facts.part = c.part;
    facts.behind = std::move(c.behind);
    out_.job.communicators.push_back(std::move(facts));
  }
}

void Job::warn_of_parts() {
  std::int64_t unmatched = 0, rows = 0;
  for (const LogTable& table : out_.tables)
    for (const LogRow& row : table.rows) {
      ++rows;
      unmatched += row.spread && !row.spread->matched ? 1 : 0;
    }
  if (unmatched > 0)
    problem({}, 0, 0,
            fmt::format("{} of {}: calls cannot be matched across all ranks, so the time is the lowest tenth of what "
                        "ranks recorded and includes waiting",
                        unmatched, counted(rows, "row")));
  std::int64_t whole = 0, part = 0;
  for (const Communicator& c : communicators_) {
    whole += c.matched;
    part += c.part;
  }
  if (whole > 0 && part > 0)
    problem(
        {}, 0, 0,
        fmt::format("{} of {} are not recorded by all ranks and are left out", part, counted(whole + part, "call")));
}

Imported Job::finish() {
  matcher_.finish([this](const OpenCall& call) { close(call); });
  write_tables();
  warn_of_parts();
  write_facts();
  if (out_.job.records == 0 && out_.job.left_out.empty() && communicators_.empty() && out_.problems.empty())
    problem({}, 0, 0, "no collective is recorded");
  for (const auto& [reason, count] : out_.job.left_out)
    problem({}, 0, 0, fmt::format("{} left out: {}", counted(count, "record"), reason));
  std::stable_sort(out_.problems.begin(), out_.problems.end(), [](const Problem& a, const Problem& b) {
    return std::tuple(a.file, a.line, a.column) < std::tuple(b.file, b.line, b.column);
  });
  return std::move(out_);
}

}  // namespace fabricast::live
