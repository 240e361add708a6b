// Collects half an interval. State is kept small: 20 bytes per rank of a communicator, and the records of open calls.
#include "collector.hpp"

#include <algorithm>

#include "../live/names.hpp"
#include "fabricast/core/scan.hpp"

namespace fabricast::live {

namespace {

constexpr std::size_t most_watched = 100'000;     ///< communicators
constexpr std::size_t most_members = 16'000'000;  ///< ranks of communicators
constexpr std::size_t most_places = 1'000'000;
constexpr std::size_t most_sizes = 64;  ///< of a communicator
constexpr std::size_t most_open_calls = 65'536;
constexpr std::size_t most_open_records = 8'000'000;

}  // namespace

Collector::Collector() : matcher_(most_open_calls, most_open_records) {}

int Collector::communicator(const CommunicatorFacts& facts) {
  const auto it = numbers_.find(facts.id);
  if (it != numbers_.end()) return it->second;
  if (interval_.communicators.size() >= most_watched || facts.ranks < 1) return -1;
  const auto number = static_cast<int>(interval_.communicators.size());
  numbers_.emplace(facts.id, number);
  WatchedCommunicator c;
  c.id = facts.id;
  c.name = facts.name;
  c.ranks = facts.ranks;
  c.nodes = facts.nodes;
  interval_.communicators.push_back(std::move(c));
  return number;
}

bool Collector::same_shape(int communicator, int ranks, int nodes) const {
  if (communicator < 0) return true;
  const WatchedCommunicator& c = interval_.communicators[static_cast<std::size_t>(communicator)];
  return c.ranks == ranks && c.nodes == nodes;
}

void Collector::place(int communicator, int rank, std::string_view place) {
  if (communicator < 0 || rank < 0) return;
  WatchedCommunicator& c = interval_.communicators[static_cast<std::size_t>(communicator)];
  if (rank >= c.ranks) return;
  if (static_cast<std::size_t>(rank) >= c.members.size()) {
    // All at once: ranks come in any order, and growing in steps would take twice the memory.
    if (static_cast<std::size_t>(c.ranks) > most_members / 10) return;
    c.members.resize(static_cast<std::size_t>(c.ranks));
    c.members.shrink_to_fit();
  }
  WatchedRank& member = c.members[static_cast<std::size_t>(rank)];
  if (member.place != WatchedRank::nowhere || place_numbers_.size() >= most_places) return;
  const auto [at, fresh] =
      place_numbers_.try_emplace(shown(place, 120), static_cast<std::uint32_t>(interval_.places.size()));
  if (fresh) interval_.places.push_back(at->first);
  member.place = at->second;
}

void Collector::see_version(std::string) {}

void Collector::leave_out(std::string) { ++counts_.left_out; }

void Collector::problem(const std::string& file, int line, int, std::string message) {
  ++counts_.problems;
  counts_.last_problem = file + ":" + std::to_string(line) + ": " + message;
}

void Collector::add(const RankCall& call) {
  ++counts_.records;
  if (call.communicator < 0) return leave_out({});
  const WatchedCommunicator& c = interval_.communicators[static_cast<std::size_t>(call.communicator)];
  OpenCall whole;
  if (matcher_.add(call, c.ranks, whole) == CallMatcher::Added::whole) complete(whole);
  matcher_.trim([this](const OpenCall&) { ++counts_.parts; });
}

void Collector::complete(OpenCall& call) {
  ++counts_.calls;
  if (!waits_for_all(call.first.op)) return;
  WatchedCommunicator& c = interval_.communicators[static_cast<std::size_t>(call.first.communicator)];
  ++c.now.calls;
  late_in(call, [&](int rank, double waited_us) {
    if (static_cast<std::size_t>(rank) >= c.members.size()) return;
    WatchedRank& member = c.members[static_cast<std::size_t>(rank)];
    ++member.now.calls;
    member.now.waited_us += static_cast<float>(waited_us);
    ++c.now.late;
  });
  auto size = std::find_if(c.sizes.begin(), c.sizes.end(),
                           [&](const WatchedSize& s) { return s.op == call.first.op && s.bytes == call.first.bytes; });
  if (size == c.sizes.end()) {
    if (c.sizes.size() >= most_sizes) return;
    c.sizes.emplace_back();
    size = std::prev(c.sizes.end());
    size->op = call.first.op;
    size->bytes = call.first.bytes;
  }
  size->last[static_cast<std::size_t>(size->total) % WatchedSize::kept] = static_cast<float>(call.least);
  ++size->calls;
  ++size->total;
}

void Collector::add(const RasCommunicator& state) {
  if (interval_.now.size() >= most_watched) return;
  auto& ranks = interval_.now[state.id];
  // Of several statuses in a half the last one counts.
  ranks.clear();
  for (const RasRank& r : state.ranks) {
    WatchedState& to = ranks[r.rank];
    to = {r.place, 0, false, {}};
    for (const auto& [op, count] : r.counts) to.launched += count;
    to.error = r.error;
  }
  for (const RasMissing& r : state.missing) { ranks[r.rank] = {r.place, 0, true, {}}; }
  if (state.unnamed_counts.empty()) return;
  WatchedState& others = ranks[WatchedState::unnamed];
  for (const auto& [op, count] : state.unnamed_counts) others.launched += count;
}

void Collector::end_half() { next_half(interval_); }

}  // namespace fabricast::live
