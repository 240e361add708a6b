// Matches records by communicator, counter and number.
#include "call_matcher.hpp"

#include <limits>

namespace fabricast::live {

CallMatcher::Added CallMatcher::add(const RankCall& record, int ranks, OpenCall& call) {
  const Key key{record.sequence, record.communicator, record.counter};
  const auto [at, fresh] = open_.try_emplace(key);
  OpenCall& open = at->second;
  if (fresh) {
    open.number = ++opened_;
    open.first = record;
    open.least = std::numeric_limits<double>::infinity();
    // Growing in steps would take twice the memory, and a hostile number of ranks any amount.
    constexpr int most_reserved = 4096;
    open.times.reserve(static_cast<std::size_t>(std::clamp(ranks, 1, most_reserved)));
    order_.emplace_back(key, open.number);
  }
  const auto word = static_cast<std::size_t>(record.rank) / 64;
  const std::uint64_t bit = std::uint64_t{1} << (record.rank % 64);
  if (word >= open.ranks.size()) open.ranks.resize(word + 1);
  if (open.ranks[word] & bit) return Added::repeated;
  open.ranks[word] |= bit;
  open.times.emplace_back(record.rank, static_cast<float>(record.time_us));
  ++held_;
  const bool other = open.first.op != record.op || open.first.bytes != record.bytes;
  open.disagrees = open.disagrees || other;
  open.least = std::min(open.least, record.time_us);
  open.most = std::max(open.most, record.time_us);
  const bool whole = static_cast<int>(open.times.size()) == ranks;
  if (other) call.first = open.first;
  if (!whole) return other ? Added::other : Added::open;
  held_ -= open.times.size();
  const bool disagrees = open.disagrees;
  call = std::move(open);
  open_.erase(at);
  return disagrees ? Added::other : Added::whole;
}

}  // namespace fabricast::live
