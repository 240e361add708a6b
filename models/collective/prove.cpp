// Executes the transfer view of a plan on symbols, without time: the proof that a schedule does what its operation
// defines.
//
// Each range of bytes carries a vector that counts how often it contains the data of each rank. Workers run in any
// order in which their messages have arrived. At the end every rank must hold exactly the contributions that the
// operation defines, each once; no worker may wait forever, no message may be left, and no result may be written twice.
// The cost is proportional to steps times ranks, so it is meant for small communicators.
#include "fabricast/collective/prove.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <iterator>
#include <map>

#include "fabricast/collective/peers.hpp"

namespace fabricast {

namespace {

/// Contributions to a range: how often it contains each rank's data.
using Contributions = std::vector<std::uint8_t>;

struct Message {
  ByteRange range;
  Contributions contributions;
};
using Messages = std::vector<Message>;  // one per range of a step

struct Held {
  std::int64_t end = 0;
  Contributions contributions;
};

class Prover {
 public:
  Prover(const Communicator& comm, const Plan& plan)
      : comm_(comm), plan_(plan), ranks_(static_cast<std::size_t>(comm.ranks())), held_(ranks_), kept_(ranks_) {}

  std::optional<std::string> run(const CollectiveAlgorithm& algorithm) {
    for (int c = 0; c < plan_.channels; ++c)
      if (auto fault = run_channel(*algorithm.program(comm_, plan_, c)))
        return fmt::format("channel {}: {}", c, *fault);
    return check_result();
  }

 private:
  std::optional<std::string> run_channel(const ChannelProgram& program) {
    const std::int32_t workers = program.workers();
    std::vector<std::int64_t> next(static_cast<std::size_t>(workers), 0);
    std::map<std::pair<std::int32_t, std::int32_t>, std::deque<Messages>> wires;
    // Round robin over workers until none can run. Buffers are unlimited here: a deadlock for lack of slots is outside
    // this proof.
    bool progress = true;
    while (progress) {
      progress = false;
      for (std::int32_t w = 0; w < workers; ++w)
        while (next[static_cast<std::size_t>(w)] < program.steps(w)) {
          const Step step = program.step(w, next[static_cast<std::size_t>(w)]);
          const bool ready = std::all_of(step.from.begin(), step.from.end(), [&](std::int32_t f) {
            return !wires[{f, w}].empty();
          });
          if (!ready) break;
          if (auto fault = perform(program, w, step, wires)) return fault;
          ++next[static_cast<std::size_t>(w)];
          progress = true;
        }
    }
    for (std::int32_t w = 0; w < workers; ++w)
      if (next[static_cast<std::size_t>(w)] < program.steps(w))
        return fmt::format("worker {} waits forever at step {}", w, next[static_cast<std::size_t>(w)]);
    for (const auto& [ends, queue] : wires)
      if (!queue.empty())
        return fmt::format("{} messages from {} to {} are never received", queue.size(), ends.first, ends.second);
    return std::nullopt;
  }

  template <class Wires>
  std::optional<std::string> perform(const ChannelProgram& program, std::int32_t worker, const Step& step,
                                     Wires& wires) {
    const std::uint32_t rank = program.rank_of(worker).value;
    if (step.split && step.ranges.size() != (step.to.empty() ? step.from.size() : step.to.size()))
      return fmt::format("worker {} has {} ranges for {} workers", worker, step.ranges.size(),
                         std::max(step.to.size(), step.from.size()));
    Messages out;
    for (const ByteRange& range : step.ranges) {
      Message m{range, Contributions(ranks_, 0)};
      if (step.own) m.contributions[rank] += 1;
      if (step.kept && range.size > 0) {
        const Contributions* kept = find_kept(rank, range);
        if (!kept) return fmt::format("rank {} has kept nothing of [{}, +{})", rank, range.begin, range.size);
        add(m.contributions, *kept);
      }
      out.push_back(std::move(m));
    }
    for (std::size_t i = 0; i < step.from.size(); ++i) {
      auto& wire = wires[{step.from[i], worker}];
      const Messages in = std::move(wire.front());
      wire.pop_front();
      // A split step has one range for each source or each destination, all others the same ranges for all.
      const bool one = step.split && step.to.empty();
      if (auto fault = meet(worker, in, one ? std::span(&out[i], 1) : std::span(out))) return fault;
    }
    for (const Message& m : out) {
      if (m.range.size <= 0) continue;
      if (step.keep) kept_[rank][m.range.begin] = {m.range.begin + m.range.size, m.contributions};
      // Results may not overlap: a byte that is final twice would hide a duplicated contribution.
      if (!step.result) continue;
      const std::int64_t begin = m.range.begin, end = begin + m.range.size;
      auto& held = held_[rank];
      const auto after = held.lower_bound(begin);
      if ((after != held.end() && after->first < end) ||
          (after != held.begin() && std::prev(after)->second.end > begin))
        return fmt::format("rank {} gets a result twice in [{}, +{})", rank, begin, m.range.size);
      held.emplace_hint(after, begin, Held{end, m.contributions});
    }
    for (std::size_t i = 0; i < step.to.size(); ++i)
      wires[{worker, step.to[i]}].push_back(step.split ? Messages{out[i]} : out);
    return std::nullopt;
  }

