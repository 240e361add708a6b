#include "fabricast/collective/prove.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <iterator>
#include <map>

namespace fabricast {

namespace {

/// Contributions to a range: how often each rank's data is in it.
using Contributions = std::vector<std::uint8_t>;

struct Message {
  ByteRange range;
  Contributions contributions;
};
using Messages = std::vector<Message>;  // one per range of a step

struct Held {
  std::int64_t end;
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
    bool progress = true;
    while (progress) {
      progress = false;
      for (std::int32_t w = 0; w < workers; ++w)
        while (next[static_cast<std::size_t>(w)] < program.steps(w)) {
          const Step step = program.step(w, next[static_cast<std::size_t>(w)]);
          const bool ready = std::all_of(step.from.begin(), step.from.end(),
                                         [&](std::int32_t f) { return !wires[{f, w}].empty(); });
          if (!ready) break;
          if (auto fault = perform(program, w, step, wires)) return fault;
          ++next[static_cast<std::size_t>(w)];
          progress = true;
        }
    }
    for (std::int32_t w = 0; w < workers; ++w)
      if (next[static_cast<std::size_t>(w)] < program.steps(w))
        return fmt::format("worker {} waits for ever at step {}", w, next[static_cast<std::size_t>(w)]);
    for (const auto& [ends, queue] : wires)
      if (!queue.empty())
        return fmt::format("{} messages from {} to {} are never received", queue.size(), ends.first, ends.second);
    return std::nullopt;
  }

  template <class Wires>
  std::optional<std::string> perform(const ChannelProgram& program, std::int32_t worker, const Step& step,
                                     Wires& wires) {
    const std::uint32_t rank = program.rank_of(worker).value;
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
    for (const std::int32_t f : step.from) {
      const Messages in = std::move(wires[{f, worker}].front());
      wires[{f, worker}].pop_front();
      if (in.size() != out.size())
        return fmt::format("worker {} expects {} ranges and receives {}", worker, out.size(), in.size());
      for (std::size_t i = 0; i < in.size(); ++i) {
        const ByteRange &expected = out[i].range, &received = in[i].range;
        if (received.begin != expected.begin || received.size != expected.size)
          return fmt::format("worker {} expects [{}, +{}) and receives [{}, +{})", worker, expected.begin,
                             expected.size, received.begin, received.size);
        add(out[i].contributions, in[i].contributions);
      }
    }
    for (const Message& m : out) {
      if (m.range.size <= 0) continue;
      if (step.keep) kept_[rank][m.range.begin] = {m.range.begin + m.range.size, m.contributions};
      if (!step.result) continue;
      const std::int64_t begin = m.range.begin, end = begin + m.range.size;
      auto& held = held_[rank];
      const auto after = held.lower_bound(begin);
      if ((after != held.end() && after->first < end) ||
          (after != held.begin() && std::prev(after)->second.end > begin))
        return fmt::format("rank {} gets a result twice in [{}, +{})", rank, begin, m.range.size);
      held.emplace_hint(after, begin, Held{end, m.contributions});
    }
    for (const std::int32_t t : step.to) wires[{worker, t}].push_back(out);
    return std::nullopt;
  }

  static void add(Contributions& sum, const Contributions& more) {
    for (std::size_t r = 0; r < sum.size(); ++r) sum[r] = static_cast<std::uint8_t>(sum[r] + more[r]);
  }
  /// A partial sum that was kept, or else a result.
  const Contributions* find_kept(std::uint32_t rank, const ByteRange& range) const {
    for (const auto* store : {&kept_[rank], &held_[rank]}) {
      const auto it = store->find(range.begin);
      if (it != store->end() && it->second.end == range.begin + range.size) return &it->second.contributions;
    }
    return nullptr;
  }

  /// What rank r must hold in the range [begin, end), or nothing if the operation leaves it undefined.
  std::optional<std::string> check_result() const {
    const auto n = static_cast<std::int64_t>(ranks_);
    for (std::int64_t rank = 0; rank < n; ++rank) {
      if (plan_.op == CollectiveOp::reduce && rank != 0) continue;
      const std::int64_t block = plan_.bytes / n;
      const bool scatter = plan_.op == CollectiveOp::reduce_scatter, gather = plan_.op == CollectiveOp::all_gather;
      std::int64_t at = scatter ? rank * block : 0;
      const std::int64_t end = scatter ? at + block : gather ? n * block : plan_.bytes;
      while (at < end) {
        const auto& held = held_[static_cast<std::size_t>(rank)];
        const auto it = held.find(at);
        if (it == held.end()) return fmt::format("rank {} has nothing at byte {}", rank, at);
        for (std::int64_t r = 0; r < n; ++r) {
          const bool one_source = gather || plan_.op == CollectiveOp::broadcast;
          const std::int64_t source = gather ? at / block : 0;
          const int wanted = one_source ? (r == source) : 1;
          if (it->second.contributions[static_cast<std::size_t>(r)] != wanted)
            return fmt::format("rank {} has the contribution of rank {} {} times at byte {}, wanted {}", rank, r,
                               it->second.contributions[static_cast<std::size_t>(r)], at, wanted);
        }
        at = it->second.end;
      }
    }
    return std::nullopt;
  }

  const Communicator& comm_;
  const Plan& plan_;
  std::size_t ranks_;
  std::vector<std::map<std::int64_t, Held>> held_, kept_;  ///< by rank and begin: results, partial sums
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