  /// Adds a received message to the ranges that a worker expects.
  static std::optional<std::string> meet(std::int32_t worker, const Messages& in, std::span<Message> out) {
    if (in.size() != out.size())
      return fmt::format("worker {} expects {} ranges and receives {}", worker, out.size(), in.size());
    for (std::size_t i = 0; i < in.size(); ++i) {
      const ByteRange &expected = out[i].range, &received = in[i].range;
      if (received.begin != expected.begin || received.size != expected.size)
        return fmt::format("worker {} expects [{}, +{}) and receives [{}, +{})", worker, expected.begin, expected.size,
                           received.begin, received.size);
      add(out[i].contributions, in[i].contributions);
    }
    return std::nullopt;
  }

  static void add(Contributions& sum, const Contributions& more) {
    for (std::size_t r = 0; r < sum.size(); ++r) sum[r] = static_cast<std::uint8_t>(sum[r] + more[r]);
  }
  /// What a rank has kept of a range: a partial sum, else a result; null: nothing.
  const Contributions* find_kept(std::uint32_t rank, const ByteRange& range) const {
    for (const auto* store : {&kept_[rank], &held_[rank]}) {
      const auto it = store->find(range.begin);
      if (it != store->end() && it->second.end == range.begin + range.size) return &it->second.contributions;
    }
    return nullptr;
  }

  /// Bytes that the operation defines on a rank, and the rank whose data they are; `all_ranks`: the sum of all.
  struct Wanted {
    ByteRange range;
    std::int64_t source;
  };
  static constexpr std::int64_t all_ranks = -1;

  std::vector<Wanted> wanted(std::int64_t rank) const {
    const auto n = static_cast<std::int64_t>(ranks_);
    const std::int64_t block = plan_.bytes / n;
    std::vector<Wanted> list;
    switch (plan_.op) {
      case CollectiveOp::broadcast: return {{{0, plan_.bytes}, 0}};
      case CollectiveOp::reduce:
        if (rank == 0) list.push_back({{0, plan_.bytes}, all_ranks});
        return list;
      case CollectiveOp::all_gather:
        for (std::int64_t r = 0; r < n; ++r) list.push_back({{r * block, block}, r});
        return list;
      case CollectiveOp::reduce_scatter: return {{{rank * block, block}, all_ranks}};
      case CollectiveOp::all_reduce: return {{{0, plan_.bytes}, all_ranks}};
      // Sends and receives: the buffer has one place for each ordered pair of ranks.
      default: break;
    }
    for (std::int64_t r = 0; r < n; ++r)
      if (sends(plan_.op, n, r, rank)) list.push_back({{(r * n + rank) * plan_.pair, plan_.pair}, r});
    return list;
  }

  std::optional<std::string> check_result() const {
    for (std::int64_t rank = 0; rank < static_cast<std::int64_t>(ranks_); ++rank)
      for (const Wanted& w : wanted(rank))
        if (auto fault = check_range(rank, w)) return fault;
    return std::nullopt;
  }

  std::optional<std::string> check_range(std::int64_t rank, const Wanted& w) const {
    const auto& held = held_[static_cast<std::size_t>(rank)];
    // Walks over the results that cover the range, without gaps, and compares every count.
    for (std::int64_t at = w.range.begin; at < w.range.begin + w.range.size;) {
      const auto it = held.find(at);
      if (it == held.end()) return fmt::format("rank {} has nothing at byte {}", rank, at);
      for (std::size_t r = 0; r < ranks_; ++r) {
        const int times = w.source == all_ranks || w.source == static_cast<std::int64_t>(r) ? 1 : 0;
        if (it->second.contributions[r] != times)
          return fmt::format("rank {} has the contribution of rank {} {} times at byte {}, expected {}", rank, r,
                             it->second.contributions[r], at, times);
      }
      at = it->second.end;
    }
    return std::nullopt;
  }

  const Communicator& comm_;
  const Plan& plan_;
  std::size_t ranks_;
  std::vector<std::map<std::int64_t, Held>> held_, kept_;  ///< by rank and first byte: results; partial sums
};

}  // namespace

std::optional<std::string> schedule_fault(const CollectiveAlgorithm& algorithm, const Communicator& comm,
                                          const Plan& plan) {
  return Prover(comm, plan).run(algorithm);
}

std::optional<std::string> schedule_fault(const Communicator& comm, const Plan& plan) {
  return schedule_fault(*find_by_algorithm(plan.algorithm), comm, plan);
}

}  // namespace fabricast
